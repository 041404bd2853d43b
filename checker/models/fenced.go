package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

type fence struct {
	owner int32
	depth int32
	last  uint64 // the highest token known to have been given
	now   uint64 // of the present holder; 0 after an acquire whose answer nobody saw
}

// Fenced is a lock whose every grant has a higher token than all before. A grant of
// unknown outcome has one too, but nobody has seen it, so it raises nothing.
//
// Where the owner may enter again, the entry has a token of its own that is not below
// the first one's: some libraries count up on re-entry, others do not.
func Fenced(p Params) porcupine.Model {
	return model(fence{}, func(s fence, c Call, a Answer) (bool, fence) { return stepFenced(p, s, c, a) },
		func(s fence) string {
			if s.depth == 0 {
				return fmt.Sprintf("free, last token %d", s.last)
			}
			return fmt.Sprintf("held by %d with token %d", s.owner, s.now)
		})
}

func stepFenced(p Params, s fence, c Call, a Answer) (bool, fence) {
	id := c.Session
	if p.Reentrant {
		id = c.Owner
	}
	mine := s.depth > 0 && s.owner == id
	switch c.Kind {
	case Acquire:
		again := mine && p.Reentrant
		fits := s.depth == 0 || again
		switch a.Outcome {
		case OK:
			grows := a.Token > s.last
			if again && s.now > 0 {
				grows = a.Token >= s.now
			}
			return fits && grows, fence{id, s.depth + 1, max(s.last, a.Token), a.Token}
		case Refused:
			return !fits && !mine, s
		case Unknown:
			switch {
			case again:
				s.depth++
			case fits:
				return true, fence{id, 1, s.last, 0}
			}
		}
	case Release, Expire:
		if mine && (a.Outcome == OK || a.Outcome == Unknown) {
			if s.depth > 1 {
				s.depth--
				return true, s
			}
			return true, fence{last: s.last}
		}
		return ends(mine, c, a), s
	case Renew, Use:
		return says(mine, a), s
	}
	return true, s
}
