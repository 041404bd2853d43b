package models

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// holders is a set of sessions, each with a number of its own (permits, or the owner),
// in the order of sessions. A text because states must be comparable with ==, and
// because a step must never change the state it was given.
type holders string

const holderSize = 12

// find returns the place of a session, or where it would stand, and its number.
func (h holders) find(session int32) (at int, n int64, there bool) {
	for at = 0; at < len(h); at += holderSize {
		switch s, n := h.at(at); {
		case s == session:
			return at, n, true
		case s > session:
			return at, 0, false
		}
	}
	return at, 0, false
}

// at is the session at a place, and its number.
func (h holders) at(at int) (session int32, n int64) {
	b := []byte(h[at : at+holderSize])
	return int32(binary.BigEndian.Uint32(b)), int64(binary.BigEndian.Uint64(b[4:]))
}

func (h holders) with(session int32, n int64) holders {
	at, _, there := h.find(session)
	if there {
		return h
	}
	var entry [holderSize]byte
	binary.BigEndian.PutUint32(entry[:], uint32(session))
	binary.BigEndian.PutUint64(entry[4:], uint64(n))
	return h[:at] + holders(entry[:]) + h[at:]
}

func (h holders) without(session int32) holders {
	at, _, there := h.find(session)
	if !there {
		return h
	}
	return h[:at] + h[at+holderSize:]
}

func (h holders) String() string {
	var names []string
	for at := 0; at < len(h); at += holderSize {
		session, _ := h.at(at)
		names = append(names, fmt.Sprint(session))
	}
	return strings.Join(names, ", ")
}
