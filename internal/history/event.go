package history

import (
	"time"

	"lockbench/locks"
)

// Process is the author of an event: a whole number for one thread of one client.
type Process int32

// The processes that are not clients.
const (
	Nemesis Process = -1 // faults
	Probe   Process = -2 // observations
)

// Type is the role of an event in its operation.
type Type uint8

// The types of events. An invocation without a return is an unknown outcome, as Info is.
const (
	Invoke Type = iota + 1
	OK
	Fail
	Info
)

func (t Type) String() string {
	if int(t) < len(typeWords) {
		return typeWords[t]
	}
	return "type?"
}

var typeWords = [...]string{Invoke: "invoke", OK: "ok", Fail: "fail", Info: "info"}

// The operations, as they stand in field f. A nemesis event has its fault's name
// there. FRead and FProbe are named so because Read reads a history and Probe is
// a process.
const (
	Acquire = "acquire"
	Release = "release"
	Renew   = "renew"
	Check   = "check"
	FRead   = "read"
	Write   = "write"
	Lost    = "lost"
	Died    = "died"
	FProbe  = "probe"
)

// The phases of a fault.
const (
	Begins = "begins" // about to be done
	Bites  = "bites"  // a probe has seen that it works
	Heals  = "heals"  // about to be undone
	Healed = "healed" // a probe has seen that it is gone
	Fails  = "fails"  // could not be done or undone; value says why
)

// The effects of faults. A fault states its own where it begins, and the judge excuses a lock by them.
const (
	EffectClocks        = "clocks"         // moves clocks
	EffectData          = "data"           // changes or removes what servers keep
	EffectStops         = "stops"          // stops processes, which later go on where they were
	EffectDelays        = "delays"         // a request that is sent while it lasts may arrive when it is over
	EffectDisconnects   = "disconnects"    // may end a connection of a client, at once or by a timeout
	EffectDisconnectAll = "disconnect-all" // ends the connections of the targets with all their clients
	EffectLinks         = "links"          // acts on links between its targets: a client that is not a target keeps its links
)

var effectWords = []string{
	EffectClocks, EffectData, EffectStops, EffectDelays, EffectDisconnects, EffectDisconnectAll, EffectLinks,
}

// The forms of the guarded resource.
const (
	Plain  = "plain"  // accepts every write
	Fenced = "fenced" // refuses a token below the highest it has seen
)

// The errors with a meaning of their own.
const (
	ErrorTaken      = "taken"
	ErrorNotHeld    = "not-held"
	ErrorLost       = "lost"
	ErrorStaleToken = "stale-token"
)

// Event is one line of a history.
type Event struct {
	Index   int           // position, from 0
	Time    time.Duration // since the run began, monotonic
	Process Process
	Client  int32 // whose process it is; on the wire only if it differs from Process
	Type    Type
	Mode    locks.Mode // acquire
	Strict  bool       // acquire fail
	// HasUntil, HasToken and HasValue tell an absent field from one that is 0.
	HasUntil bool // acquire ok, renew ok
	HasToken bool // acquire ok; read, write
	HasValue bool // read ok, write
	F        string
	Session  string

	Key      string        // acquire; or several names in Keys
	TTL      time.Duration // acquire, renew
	Wait     time.Duration // acquire
	Until    time.Duration // from the moment the client read the request to its lease's end
	Value    int64
	Resource string

	Token uint64
	Error string

	Owner   string // acquire
	Keys    []string
	Permits int
	Node    string        // acquire ok: the server that granted, several joined by commas
	Lease   time.Duration // acquire ok of a lease its library renews
	Renewed bool
	Step    int // nemesis: the plan's step, from 1
	Targets []string
	Phase   string
	Effect  []string // nemesis: what the fault does, such as EffectDelays
	Text    string   // nemesis: what the fault acts on, in words (value on the wire)
	Facts   []Fact   // probe
}
