package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Follower reads a history while somebody writes it, and keeps nothing of what it has
// read. It is for whoever shows how a run goes on: the rules of the format are left to
// [Read], which judges need.
type Follower struct {
	Header Header // once Begun

	r     io.Reader
	begun bool
	rest  []byte // a line whose end is not there yet
	buf   []byte
	d     *decoder
	e     Event
	lines int
}

// Follow reads from r, which has more each time that it is asked again.
func Follow(r io.Reader) *Follower {
	return &Follower{r: r, buf: make([]byte, batchBytes), d: newDecoder()}
}

// Begun tells whether the header has been read.
func (f *Follower) Begun() bool { return f.begun }

// More hands over each event that was written since the last call. The event is valid
// until visit returns.
func (f *Follower) More(visit func(e *Event)) error {
	if len(f.d.s.names) > namesMost {
		f.d = newDecoder()
	}
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
			if err := f.line(line, visit); err != nil {
				return fmt.Errorf("follow a history: line %d: %w", f.lines, err)
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

func (f *Follower) line(line []byte, visit func(e *Event)) error {
	f.lines++
	if !f.begun {
		h, m := decodeHeader(line)
		if m != nil {
			return m
		}
		f.Header, f.begun = h, true
		return nil
	}
	f.e = Event{}
	g, err := f.d.event(line, &f.e)
	if err != nil {
		return err
	}
	if !g.client && f.e.Process >= 0 {
		f.e.Client = int32(f.e.Process)
	}
	visit(&f.e)
	return nil
}

// namesMost bounds the names of sessions that a follower keeps.
const namesMost = 1 << 14
