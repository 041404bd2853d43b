package jepsen

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/regular"
)

// Format is the format of a file that holds a history.
type Format string

// The formats.
const (
	Lines Format = "lines"       // lockbench's own JSON lines
	EDN   Format = "jepsen-edn"  // Jepsen's history.edn
	JSON  Format = "jepsen-json" // the same as JSON, an array or one object a line
)

// Opened is the history of a file: lockbench's own, or Jepsen's.
type Opened struct {
	Format Format
	Own    *history.History // or nil
	Jepsen *History         // or nil
}

// Open reads a history from a file, or from in if the name is "-". The content decides the format.
// model replaces that in the header of lockbench's own format, unless it is empty. Its errors name the file.
func Open(name string, in io.Reader, model history.Model) (Opened, error) {
	if name == "-" {
		name = "standard input"
	} else {
		f, err := history.Open(name)
		if errors.Is(err, regular.ErrNot) {
			return Opened{}, fmt.Errorf("%w; lockbench check - reads standard input", err)
		}
		if err != nil {
			return Opened{}, err // it names the file
		}
		defer f.Close()
		in = f
	}
	r := bufio.NewReaderSize(in, 64<<10)
	opened := Opened{Format: detect(r)}
	var err error
	switch opened.Format {
	case EDN, JSON:
		opened.Jepsen, err = read(r, opened.Format == JSON)
	default:
		opened.Own, err = history.ReadAs(r, model)
	}
	if err != nil {
		return opened, fmt.Errorf("read history %s: %w", name, err)
	}
	return opened, nil
}

// detect finds the format of a file by its beginning. A file of another kind is read as
// lockbench's own, whose errors say what a history is.
//
//	{"lockbench": ...        a header of lockbench
//	{"  or [{"               JSON that Jepsen's histories can be written as
//	{:  [{:  #tag  (  ;      EDN
func detect(r *bufio.Reader) Format {
	begin, _ := r.Peek(4 << 10)
	text := bytes.TrimLeft(bytes.TrimPrefix(begin, []byte(byteOrderMark)), " \t\r\n,")
	if len(text) == 0 {
		return Lines
	}
	switch text[0] {
	case '#', ';', '(':
		return EDN
	case '[':
		if rest := bytes.TrimLeft(text[1:], " \t\r\n,"); len(rest) > 1 && rest[0] == '{' && !startsJSON(rest) || len(rest) > 0 && rest[0] == '#' {
			return EDN
		}
		return JSON
	case '{':
		line, _, _ := strings.Cut(string(text), "\n")
		switch {
		case !startsJSON(text):
			return EDN
		case strings.Contains(line, `"lockbench"`):
			return Lines
		case strings.Contains(line, `"process"`) && strings.Contains(line, `"f"`) && !strings.Contains(line, `"session"`):
			return JSON
		}
	}
	return Lines
}

// startsJSON reports whether an object begins with a text in quotes and a colon.
func startsJSON(text []byte) bool {
	rest := bytes.TrimLeft(text[1:], " \t\r\n")
	if len(rest) == 0 || rest[0] == '}' {
		return true
	}
	if rest[0] != '"' {
		return false
	}
	end := bytes.IndexByte(rest[1:], '"')
	return end < 0 || bytes.HasPrefix(bytes.TrimLeft(rest[end+2:], " \t\r\n"), []byte(":"))
}
