package guest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// lineBytesMax limits the length of a line. Lines of the protocol are shorter than a kilobyte.
const lineBytesMax = 1 << 20

// lines splits a stream into lines of limited length.
type lines struct {
	r   *bufio.Reader
	max int
}

func newLines(r io.Reader) *lines {
	return &lines{r: bufio.NewReaderSize(r, 4<<10), max: lineBytesMax}
}

// next returns the next line that is not blank, without its end. The next call may overwrite it. If the line is too long,
// next sets cut, returns the beginning and skips the rest. The last line needs no newline.
func (l *lines) next() (line []byte, cut bool, err error) {
	for {
		line, cut, err = l.read()
		line = bytes.TrimSpace(line)
		if len(line) > 0 {
			return line, cut, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
}

func (l *lines) read() (line []byte, cut bool, err error) {
	var long []byte // only for lines longer than the reader's buffer
	for {
		part, err := l.r.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		switch {
		case long == nil && !full:
			return part, false, err
		case !cut && len(long)+len(part) <= l.max:
			long = append(long, part...)
		default:
			cut = true
		}
		if !full {
			return long, cut, err
		}
	}
}
