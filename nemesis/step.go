package nemesis

import (
	"maps"
	"strconv"
	"strings"
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
	At   *Length         `yaml:"at" about:"when it starts, from the beginning of the episode; with when: the moment counts from then on"`
	When workloads.Event `yaml:"when" about:"the moment that starts it instead; neither: once the step above is in effect"`
	// Mode limits When to requests of one mode.
	Mode *locks.Mode `yaml:"mode" about:"with when: exclusive or shared, the mode of the request; left out: either"`
	// Client limits When to the moments of one client, and Nth, if not 0, to the n-th of them in the run.
	Client string `yaml:"client" about:"with when: the client that must reach the moment, such as client-0; left out: any client"`
	Nth    int    `yaml:"nth" about:"with when and client: which of these moments of the client; the run then has no grants before its first episode"`
	// Request, if not 0, starts the step in the middle of the operation after the event: when the
	// client's n-th request has been carried out, and before it receives the reply. After Checked
	// that is a renewal, if its lock renews.
	Request int `yaml:"request" about:"with when acquiring, checked, renewing or releasing: start it after so many requests of that client"`
	// Hold makes the client whose event started the step hold the lock this long.
	Hold *Length `yaml:"hold" about:"with when acquired, checked or renewing: how long that client is to hold"`
	// Until makes that client hold on after the hold.
	Until Until `yaml:"until" about:"with hold: healed or promoted: the client holds on, within its lease, until another client was answered after the fault healed, or after another server became the leader"`
	// For is how long it is in effect; nil: until the end of the episode.
	For *Length `yaml:"for" about:"how long it is in effect; left out: until the end of the episode"`
	// Options are the fault's own keys, unparsed: by, data, with, early, ...
	Options map[string]string
}

// DurationMax is the longest duration of a fault or of a part of an episode in a scenario. Sums of
// longer times overflow.
const DurationMax = 24 * time.Hour

// Range is a duration drawn from the seed, both ends included.
type Range struct{ From, To time.Duration }

// Length is a range of durations, or of leases of the lock under test.
type Length struct {
	From, To time.Duration
	// Leases: the length is in leases. From and To are those of a lease of one second.
	Leases bool `json:",omitempty"`
}

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

// Until is an event of the servers for which a hold goes on.
type Until string

const (
	// UntilHealed: the fault of the step is over.
	UntilHealed Until = "healed"
	// UntilPromoted: another server became the leader.
	UntilPromoted Until = "promoted"
)

// Untils are the events for which a hold can go on.
var Untils = []Until{UntilHealed, UntilPromoted}

// AssumedLease stands for the lease of a lock that has none, or whose lease is not known, wherever a length is in leases.
const AssumedLease = 4 * time.Second

// Leases is the unit of a length in leases.
const Leases = " leases"

// ofLease returns a length in leases as a duration.
func ofLease(length, lease time.Duration) time.Duration {
	return time.Duration(length.Seconds() * float64(lease)).Round(time.Millisecond)
}

// Leased returns the length for a lock with a lease.
func (l Length) Leased(lease time.Duration) Length {
	if !l.Leases {
		return l
	}
	return Length{From: ofLease(l.From, lease), To: ofLease(l.To, lease)}
}

// leased returns the step for a lock with a lease.
func (s Step) leased(lease time.Duration) Step {
	for _, length := range []**Length{&s.At, &s.Hold, &s.For} {
		if *length != nil {
			*length = new((*length).Leased(lease))
		}
	}
	for key, text := range s.Options {
		if length, ok := inLeases(text); ok {
			s.Options = maps.Clone(s.Options)
			s.Options[key] = ofLease(length, lease).String()
		}
	}
	return s
}

// inLeases parses a length in leases, such as "1.5 leases", as that of a lease of one second.
func inLeases(text string) (length time.Duration, ok bool) {
	number, ok := strings.CutSuffix(text, Leases)
	if !ok {
		return 0, false
	}
	length, err := time.ParseDuration(strings.TrimSpace(number) + "s")
	return length, err == nil && length > 0
}

// drawn returns a drawn length in words.
func (l Length) drawn(d time.Duration) string {
	return Length{From: d.Round(time.Millisecond), To: d.Round(time.Millisecond), Leases: l.Leases}.String()
}

func (l Length) String() string {
	if !l.Leases {
		return Range{l.From, l.To}.String()
	}
	one := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
	if l.From == l.To {
		return one(l.From) + Leases
	}
	return one(l.From) + ".." + one(l.To) + Leases
}

func (r Range) String() string {
	if r.From == r.To {
		return r.From.String()
	}
	return r.From.String() + ".." + r.To.String()
}
