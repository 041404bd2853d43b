//go:build linux

package docker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
)

// shell is a sh in a container that is kept open, since an exec for each command takes ten times as long. Commands
// run concurrently, so a PING on a cut link delays no other command. The shell outlives the server and ends
// with the container.
type shell struct {
	conn    client.HijackedResponse
	next    atomic.Int64
	waiting sync.Map // of chan answer, by the number of the command

	end  sync.Once
	done chan struct{} // closed at its end
	err  error         // why it has ended, once done is closed
}

// errShellEnded is returned after the end of the shell: its container may have ended, or the daemon.
var errShellEnded = errors.New("the shell in the container has ended")

// answer is the output of a command, with its lines joined by spaces.
type answer struct {
	ok   bool
	text string
}

// shellScript ends the container at the end of its standard input, which the daemon closes when this process ends,
// so that containers of a killed run end.
const shellScript = "sh; kill -TERM 1"

func openShell(ctx context.Context, api client.APIClient, container string) (*shell, error) {
	exec, err := api.ExecCreate(ctx, container, client.ExecCreateOptions{
		AttachStdin: true, AttachStdout: true, AttachStderr: true, Cmd: []string{"sh", "-c", shellScript},
	})
	if err != nil {
		return nil, fmt.Errorf("open a shell in the container: %w", err)
	}
	attached, err := api.ExecAttach(ctx, exec.ID, client.ExecAttachOptions{})
	if err != nil {
		return nil, fmt.Errorf("open a shell in the container: %w", err)
	}
	s := &shell{conn: attached.HijackedResponse, done: make(chan struct{})}
	out, in := io.Pipe()
	go func() {
		_, err := stdcopy.StdCopy(in, io.Discard, s.conn.Reader)
		if err == nil {
			err = io.EOF
		}
		in.CloseWithError(err)
	}()
	go s.listen(out)
	return s, nil
}

// listen passes answers to the callers: "7 0 PONG" is the exit code and the output of command 7.
func (s *shell) listen(out io.ReadCloser) {
	// A line that is too long ends the reading, and writers must not wait forever.
	defer out.Close()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		id, rest, _ := strings.Cut(lines.Text(), " ")
		code, text, _ := strings.Cut(rest, " ")
		if to, ok := s.waiting.LoadAndDelete(id); ok {
			to.(chan answer) <- answer{code == "0", text}
		}
	}
	why := errShellEnded
	if err := lines.Err(); err != nil {
		why = fmt.Errorf("%w: %w", errShellEnded, err)
	}
	s.close(why)
}

// run runs a command and returns what it printed.
func (s *shell) run(ctx context.Context, command string) (string, error) {
	select {
	case <-s.done:
		return "", s.err
	default:
	}
	id := fmt.Sprint(s.next.Add(1))
	to := make(chan answer, 1)
	s.waiting.Store(id, to)
	defer s.waiting.Delete(id)
	// One write for each command, so that commands do not mix.
	_, err := fmt.Fprintf(s.conn.Conn, "( out=$( { %s\n} 2>&1 </dev/null ); rc=$?; set -f; echo %s $rc $out ) &\n", command, id)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errShellEnded, err)
	}
	select {
	case a := <-to:
		if !a.ok {
			return a.text, fmt.Errorf("the container answers %q", a.text)
		}
		return a.text, nil
	case <-s.done:
		return "", s.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// close ends it. Waiting callers get the error.
func (s *shell) close(why error) {
	s.end.Do(func() {
		s.err = why
		close(s.done)
		s.conn.Close()
	})
}
