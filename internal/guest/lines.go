package guest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// lineBytesMax bounds a line of either side. Real lines are below a kilobyte;
// what is longer is a dump of something else.
const lineBytesMax = 1 << 20

// lines cuts a stream into lines of bounded length.
type lines struct {
	r   *bufio.Reader
	max int
}

func newLines(r io.Reader) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), max: lineBytesMax}
}

// next returns the next line that is not blank, without its end, in memory that
// the following call may reuse. Of a line that is too long it returns the
// beginning, with cut set, and skips the rest. A last line without an end counts.
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
	var long []byte // only for lines beyond the reader's own buffer
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
