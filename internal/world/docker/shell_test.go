//go:build linux

package docker

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/moby/moby/client"
)

// A line that is too long ends the shell: waiting callers get an error, and writers do not wait forever. The test
// hangs otherwise.
func TestShellEndsByALineThatIsTooLong(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	s := &shell{conn: client.HijackedResponse{Conn: ours}, done: make(chan struct{})}
	out, in := io.Pipe()
	go s.listen(out)
	waits := make(chan error, 1)
	go func() {
		_, err := s.run(t.Context(), "true")
		waits <- err
	}()
	for lines := bufio.NewReader(theirs); ; {
		if line, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		} else if strings.HasSuffix(line, "&\n") {
			break // the end of the command
		}
	}
	if _, err := in.Write(bytes.Repeat([]byte("x"), 2*bufio.MaxScanTokenSize)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the writer got %v, want %v", err, io.ErrClosedPipe)
	}
	if err := <-waits; !errors.Is(err, errShellEnded) || !errors.Is(err, bufio.ErrTooLong) {
		t.Errorf("the shell ended by %v", err)
	}
	if _, err := s.run(t.Context(), "true"); !errors.Is(err, errShellEnded) {
		t.Errorf("the next command got %v", err)
	}
}
