package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

type fence struct {
	holders holders
	last    uint64 // the highest token known to have been given
	owner   int32  // to whom
}

// Fenced is a lock whose every grant has a higher token than all before. A grant of
// unknown outcome has one too, but nobody has seen it, so it raises nothing.
//
// Where an owner may enter again, it may be given its last token once more: some libraries
// count up on re-entry, others do not.
func Fenced(p Params) porcupine.Model {
	return model(fence{}, func(s fence, c Call, a Answer) (bool, fence) { return stepFenced(p, s, c, a) },
		func(s fence) string {
			if s.holders == "" {
				return fmt.Sprintf("free, last token %d", s.last)
			}
			return fmt.Sprintf("held by %s, last token %d", s.holders, s.last)
		})
}

func stepFenced(p Params, s fence, c Call, a Answer) (bool, fence) {
	legal, next := stepOwned(p.Reentrant, s.holders, c, a)
	if c.Kind == Acquire && a.Outcome == OK {
		again := p.Reentrant && a.Token == s.last && c.Owner == s.owner
		legal = legal && (a.Token > s.last || again)
		s.last, s.owner = max(s.last, a.Token), c.Owner
	}
	s.holders = next
	return legal, s
}
