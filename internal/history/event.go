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

var typeWords = []string{Invoke: "invoke", OK: "ok", Fail: "fail", Info: "info"}

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

// Event is one line of a history. Its fields stand in the order in which they are written. Pointers tell an absent field
// from one that is 0. Fields without a name in JSON are those of [wireLine].
type Event struct {
	Index   int           `json:"-"` // position, from 0
	Time    time.Duration `json:"-"` // since the run began, monotonic
	Process Process       `json:"-"`
	Client  int32         `json:"-"` // whose process it is; written only if it differs from Process

	Type        Type           `json:"type"`                  // invoke, ok, fail or info
	F           string         `json:"f"`                     // acquire, release, renew, check, read, write, lost, died, probe; nemesis: the fault
	Session     string         `json:"session,omitempty"`     // the attempt that the event belongs to; nemesis, begins: the one that triggered the fault
	Key         string         `json:"key,omitempty"`         // acquire: the name of the lock
	Mode        locks.Mode     `json:"mode,omitempty"`        // acquire: shared, or absent
	TTL         time.Duration  `json:"ttl,omitempty"`         // acquire, renew: the lease that the client requests; absent: the lock's own
	Wait        time.Duration  `json:"wait,omitempty"`        // acquire: how long it may wait; absent: it tries once
	Until       *time.Duration `json:"until,omitempty"`       // acquire ok, renew ok: from the client's reading of the request to its lease's end
	FromAnswer  bool           `json:"from_answer,omitempty"` // acquire ok, renew ok: the library reports no end, and the client counts the lease from the answer
	Strict      bool           `json:"strict,omitempty"`      // acquire fail: the lock was certainly held by another client
	Unconfirmed bool           `json:"unconfirmed,omitempty"` // release ok, renew ok: the library does not report whether the session held
	Token       *uint64        `json:"token,omitempty"`       // acquire ok, read, write: the fencing token
	Resource    string         `json:"resource,omitempty"`    // read, write: plain, or fenced if it refuses old tokens
	Owner       string         `json:"owner,omitempty"`       // acquire: the thread of the client
	Keys        []string       `json:"keys,omitempty"`        // acquire: the names, if it is about several
	Lease       time.Duration  `json:"lease,omitempty"`       // acquire ok: the length of a lease that the library renews
	Renewed     bool           `json:"renewed,omitempty"`     // acquire ok: the library renews the lease
	Period      time.Duration  `json:"period,omitempty"`      // acquire ok: the time between two renewals; absent: a third of the lease
	Node        string         `json:"node,omitempty"`        // acquire ok: the server that granted, several joined by commas
	Step        int            `json:"step,omitempty"`        // nemesis: the plan's step, from 1
	Targets     []string       `json:"targets,omitempty"`     // nemesis: the clients and servers that the fault concerns
	Phase       string         `json:"phase,omitempty"`       // nemesis: begins, bites, heals, healed or fails
	Effect      []string       `json:"effect,omitempty"`      // nemesis, begins: the effects of the fault, such as delays
	Op          string         `json:"op,omitempty"`          // nemesis, begins: the operation of field session in which the fault began: acquire, release or renew
	Request     int            `json:"request,omitempty"`     // nemesis, begins: after how many requests of that operation
	Hold        time.Duration  `json:"hold,omitempty"`        // nemesis, begins: how long that session is to hold, from the field bites on

	Value *int64 `json:"-"` // read ok, write
	Text  string `json:"-"` // nemesis: what the fault acts on, in words; it is written as the value
	Facts *Facts `json:"-"` // probe
	Error string `json:"-"`
}
