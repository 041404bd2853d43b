package nemesis

import (
	"time"

	"lockbench/locks"
	"lockbench/workloads"
)

// Step is one line of a scenario's faults, as written. The tags are the keys that every step may
// have.
type Step struct {
	Fault  string // the key: "kill"
	Target string // its value: a role ("master") or a link ("master -> replicas")
	// At is the start time, from the beginning of the episode. When is an event that starts the step
	// instead. With neither it starts when the step above is in effect, and a lock is held if it is
	// about the holder.
	// With both, it waits for the first such event from that time on.
	At   *Range          `yaml:"at" about:"when it starts, from the beginning of the episode; with when: the moment counts from then on"`
	When workloads.Event `yaml:"when" about:"the moment that starts it instead; neither: once the step above is in effect"`
	// Mode limits When to requests of one mode.
	Mode *locks.Mode `yaml:"mode" about:"with when: exclusive or shared, the mode of the request; left out: either"`
	// Client limits When to the moments of one client, and Nth, if not 0, to the n-th of them in the run.
	Client string `yaml:"client" about:"with when: the client whose moment it is, such as client-0; left out: any client"`
	Nth    int    `yaml:"nth" about:"with when and client: which of these moments of the client; the run then has no grants before its first episode"`
	// Request, if not 0, starts the step in the middle of the operation after the event: when the
	// client's n-th request has been carried out, and before it receives the reply. After Checked
	// that is a renewal, if its lock renews.
	Request int `yaml:"request" about:"with when acquiring, checked, renewing or releasing: start it after so many requests of that client"`
	// Hold makes the client whose event started the step hold the lock this long.
	Hold *Range `yaml:"hold" about:"with when acquired, checked or renewing: how long that client is to hold"`
	// For is how long it is in effect; nil: until the end of the episode.
	For *Range `yaml:"for" about:"how long it is in effect; left out: until the end of the episode"`
	// Options are the fault's own keys, unparsed: by, data, with, early, ...
	Options map[string]string
}

// DurationMax is the longest duration of a fault or of a part of an episode in a scenario. Sums of
// longer times overflow.
const DurationMax = 24 * time.Hour

// Range is a duration drawn from the seed, both ends included.
type Range struct{ From, To time.Duration }

// The events that are not events of a client, see [workloads.Event].
const (
	// Renewing: the library of a client that was just granted a lock sends a renewal. The step counts the
	// requests of the client between its grant and its release: the first one, unless the library sends
	// another one before, such as the end of its subscription. It is held on its way, or its reply is.
	Renewing workloads.Event = "renewing"
	// Renewed: a server has extended the lease of a held lock. The client is not held up.
	Renewed workloads.Event = "renewed"
	// Idle: no client holds a lock or tries to acquire one. Clients are kept from trying until the
	// step is in effect.
	Idle workloads.Event = "idle"
)

func (r Range) String() string {
	if r.From == r.To {
		return r.From.String()
	}
	return r.From.String() + ".." + r.To.String()
}
