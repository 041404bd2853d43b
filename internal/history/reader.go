package history

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"lockbench/internal/regular"
)

// lineMax bounds one line, so that a large file that is no history is refused and
// not read into memory.
const lineMax = 16 << 20

// eventsFirst is how many events there is room for before anything is known of them.
const eventsFirst = 4096

// Read reads a history. What breaks the rules of the format is a [*Malformed]
// error. A last line that was cut off, as a killed writer leaves it, is left out:
// Torn is set, and Warnings says so.
func Read(r io.Reader) (*History, error) {
	if sized, ok := r.(interface{ Len() int }); ok {
		return read(r, int64(sized.Len()))
	}
	return read(r, 0)
}

// read reads about size bytes, 0 if nobody knows.
func read(r io.Reader, size int64) (*History, error) { return ReadAs(r, size, nil, 0) }

// ReadAs is [Read] of about size bytes, with a model and permits in the place of what the
// header says; nil and 0: with the header's own.
func ReadAs(r io.Reader, size int64, model Model, permits int) (*History, error) {
	s, err := newEventReader(r, model, permits)
	if err != nil {
		return nil, err
	}
	h := &History{Header: s.header}
	p := pairing{history: h}
	for {
		pos := len(h.Events)
		if pos == cap(h.Events) {
			h.Events = slices.Grow(h.Events, s.lines.moreEvents(pos, size))
		}
		h.Events = append(h.Events, Event{})
		more, err := s.next(&h.Events[pos])
		if err != nil {
			return nil, err
		}
		if !more {
			h.Events = h.Events[:pos]
			h.Torn, h.Warnings = s.torn, s.warnings
			return p.done(), nil
		}
		p.add(pos, s.v.last)
	}
}

// eventReader reads a history of lockbench event by event, and holds each event to the rules.
type eventReader struct {
	header   Header
	torn     bool
	warnings []string

	lines lineReader
	v     *validator
	d     *decoder
}

// newEventReader reads the header.
func newEventReader(r io.Reader, model Model, permits int) (*eventReader, error) {
	s := &eventReader{lines: lineReader{r: bufio.NewReaderSize(r, 64<<10)}, d: newDecoder()}
	header, err := readHeader(&s.lines)
	if err != nil {
		return nil, err
	}
	if len(model) > 0 {
		header.Model = model
		if permits > 0 {
			header.Permits = permits
		}
		if m := header.check(); m != nil {
			return nil, m
		}
	}
	s.header, s.v = header, newValidator(&header)
	return s, nil
}

// next reads the next event into a zero Event, and tells whether there was one.
func (s *eventReader) next(e *Event) (bool, error) {
	line, err := s.lines.next()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	g, err := s.d.event(line, e)
	switch {
	case errors.Is(err, errCutOff) && s.lines.last:
		s.torn = true
		s.warnings = append(s.warnings, fmt.Sprintf("line %d is cut off and was left out; whatever wrote this history was stopped in the middle of it", s.lines.number))
		return false, nil
	case errors.Is(err, errCutOff):
		return false, Malform(s.lines.number, "json", "the line ends in the middle of its object; expected one whole object on every line")
	case err != nil:
		return false, Malform(s.lines.number, s.d.s.rule, "%v", err)
	case !g.process:
		return false, Malform(s.lines.number, "process", "the event has no process; expected a whole number, \"nemesis\" or \"probe\"")
	}
	fill(e, g, s.v)
	if m := s.v.add(e, s.lines.number); m != nil {
		return false, m
	}
	return true, nil
}

// ReadFile reads the history in a file. Its errors name the file.
func ReadFile(path string) (*History, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err) // which names it
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("read history %s: it is a directory; expected a file, such as the history.jsonl that a run leaves for each lock", path)
	}
	h, err := read(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("read history %s: %w", path, err)
	}
	return h, nil
}

func readHeader(lines *lineReader) (h Header, err error) {
	line, err := lines.next()
	if errors.Is(err, io.EOF) {
		return h, Malform(1, "header", "there is nothing to read; expected the header of a history, such as %s", exampleHeader)
	}
	if err != nil {
		return h, err
	}
	header, m := decodeHeader(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))) // as some editors begin a file
	if m != nil {
		m.Line = lines.number
		return h, m
	}
	return header, nil
}

// fill gives the fields that a line may leave out what their absence means.
func fill(e *Event, g given, v *validator) {
	if !g.index {
		e.Index = max(v.count, v.index+1)
	}
	if !g.time {
		e.Time = v.time
	}
	if !g.client && e.Process >= 0 {
		e.Client = int32(e.Process)
	}
}

// lineReader returns the lines that are not blank.
type lineReader struct {
	r      *bufio.Reader
	number int   // of the line returned last, from 1
	last   bool  // no newline stood after it
	bytes  int64 // of all lines so far
	long   []byte
}

// moreEvents guesses how many events follow on n, given the size of the whole. What is
// in memory twice while a list grows is most of what reading needs: a gigabyte of
// lines should not take four more because its events did not fit.
func (l *lineReader) moreEvents(n int, size int64) int {
	if n == 0 || l.bytes == 0 {
		return eventsFirst
	}
	const bytesMin = 32 // an event with a process, a type and f has more
	left := max(0, size-l.bytes)
	typical := max(bytesMin, l.bytes/int64(n))
	return max(int(left/typical)+int(left/typical)/64+16, n/4)
}

// next returns a line, valid until the next call, or io.EOF.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			line, err = l.nextLong(line)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		l.number++
		l.bytes += int64(len(line))
		l.last = err != nil
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
		if err != nil {
			return nil, io.EOF
		}
	}
}

// nextLong goes on with a line that is longer than the buffer.
func (l *lineReader) nextLong(begin []byte) ([]byte, error) {
	l.long = append(l.long[:0], begin...)
	for {
		part, err := l.r.ReadSlice('\n')
		l.long = append(l.long, part...)
		if len(l.long) > lineMax {
			return nil, Malform(l.number+1, "json", "the line is longer than %d MiB; expected a history, with one event a line", lineMax>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.long, err
		}
	}
}
