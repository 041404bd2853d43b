// Package sweep decides whether the history of one lock is linearizable, exactly and
// in nearly linear time. It knows no clients, clocks or files: only who called what,
// what came back, and in which order.
//
// General checkers search, and on lock histories they drown just when there is a bug.
// Locks have more structure than that. Give every attempt an owner of its own, and
// look at what each grant held for certain, its core:
//
//	acquire     granted                 release called     answered
//	   ├───────────┼───────────────────────────┼───────────────┤
//	   │  may hold │        core: holds       │   may hold    │
//
// Any order of the operations that explains the history has the lock held through all
// cores. And if the cores do not collide, taking each operation at the end of its core
// is such an order. So "two held at once" and "not linearizable" are one question,
// answered by sorting, and an operation of unknown outcome costs nothing: it is placed
// after everything else. What needs more thought is told where it is done:
//
//	cores.go     sessions, their cores, and what a refused release says
//	refusals.go  refused tries that claim the lock was held (strict fails)
//	counts.go    readers and writers, weighted semaphores
//	turned.go    refusals of those that bounds decide
//	owned.go     owners that have several sessions
//	walk.go      the exact engine for what these leave open
//
// A history is columns, one entry an operation, in the order of calls:
//
//	positions of events      0    1    2    3    4    5
//	session 0             acq──ok             rel──ok
//	session 1                  acq─────taken
//
//	o := Ops{}
//	o.Add(0, 1, 0, Acquire, OK, 0)
//	o.Add(2, 3, 1, Acquire, StrictFail, 0)
//	o.Add(4, 5, 0, Release, OK, 0)
//	var c Checker
//	c.Check(Model{}, &o) // Result{Verdict: Valid}
//
// A Checker keeps its memory, so that one that is used again allocates nothing.
package sweep

import "math"

// Never is the return of an operation that is not known to have returned.
const Never = math.MaxUint32

// Kind is what an operation asks for.
type Kind uint8

// The kinds.
const (
	Acquire       Kind = iota // alone, or Aux permits of a semaphore
	AcquireShared             // together with other readers
	Release
)

// Out is what is known of an operation. The zero value is Unknown.
type Out uint8

// The outcomes.
const (
	Unknown    Out = iota // it may take effect at any time from its call on, or never
	OK                    // it took effect between call and return
	Fail                  // it did not and never will. Of a release: its session did not hold
	StrictFail            // of an acquire: and at some moment in between it was not possible
)

// Ops is the history of one lock: columns of equal length, in the order of calls.
//
// Positions are those of events in a history, each used once. A return stands after
// its call; that of an Unknown operation is Never, whatever was recorded. Sessions are numbered from 0 in the
// order of the calls of their acquires. A session acquires once, and is released any
// number of times, after its acquire has returned ok, or at any time after its call if
// nobody knows whether it did. A release whose answer proves nothing is Unknown.
type Ops struct {
	Call, Ret []uint32
	Session   []uint32
	Kind      []Kind
	Out       []Out
	// Aux is the token of a fenced lock's ok acquire, or the permits of a semaphore's
	// acquire. It may be nil for a lock that has neither.
	Aux []int64
	// Owners are the owners of sessions, by session and not by operation, numbered from 0
	// without gaps. Sessions of one owner may hold together, whatever their modes; a
	// semaphore knows none. It is nil if each session is its own.
	Owners []uint32
}

// Len is the number of operations.
func (o *Ops) Len() int { return len(o.Call) }

// Add appends an operation.
func (o *Ops) Add(call, ret, session uint32, k Kind, out Out, aux int64) {
	if out == Unknown {
		ret = Never
	}
	o.Call = append(o.Call, call)
	o.Ret = append(o.Ret, ret)
	o.Session = append(o.Session, session)
	o.Kind = append(o.Kind, k)
	o.Out = append(o.Out, out)
	o.Aux = append(o.Aux, aux)
}

// Reset empties the columns and keeps their memory.
func (o *Ops) Reset() {
	o.Call, o.Ret, o.Session = o.Call[:0], o.Ret[:0], o.Session[:0]
	o.Kind, o.Out, o.Aux, o.Owners = o.Kind[:0], o.Out[:0], o.Aux[:0], o.Owners[:0]
}

// Model is what kind of lock it is. The zero value is a mutex.
type Model struct {
	Shape     Shape
	Permits   int64 // of a semaphore
	Reentrant bool  // what an owner holds itself is no reason to refuse it
	Fenced    bool  // of a mutex: Aux of an ok acquire is a token that grows with every grant
}

// Shape says who may hold a lock together.
type Shape uint8

// The shapes.
const (
	Mutex     Shape = iota
	RW              // readers together, a writer alone
	Semaphore       // as many as the permits allow
)

// Verdict is what is found. The zero value is Valid; worse is greater.
type Verdict uint8

// The verdicts.
const (
	Valid     Verdict = iota // linearizable
	Undecided                // and Result.Why says why
	Violated                 // not linearizable
)

func (v Verdict) String() string { return [...]string{"valid", "undecided", "violated"}[v] }

// Rule says in which way a history is not linearizable. Those up to TokenFell are
// about who held, the others about answers that do not fit it.
type Rule uint8

// The rules.
const (
	NoRule                 Rule = iota
	TwoHolders                  // First still held when Second was granted
	ReaderAndWriter             // the same, of a reader and a writer
	TooManyPermits              // with Second more were held than there are
	TokenFell                   // Second was granted after First with a token that is no greater
	ReleasedWithoutHolding      // First's release was ok, and it cannot have held
	ReleasedTwice               // First was released with ok twice
	Evicted                     // First was told that it did not hold, and nothing had ended its hold
	RefusedThoughFree           // First was refused, and nobody can have held
)

func (r Rule) String() string {
	return [...]string{"", "two-holders", "reader-and-writer", "too-many-permits", "token-fell",
		"released-without-holding", "released-twice", "evicted", "refused-though-free"}[r]
}

// None stands for no session.
const None = math.MaxUint32

// Result is what a check says.
type Result struct {
	Verdict Verdict
	Rule    Rule   // of the first violation found
	First   uint32 // the sessions concerned, or None
	Second  uint32
	Why     string // of Undecided
}
