package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

type readersAndWriter struct {
	writer  int32 // session, or 0
	owner   int32 // of the writer
	readers holders
}

// RW is a lock that is held by one writer or by any number of readers. The writer's
// owner may read as well; it cannot become a writer while anybody reads.
func RW(Params) porcupine.Model {
	return model(readersAndWriter{}, stepRW, func(s readersAndWriter) string {
		switch {
		case s.writer != 0 && s.readers != "":
			return fmt.Sprintf("written by session %d, read by %s", s.writer, s.readers)
		case s.writer != 0:
			return fmt.Sprintf("written by session %d", s.writer)
		case s.readers != "":
			return "read by " + s.readers.String()
		}
		return "free"
	})
}

func stepRW(s readersAndWriter, c Call, a Answer) (bool, readersAndWriter) {
	_, _, reads := s.readers.find(c.Session)
	holds := reads || s.writer == c.Session
	switch c.Kind {
	case Acquire:
		next := s
		fits := s.writer == 0 && s.readers == ""
		if c.Shared {
			fits = !holds && (s.writer == 0 || s.owner == c.Owner)
			next.readers = s.readers.with(c.Session, int64(c.Owner))
		} else {
			next.writer, next.owner = c.Session, c.Owner
		}
		switch {
		case a.Outcome == OK:
			return fits, next
		case a.Outcome == Refused:
			return !fits, s
		case a.Outcome == Unknown && fits:
			return true, next
		}
	case Release, Expire:
		if holds && (a.Outcome == OK || a.Outcome == Unknown) {
			if reads {
				s.readers = s.readers.without(c.Session)
			} else {
				s.writer, s.owner = 0, 0
			}
			return true, s
		}
		return ends(holds, c, a), s
	case Renew, Use:
		return says(holds, a), s
	}
	return true, s
}
