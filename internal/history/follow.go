package history

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Follower reads a history while it is written, and keeps no event. The page of a run that goes on uses it. It does not
// check the rules of the format, as [Read] does.
type Follower struct {
	Header Header // once Begun

	r     *bufio.Reader
	begun bool
	rest  []byte // the line so far
	lines int
}

// Follow reads from r, which may have more after it has reported io.EOF.
func Follow(r io.Reader) *Follower { return &Follower{r: bufio.NewReaderSize(r, batchBytes)} }

// Begun reports whether the header has been read.
func (f *Follower) Begun() bool { return f.begun }

// More calls visit with each event that was written since the last call. The event is valid
// until visit returns.
func (f *Follower) More(visit func(e *Event)) error {
	for {
		part, err := f.r.ReadSlice('\n')
		f.rest = append(f.rest, part...)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case len(f.rest) > lineMax:
			return fmt.Errorf("follow a history: line %d is longer than %d MiB", f.lines+1, lineMax>>20)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return fmt.Errorf("follow a history: %w", err)
		}
		if m := f.line(visit); m != nil {
			return fmt.Errorf("follow a history: %w", m)
		}
	}
}

// line reads the line in rest.
func (f *Follower) line(visit func(e *Event)) (m *Malformed) {
	f.lines++
	line := f.rest
	f.rest = f.rest[:0]
	if !f.begun {
		f.Header, m = decodeHeader(line)
		f.begun = m == nil
		return m
	}
	var e Event
	if m = decodeEvent(line, f.lines, &e); m == nil {
		visit(&e)
	}
	return m
}
