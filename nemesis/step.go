package nemesis

import (
	"time"

	"lockbench/workloads"
)

// Step is one line of a scenario's faults, as the person wrote it. The tags are the keys
// that every step may have.
type Step struct {
	Fault  string // the key: "kill"
	Target string // its value: a role ("master") or a link ("master -> replicas")
	// At is when it starts, from the beginning of the episode; When is the event that
	// starts it instead; neither: as soon as the step above is in effect, and somebody holds if
	// it is about the holder.
	At   *Range          `yaml:"at" about:"when it starts, from the beginning of the episode"`
	When workloads.Event `yaml:"when" about:"the moment that starts it instead; neither: once the step above is in effect"`
	// Request, if not 0, says that it starts not at the event itself but later: when so many
	// requests of the client have been done from there on, and before the client has heard
	// the answer to the last of them. After Checked that is a renewal, if its lock renews.
	Request int `yaml:"request" about:"with when acquiring, checked or releasing: start it after so many requests of that client"`
	// Hold asks the client whose event started the step to hold this long.
	Hold *Range `yaml:"hold" about:"with when acquired or checked: how long that client is to hold"`
	// For is how long it is in effect; nil: until the end of the episode.
	For *Range `yaml:"for" about:"how long it is in effect; left out: until the end of the episode"`
	// Options are the fault's own keys, unparsed: by, data, with, early, ...
	Options map[string]string
}

// DurationMax is the longest time that a fault may take, or that a scenario may name for a part
// of an episode. Virtual time passes at a price, too, and sums of longer times overflow.
const DurationMax = 24 * time.Hour

// Range is a duration drawn from the seed, both ends included. From == To is a fixed one.
type Range struct{ From, To time.Duration }

// The events that are none of a client's own, see [workloads.Event].
const (
	// Renewed is when a server is seen to keep a held lock for longer than it did. The
	// client is at something else then, and is not held up.
	Renewed workloads.Event = "renewed"
	// Idle is a moment of all clients: nobody holds a lock and nobody asks for one.
	// They are kept from asking until the step is in effect.
	Idle workloads.Event = "idle"
)

func (r Range) String() string {
	if r.From == r.To {
		return r.From.String()
	}
	return r.From.String() + ".." + r.To.String()
}
