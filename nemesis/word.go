package nemesis

import "lockbench/workloads"

// Word is a word of scenario files with its meaning in one line.
type Word struct{ Name, About string }

// Key is a key of a fault, in addition to those of every step.
type Key struct {
	Name string
	// Takes describes the value: one of the constants below, words such as "kept|lost", or other
	// words.
	Takes   string
	Default string // empty: none
	Needed  bool   // whether it is required
	About   string // one line
}

// The kinds of values.
const (
	TakesRole     = "role"
	TakesDuration = "duration"
	TakesRange    = "range"
	TakesLength   = "length" // a range of durations or leases
	TakesNumber   = "number"
	TakesText     = "text"
)

// KeyOf returns the key with a name.
func KeyOf(keys []Key, name string) (Key, bool) {
	for _, k := range keys {
		if k.Name == name {
			return k, true
		}
	}
	return Key{}, false
}

// KeyNames returns the names of some keys, in their order.
func KeyNames(keys []Key) []string {
	var names []string
	for _, k := range keys {
		names = append(names, k.Name)
	}
	return names
}

// Moments are all values of `when:`, in the order of a hold.
var Moments = []Word{
	{string(workloads.Acquiring), "a client is about to ask for a lock"},
	{string(workloads.Acquired), "a client was just granted a lock"},
	{string(workloads.Waiting), "a client was just refused, and will ask again"},
	{string(workloads.Checked), "a client has just checked that it holds its lock"},
	{string(Renewing), "the library of a client that was just granted a lock sends a renewal, before the release"},
	{string(Renewed), "a probe saw that a server keeps a held lock for longer; no client waits"},
	{string(workloads.Releasing), "a client is about to release its lock"},
	{string(workloads.Released), "a client just got the answer to its release"},
	{string(Idle), "no client holds a lock or asks for one; clients wait until the fault is in effect"},
}

// Events are the moments, as steps name them.
var Events = events()

func events() []workloads.Event {
	var all []workloads.Event
	for _, m := range Moments {
		all = append(all, workloads.Event(m.Name))
	}
	return all
}

// Links are the ways to write a link.
var Links = []Word{
	{"A -> B", "data from A to B; each is a role, or the name of a node or a client"},
	{"A <-> B", "both directions"},
	{"A and B -> C", "several at one end, as in: master and sentinel-1 -> clients"},
}
