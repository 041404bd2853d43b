package history

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// lineMax bounds one line, so that a large file that is no history is refused and
// not read into memory.
const lineMax = 16 << 20

const (
	lineTypical    = 96 // bytes
	eventsGuessMax = 1 << 20
)

// Read reads a history. What breaks the rules of the format is a [*Malformed]
// error. A last line that was cut off, as a killed writer leaves it, is left out:
// Torn is set, and Warnings says so.
func Read(r io.Reader) (*History, error) {
	if sized, ok := r.(interface{ Len() int }); ok {
		return read(r, int64(sized.Len()))
	}
	return read(r, 0)
}

// read reads about size bytes; a good guess saves most of the copying that a
// growing list of events costs, and a bad one does no harm.
func read(r io.Reader, size int64) (*History, error) { return readAs(r, size, OpenOptions{}) }

func readAs(r io.Reader, size int64, o OpenOptions) (*History, error) {
	lines := lineReader{r: bufio.NewReaderSize(r, 64<<10)}
	h, err := readHeader(&lines)
	if err != nil {
		return nil, err
	}
	if len(o.Model) > 0 {
		h.Header.Model = o.Model
		if o.Permits > 0 {
			h.Header.Permits = o.Permits
		}
		if m := h.Header.check(); m != nil {
			return nil, m
		}
	}
	h.Events = make([]Event, 0, min(size/lineTypical, eventsGuessMax))
	v, d, p := newValidator(&h.Header), newDecoder(), pairing{history: h}
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil {
			return nil, err
		}
		pos := len(h.Events)
		h.Events = append(h.Events, Event{})
		e := &h.Events[pos]
		g, err := d.event(line, e)
		if errors.Is(err, errCutOff) && lines.last {
			h.Events = h.Events[:pos]
			h.Torn = true
			h.Warnings = append(h.Warnings, fmt.Sprintf("line %d is cut off and was left out; whatever wrote this history was stopped in the middle of it", lines.number))
			return h, nil
		}
		if errors.Is(err, errCutOff) {
			return nil, malformed(lines.number, "json", "the line ends in the middle of its object; expected one whole object on every line")
		}
		if err != nil {
			return nil, malformed(lines.number, d.s.rule, "%v", err)
		}
		if !g.process {
			return nil, malformed(lines.number, "process", "the event has no process; expected a whole number, \"nemesis\" or \"probe\"")
		}
		fill(e, g, v)
		if m := v.add(e, lines.number); m != nil {
			return nil, m
		}
		p.add(pos, v.last)
	}
}

// ReadFile reads the history in a file. Its errors name the file.
func ReadFile(path string) (*History, error) {
	f, err := os.Open(path)
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

func readHeader(lines *lineReader) (*History, error) {
	line, err := lines.next()
	if errors.Is(err, io.EOF) {
		return nil, malformed(1, "header", "there is nothing to read; expected the header of a history, such as %s", exampleHeader)
	}
	if err != nil {
		return nil, err
	}
	header, m := decodeHeader(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))) // as some editors begin a file
	if m != nil {
		m.Line = lines.number
		return nil, m
	}
	return &History{Header: header}, nil
}

// fill gives the fields that a line may leave out what their absence means.
func fill(e *Event, g given, v *Validator) {
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
	number int  // of the line returned last, from 1
	last   bool // no newline stood after it
	long   []byte
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
			return nil, malformed(l.number+1, "json", "the line is longer than %d MiB; expected a history, with one event a line", lineMax>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.long, err
		}
	}
}
