// Package sweep decides exactly whether the history of one lock is linearizable. It knows
// no clients, clocks or files: only operations, their sessions and answers, and their order.
//
// General checkers search, and on histories of locks they run out of time exactly where there
// is a bug. Locks have more structure, so a search is needed only for a few refusals. The core of a grant is the time in which its session
// certainly held:
//
//	acquire     granted                 release called     answered
//	   ├───────────┼───────────────────────────┼───────────────┤
//	   │  may hold │        core: holds       │   may hold    │
//
// So "two held at once" and "not linearizable" are one question, which sorting answers:
// docs/checker.md has the theorem and its proof.
//
//	sessions.go  sessions, their cores, and answers that contradict their own session
//	owners.go    overlapping cores; releases without a hold; refusals
//	search.go    porcupine, for the refusals that cores do not decide
//
// The positions of events stand for time:
//
//	position         0    1    2    3    4    5
//	session 0     acq──ok             rel──ok
//	session 1               acq──taken
//
//	o := Ops{All: []Op{{0, 1, 0, Acquire, OK}, {2, 3, 1, Acquire, StrictFail}, {4, 5, 0, Release, OK}}}
//	Check(Model{}, &o) // Result{}: linearizable
package sweep

import "math"

// Never is the return of an operation that is not known to have returned.
const Never = math.MaxUint32

// None stands for no session.
const None = math.MaxUint32

// Kind is the request of an operation.
type Kind uint8

// The kinds.
const (
	Acquire       Kind = iota // alone
	AcquireShared             // together with other readers
	Release
)

// Out is the known outcome of an operation. The zero value is Unknown.
type Out uint8

// The outcomes.
const (
	Unknown    Out = iota // it may take effect at any time from its call on, or never
	OK                    // it took effect between call and return
	Fail                  // it did not and never will; for a release: its session did not hold
	StrictFail            // for an acquire: as Fail, and at some instant in between another session made it impossible
)

// Op is an operation: the positions of its call and its return, and its session.
type Op struct {
	Call, Ret uint32
	Session   uint32
	Kind      Kind
	Out       Out
}

// Ops is the history of one lock, in the order of calls.
//
// Positions are those of events in a history, each used once. A return stands after its
// call; that of an Unknown operation is Never, whatever was recorded. Sessions are numbered
// from 0 in the order of the calls of their acquires. A session acquires once, and is
// released any number of times: after its acquire has returned ok, or at any time after its
// call if the outcome is unknown. A release whose answer proves nothing is Unknown.
type Ops struct {
	All []Op
	// Owners are the owners of sessions, by session and not by operation, numbered from 0
	// without gaps. Sessions of one owner may hold together, whatever their modes. It is
	// empty if each session is its own owner.
	Owners []uint32
}

// Model is the kind of lock. The zero value is a lock that also refuses an owner because of
// its own hold. The kind of an operation distinguishes readers from writers.
type Model struct {
	Reentrant bool // the hold of an owner is not a reason to refuse the same owner
}

// Rule is the reason why a history is not linearizable. The first two rules are about overlapping holds, the others about
// wrong answers.
type Rule uint8

// The rules.
const (
	NoRule                 Rule = iota
	TwoHolders                  // First still held when Second was granted
	ReaderAndWriter             // the same for a reader and a writer
	ReleasedWithoutHolding      // First's release was ok, and First cannot have held
	ReleasedTwice               // First was released with ok twice
	Evicted                     // First's release returned "not held", and nothing had ended the hold
	RefusedThoughFree           // First was refused, and no conflicting session can have held
)

// Finding is one violation.
type Finding struct {
	Rule          Rule
	First, Second uint32 // sessions, or None
}

// Result is the outcome of a check. The history is linearizable if both fields are empty.
type Result struct {
	Findings []Finding // without violations that may only be consequences of others
	Why      string    // why the history could not be decided; empty if there are findings
}

// Check decides whether the history of one lock is linearizable.
func Check(m Model, o *Ops) Result {
	l := read(m, o)
	apart := l.collisions()
	l.instants()
	l.refusals(apart)
	if len(l.findings) > 0 {
		l.why = ""
	}
	return Result{l.findings, l.why}
}

// lock is the state of a check.
type lock struct {
	reentrant bool
	sessions  []session
	cores     []uint32 // sessions that were granted, in the order of the grants
	refused   []uint32 // sessions whose acquire was refused strictly, in the order of calls
	unsure    []uint32 // sessions whose acquire is unknown, but a release was ok, in the order of those releases
	denials   []denial // of sessions whose acquire is unknown
	open      []uint32 // refusals that no core explains
	findings  []Finding
	why       string // why the history could not be decided
}

// denial is the answer "not held" to a release.
type denial struct{ call, ret, session uint32 }

func (l *lock) found(r Rule, first, second uint32) {
	l.findings = append(l.findings, Finding{r, first, second})
}
