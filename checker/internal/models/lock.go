package models

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// Lock is the model of a lock. A release names a session and ends the hold of that
// session only, so the state is the set of sessions that hold. Those of one owner may hold
// together, in any mode; those of different owners if both read.
//
// What an owner holds is a reason to refuse the same owner, unless the lock is reentrant.
func Lock(reentrant bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return holders(nil) },
		Step: func(state, input, output any) (bool, any) {
			legal, next := step(reentrant, state.(holders), input.(Call), output.(Outcome))
			return legal, next
		},
		Equal:             func(a, b any) bool { return slices.Equal(a.(holders), b.(holders)) },
		DescribeOperation: func(input, output any) string { return describe(input.(Call), output.(Outcome)) },
		DescribeState:     func(state any) string { return state.(holders).String() },
	}
}

// holders are the sessions that hold, in the order of their numbers. A step returns a copy
// and does not change the state that it was given.
type holders []holder

type holder struct {
	session, owner int32
	shared         bool
}

func step(reentrant bool, h holders, c Call, o Outcome) (legal bool, next holders) {
	at, holds := slices.BinarySearchFunc(h, c.Session, func(x holder, session int32) int { return cmp.Compare(x.session, session) })
	switch c.Kind {
	case Acquire:
		fits := !holds && !h.inTheWay(c, true)
		switch {
		case o == Refused:
			return h.inTheWay(c, reentrant), h
		case o == OK && !fits:
			return false, h
		case fits && o != Fail:
			return true, slices.Insert(slices.Clone(h), at, holder{c.Session, c.Owner, c.Shared})
		}
	case Release, Expire:
		legal := c.Kind == Expire || says(holds, o)
		if holds && (o == OK || o == Unknown) {
			return legal, slices.Delete(slices.Clone(h), at, at+1)
		}
		return legal, h
	case Renew, Use:
		return says(holds, o), h
	}
	return true, h
}

// says tells whether an answer about a hold is true: ok claims that the session holds, a
// refusal that it does not.
func says(holds bool, o Outcome) bool {
	switch o {
	case OK:
		return holds
	case Refused:
		return !holds
	}
	return true
}

// inTheWay tells whether a hold conflicts with a call. If own is set, the holds of the
// call's own owner do not.
func (h holders) inTheWay(c Call, own bool) bool {
	return slices.ContainsFunc(h, func(x holder) bool {
		return !(c.Shared && x.shared) && !(own && x.owner == c.Owner)
	})
}

func (h holders) String() string {
	if len(h) == 0 {
		return "free"
	}
	var names []string
	for _, x := range h {
		names = append(names, fmt.Sprint(x.session))
	}
	return "held by " + strings.Join(names, ", ")
}
