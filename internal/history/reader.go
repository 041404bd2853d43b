package history

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"lockbench/internal/regular"
)

// lineMax bounds one line, so that a large file that is not a history is refused and not read into memory.
const lineMax = 16 << 20

// Read reads a history. What breaks the rules of the format is a [*Malformed]
// error. A last line that was cut off, as a killed writer leaves it, is left out:
// Torn is set, and Warnings says so.
func Read(r io.Reader) (*History, error) { return ReadAs(r, 0, nil, 0) }

// ReadAs is [Read] with a model and permits in place of what the header says; nil and 0 leave the header's own. Size is
// about how many bytes there are, 0 if that is not known.
func ReadAs(r io.Reader, size int64, model Model, permits int) (*History, error) {
	lines := newLineReader(r)
	header, err := readHeader(lines)
	if err != nil {
		return nil, err
	}
	if len(model) > 0 {
		header.Model = model
		if permits > 0 {
			header.Permits = permits
		}
	}
	const bytesTypical, eventsMost = 128, 1 << 20 // a large file need not be a history
	b, err := newBuilder(header, int(min(max(size, 0)/bytesTypical, eventsMost)))
	if err != nil {
		return nil, err
	}
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return b.Done(), nil
		}
		if err != nil {
			return nil, err
		}
		e := Event{Index: max(b.v.count, b.v.index+1), Time: b.v.time}
		m := decodeEvent(line, lines.number, &e)
		if m != nil && m.cutOff && lines.last {
			b.h.Torn = true
			b.h.Warnings = []string{fmt.Sprintf("line %d is cut off and was left out; the program that wrote this history was stopped in the middle of it", m.Line)}
			return b.Done(), nil
		}
		if m == nil {
			m = b.add(&e, lines.number)
		}
		if m != nil {
			return nil, m
		}
	}
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
	h, err := ReadAs(f, info.Size(), nil, 0)
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

// lineReader returns the lines that are not blank.
type lineReader struct {
	s      *bufio.Scanner
	number int  // of the line returned last, from 1
	last   bool // no newline stood after it
}

func newLineReader(r io.Reader) *lineReader {
	l := &lineReader{s: bufio.NewScanner(r)}
	l.s.Buffer(nil, lineMax)
	l.s.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		advance, line, err := bufio.ScanLines(data, atEOF)
		l.last = advance > 0 && data[advance-1] != '\n'
		return advance, line, err
	})
	return l
}

// next returns a line, valid until the next call, or io.EOF.
func (l *lineReader) next() ([]byte, error) {
	for l.s.Scan() {
		l.number++
		if line := bytes.TrimSpace(l.s.Bytes()); len(line) > 0 {
			return line, nil
		}
	}
	err := l.s.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		return nil, Malform(l.number+1, "json", "the line is longer than %d MiB; expected a history, with one event a line", lineMax>>20)
	}
	if err == nil {
		err = io.EOF
	}
	return nil, err
}
