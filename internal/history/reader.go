package history

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"lockbench/internal/regular"
)

// lineMax bounds one line, so that a large file that is not a history is refused and not read into memory.
const lineMax = 16 << 20

// Read reads a history. An error of the file's form is a [*Malformed]. If the last line was cut off, as a killed
// writer leaves it, Read leaves it out, sets Torn, and adds a warning.
func Read(r io.Reader) (*History, error) { return ReadAs(r, nil) }

// ReadAs is [Read] with a model in place of that in the header, which nil leaves.
func ReadAs(r io.Reader, model Model) (*History, error) {
	f := Follow(r)
	var events []Event
	var lines []int
	keep := func(e *Event) { events, lines = append(events, *e), append(lines, f.line) }
	wrong := f.More(keep)
	torn := false
	if wrong == nil {
		m := f.take(keep) // the last line may have no newline
		if torn = m != nil && m.cutOff; m != nil && !torn {
			wrong = m
		}
	}
	switch {
	case !f.begun && wrong != nil:
		return nil, wrong
	case !f.begun:
		return nil, Malform(1, "header", "there is nothing to read; expected the header of a history, such as %s", exampleHeader)
	}
	if len(model) > 0 {
		f.Header.Model = model
	}
	h, err := Build(f.Header, events, lines...)
	if err != nil {
		return nil, err
	}
	if wrong != nil {
		return nil, wrong
	}
	if h.Torn = torn; torn {
		h.Warnings = append([]string{fmt.Sprintf("line %d is cut off and was left out; the program that wrote this history was stopped "+
			"in the middle of it", f.line)}, h.Warnings...)
	}
	return h, nil
}

// ReadFile reads the history in a file. Its errors name the file.
func ReadFile(path string) (*History, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("read history %s: %w", path, err)
	}
	return h, nil
}

// Open opens the file of a history. Its errors name the file.
func Open(path string) (*os.File, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, fmt.Errorf("read history %s: it is a directory; expected a file, such as the history.jsonl that a run leaves for each lock", path)
	}
	return f, nil
}

// Follower reads the lines of a history, also while it is written, and keeps no event. It checks each line by itself;
// [Build] checks the rules of the format.
type Follower struct {
	Header Header // once Begun

	r     *bufio.Reader
	begun bool
	rest  []byte // the line so far
	line  int    // the number of the line that was read last, from 1
	index int    // of the next event, if its line has none
	time  time.Duration
}

// Follow reads from r, which may have more after it has reported io.EOF.
func Follow(r io.Reader) *Follower { return &Follower{r: bufio.NewReaderSize(r, 64<<10)} }

// Begun reports whether the header has been read.
func (f *Follower) Begun() bool { return f.begun }

// More calls visit with each event that was written since the last call, up to the last whole line. The event is valid
// until visit returns.
func (f *Follower) More(visit func(e *Event)) error {
	for {
		part, err := f.r.ReadSlice('\n')
		f.rest = append(f.rest, part...)
		switch {
		case len(f.rest) > lineMax:
			return Malform(f.line+1, "json", "the line is longer than %d MiB; expected a history, with one event a line", lineMax>>20)
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return err
		}
		if m := f.take(visit); m != nil {
			return m
		}
	}
}

// take reads the line in rest.
func (f *Follower) take(visit func(e *Event)) (m *Malformed) {
	f.line++
	text := f.rest
	f.rest = f.rest[:0]
	if !f.begun {
		text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // as some editors begin a file
	}
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
		return nil
	case !f.begun:
		if f.Header, m = decodeHeader(text); m != nil {
			m.Line = f.line
		}
		f.begun = m == nil
		return m
	}
	e := Event{Index: f.index, Time: f.time}
	if m = decodeEvent(text, f.line, &e); m == nil {
		f.index, f.time = e.Index+1, e.Time
		visit(&e)
	}
	return m
}
