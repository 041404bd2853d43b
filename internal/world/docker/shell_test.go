//go:build linux

package docker

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/moby/moby/client"
)

// A line that is too long ends the shell: waiting callers get an error, and writers do not wait forever. The test
// hangs otherwise.
func TestShellEndsByALineThatIsTooLong(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	waits := make(chan answer, 1)
	s := &shell{conn: client.HijackedResponse{Conn: ours}, waiting: map[string]chan<- answer{"1": waits}}
	out, in := io.Pipe()
	go s.listen(out)
	if _, err := in.Write(bytes.Repeat([]byte("x"), 2*bufio.MaxScanTokenSize)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the writer got %v, want %v", err, io.ErrClosedPipe)
	}
	if a, ok := <-waits; ok {
		t.Errorf("command 1 got the answer %+v", a)
	}
	if err := s.ended(); !errors.Is(err, errShellEnded) || !errors.Is(err, bufio.ErrTooLong) {
		t.Errorf("the shell ended by %v", err)
	}
}
