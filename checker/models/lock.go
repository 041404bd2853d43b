package models

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/anishathalye/porcupine"
)

// Lock is the model of a lock. A release names a session and gives back the hold of that
// session only, so the state is the set of sessions that hold. Those of one owner may hold
// together, in any mode; those of different owners if both read.
//
// What an owner holds is a reason to refuse the same owner, unless the lock is reentrant.
func Lock(reentrant bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return holders("") },
		Step: func(state, input, output any) (bool, any) {
			legal, next := step(reentrant, state.(holders), input.(Call), output.(Answer))
			return legal, next
		},
		Equal: func(a, b any) bool { return a.(holders) == b.(holders) },
		// The hash only sorts states into buckets, so it may differ from one process to the next.
		Hash:              func(state any) uint64 { return maphash.Comparable(seed, state.(holders)) },
		DescribeOperation: func(input, output any) string { return describe(input.(Call), output.(Answer)) },
		DescribeState:     func(state any) string { return state.(holders).String() },
	}
}

var seed = maphash.MakeSeed()

func step(reentrant bool, h holders, c Call, a Answer) (legal bool, next holders) {
	at, holds := h.find(c.Session)
	switch c.Kind {
	case Acquire:
		switch fits := !holds && !h.inTheWay(c, true); {
		case a.Outcome == OK:
			return fits, h.with(at, c)
		case a.Outcome == Refused:
			return h.inTheWay(c, reentrant), h
		case a.Outcome == Unknown && fits:
			return true, h.with(at, c)
		}
	case Release, Expire:
		legal := c.Kind == Expire || says(holds, a)
		if holds && (a.Outcome == OK || a.Outcome == Unknown) {
			return legal, h[:at] + h[at+holderSize:]
		}
		return legal, h
	case Renew, Use:
		return says(holds, a), h
	}
	return true, h
}

// says tells whether an answer about a hold is true: ok claims that the session holds, a
// refusal that it does not.
func says(holds bool, a Answer) bool {
	switch a.Outcome {
	case OK:
		return holds
	case Refused:
		return !holds
	}
	return true
}

// holders are the sessions that hold, in their order: of each its number, its owner, and
// whether it reads. They are a text because porcupine compares states with ==, and because
// a step must not change the state that it was given.
type holders string

const holderSize = 9

func (h holders) at(at int) (session, owner int32, shared bool) {
	b := []byte(h[at : at+holderSize])
	return int32(binary.BigEndian.Uint32(b)), int32(binary.BigEndian.Uint32(b[4:])), b[8] == 1
}

// find returns the place of a session, or where it would stand.
func (h holders) find(session int32) (at int, there bool) {
	for ; at < len(h); at += holderSize {
		if s, _, _ := h.at(at); s >= session {
			return at, s == session
		}
	}
	return at, false
}

func (h holders) with(at int, c Call) holders {
	entry := binary.BigEndian.AppendUint32(nil, uint32(c.Session))
	entry = append(binary.BigEndian.AppendUint32(entry, uint32(c.Owner)), 0)
	if c.Shared {
		entry[8] = 1
	}
	return h[:at] + holders(entry) + h[at:]
}

// inTheWay tells whether a hold conflicts with a call. With own, what the owner of the call
// holds does not.
func (h holders) inTheWay(c Call, own bool) bool {
	for at := 0; at < len(h); at += holderSize {
		_, owner, shared := h.at(at)
		if !(c.Shared && shared) && !(own && owner == c.Owner) {
			return true
		}
	}
	return false
}

func (h holders) String() string {
	if h == "" {
		return "free"
	}
	var names []string
	for at := 0; at < len(h); at += holderSize {
		session, _, _ := h.at(at)
		names = append(names, fmt.Sprint(session))
	}
	return "held by " + strings.Join(names, ", ")
}
