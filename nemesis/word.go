package nemesis

import (
	"slices"

	"lockbench/workloads"
)

// Word is one that a scenario may use, with its meaning in one line.
type Word struct{ Name, About string }

// Key is a key of a fault, beside those that every step has.
type Key struct {
	Name string
	// Takes says what the value is: one of the constants below, words to choose from as
	// "kept|lost", or anything else in words.
	Takes   string
	Default string // empty: none
	Needed  bool   // the fault cannot do without
	About   string // one line
}

// What keys take.
const (
	TakesRole     = "role"
	TakesDuration = "duration"
	TakesRange    = "range"
	TakesNumber   = "number"
	TakesText     = "text"
)

// KeyOf is the key of a name among some.
func KeyOf(keys []Key, name string) (Key, bool) {
	i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return Key{}, false
	}
	return keys[i], true
}

// KeyNames are the names of some keys, in their order.
func KeyNames(keys []Key) []string {
	var names []string
	for _, k := range keys {
		names = append(names, k.Name)
	}
	return names
}

// Moments are all that `when:` may name, in the order of a tenure.
var Moments = []Word{
	{string(workloads.Acquiring), "a client is about to ask for a lock"},
	{string(workloads.Acquired), "a client was just granted a lock"},
	{string(workloads.Waiting), "a client was just refused, and will ask again"},
	{string(workloads.Checked), "a client has just made sure that it holds its lock"},
	{string(Renewed), "a server was seen to keep a held lock for longer; nobody is held up"},
	{string(workloads.Releasing), "a client is about to give its lock back"},
	{string(workloads.Released), "a client was just answered that it gave its lock back"},
	{string(Idle), "nobody holds a lock and nobody asks; all are kept from asking meanwhile"},
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
	{"A -> B", "what travels from A to B; each is a role, or the name of a node or a client"},
	{"A <-> B", "both directions"},
	{"A and B -> C", "several at one end, as in: master and sentinel-1 -> clients"},
}
