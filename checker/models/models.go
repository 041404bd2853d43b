// Package models says what a lock is, one operation at a time: sequential
// specifications for porcupine, a general checker of linearizability.
//
// A general checker searches for an order in which everything that was answered
// could have happened. That takes no theorem about locks, so it is the oracle that
// lockbench's own checker is held to. It also takes for ever: about twenty
// operations of unknown outcome are enough to exhaust time or memory. So nothing
// here searches without a [Limit].
//
// The smallest model is [OwnerMutex]. To add one, write a file with a step function: it takes a
// state that can be compared with ==, a [Call] and its [Answer], and returns whether they are
// legal together and the next state.
//
// # The unknown
//
// A call of unknown outcome is always legal. It has the effect of an ok one where an
// ok one is legal, and none elsewhere. That suffices, because such a call stays open
// to the end of the history: placed last, it never happened for anybody else.
package models

import (
	"fmt"
	"hash/maphash"

	"github.com/anishathalye/porcupine"
)

// Kind is what was asked for.
type Kind uint8

// The kinds of calls.
const (
	Acquire Kind = iota
	Release
	Renew  // ok says that the session held
	Use    // the session worked with what the lock guards, as its holder
	Expire // a lease ran out, or a holder died: from its call on, nobody knows when
)

func (k Kind) String() string {
	return [...]string{"acquire", "release", "renew", "use", "expire"}[k]
}

// Outcome is what is known of a call's effect. The zero value is Unknown.
type Outcome uint8

// The outcomes.
const (
	Unknown Outcome = iota // it may take effect at any later time, or never
	OK                     // it took effect
	Fail                   // it did not and never will, and that says nothing of the lock
	Refused                // it did not, because of how the lock stood: held for an acquire, not held for a release
)

func (o Outcome) String() string { return [...]string{"unknown", "ok", "fail", "refused"}[o] }

// Call is the invocation of an operation.
type Call struct {
	Kind    Kind
	Shared  bool  // acquire
	Session int32 // from 1; one acquire attempt and what follows it
	Owner   int32 // from 1; the session's own number unless several have one owner
	Weight  int64 // acquire of a semaphore: permits
	Name    string
}

// Answer is the return of an operation.
type Answer struct {
	Outcome Outcome
	Token   uint64 // acquire ok of a fenced lock
}

// Params are what a model may be told.
type Params struct {
	Permits   int64 // semaphore
	Owners    bool  // owner-mutex: some have several sessions
	Reentrant bool  // fenced, rw: an owner may enter again, and is not refused for what it holds
}

var seed = maphash.MakeSeed()

// model makes a porcupine model of a step function over comparable states. The hash
// only sorts states into buckets, so it may differ from one process to the next.
func model[S comparable](init S, step func(s S, c Call, a Answer) (bool, S), describe func(S) string) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return init },
		Step: func(state, input, output any) (bool, any) {
			ok, next := step(state.(S), input.(Call), output.(Answer))
			return ok, next
		},
		Equal:             func(a, b any) bool { return a.(S) == b.(S) },
		Hash:              func(state any) uint64 { return maphash.Comparable(seed, state.(S)) },
		DescribeOperation: func(input, output any) string { return describeOperation(input.(Call), output.(Answer)) },
		DescribeState:     func(state any) string { return describe(state.(S)) },
	}
}

func describeOperation(c Call, a Answer) string {
	what := c.Kind.String()
	if c.Shared {
		what += " shared"
	}
	if c.Weight > 1 {
		what += fmt.Sprintf(" %d permits", c.Weight)
	}
	switch c.Kind {
	case Use:
		if c.Name != "" {
			what = c.Name
			return what + ": " + a.Outcome.String()
		}
	case Expire:
		return "may end (" + c.Name + ")"
	}
	if c.Name != "" {
		what += " " + c.Name
	}
	what += ": " + a.Outcome.String()
	if a.Token > 0 {
		what += fmt.Sprintf(", token %d", a.Token)
	}
	return what
}
