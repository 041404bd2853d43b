package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Follower reads a history while it is written, and keeps nothing of what it has read. It serves the page that shows a
// run while it goes on. It does not hold events to the rules of the format, as [Read] does.
type Follower struct {
	Header Header // once Begun

	r     io.Reader
	begun bool
	rest  []byte // a line whose end is not there yet
	buf   []byte
	e     Event
	lines int
}

// Follow reads from r, which has more each time that it is asked again.
func Follow(r io.Reader) *Follower {
	return &Follower{r: r, buf: make([]byte, batchBytes)}
}

// Begun tells whether the header has been read.
func (f *Follower) Begun() bool { return f.begun }

// More hands over each event that was written since the last call. The event is valid
// until visit returns.
func (f *Follower) More(visit func(e *Event)) error {
	for {
		n, err := f.r.Read(f.buf)
		data := f.buf[:n]
		for len(data) > 0 {
			line, after, whole := bytes.Cut(data, []byte{'\n'})
			if !whole {
				f.rest = append(f.rest, line...)
				if len(f.rest) > lineMax {
					return fmt.Errorf("follow a history: line %d is longer than %d MiB", f.lines+1, lineMax>>20)
				}
				break
			}
			data = after
			if len(f.rest) > 0 {
				line = append(f.rest, line...)
				f.rest = f.rest[:0]
			}
			if m := f.line(line, visit); m != nil {
				return fmt.Errorf("follow a history: %w", m)
			}
		}
		if errors.Is(err, io.EOF) || err == nil && n == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("follow a history: %w", err)
		}
	}
}

func (f *Follower) line(line []byte, visit func(e *Event)) (m *Malformed) {
	f.lines++
	if !f.begun {
		f.Header, m = decodeHeader(line)
		f.begun = m == nil
		return m
	}
	f.e = Event{}
	if m = decodeEvent(line, f.lines, &f.e); m == nil {
		visit(&f.e)
	}
	return m
}
