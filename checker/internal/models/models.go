// Package models describes a lock one operation at a time, for porcupine, a general checker
// of linearizability.
//
// A general checker searches for an order in which every answer could have happened. That
// takes no theorem about locks, so it is the oracle that lockbench's own checker is compared
// with. It can also take very long: about twenty operations of unknown outcome exhaust time or
// memory. So [Search] has a limit.
//
// # The unknown
//
// A call of unknown outcome is always legal. It has the effect of an ok one where an
// ok one is legal, and none elsewhere. That suffices, because such a call stays open
// to the end of the history: placed last, it changes nothing for the other calls.
package models

import "strings"

// Kind is what was asked for.
type Kind uint8

// The kinds of calls.
const (
	Acquire Kind = iota
	Release
	Renew  // ok says that the session held
	Use    // the session worked with the resource that the lock guards, as its holder
	Expire // a lease ran out, or a holder died, at some time from the call on
)

func (k Kind) String() string {
	return [...]string{"acquire", "release", "renew", "use", "expire"}[k]
}

// Outcome is what is known of a call's effect: the answer to a [Call]. The zero value is
// Unknown.
type Outcome uint8

// The outcomes.
const (
	Unknown Outcome = iota // it may take effect at any later time, or never
	OK                     // it took effect
	Fail                   // it did not and never will, and that says nothing of the lock
	Refused                // it did not, because of the state of the lock: held for an acquire, not held for a release
)

func (o Outcome) String() string { return [...]string{"unknown", "ok", "fail", "refused"}[o] }

// Call is the invocation of an operation.
type Call struct {
	Kind    Kind
	Shared  bool  // acquire
	Session int32 // from 1; one acquire attempt and what follows it
	Owner   int32 // from 1; the session's own number unless several have one owner
	Name    string
}

func describe(c Call, o Outcome) string {
	what := c.Kind.String()
	switch {
	case c.Kind == Expire:
		return "may end (" + c.Name + ")"
	case c.Kind == Use && c.Name != "":
		what = ""
	case c.Shared:
		what += " shared"
	}
	return strings.TrimSpace(what+" "+c.Name) + ": " + o.String()
}
