package catalog

import (
	"context"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"lockbench/internal/needs"
)

// TestShells checks that the command of each shell accepts the answer of a node, and does not accept a
// node that sends nothing.
func TestShells(t *testing.T) {
	for _, s := range All() {
		shell := s.Needs().Shell
		t.Run(s.Name(), func(t *testing.T) {
			l, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			command, answer := shell.Ping(netip.MustParseAddrPort(l.Addr().String()))
			needs.OrSkip(t, "local", needs.Programs(strings.Fields(command)[0]))
			ask := func(says []byte, limit time.Duration) string {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				cmd := exec.CommandContext(ctx, "sh", "-c", "exec "+command)
				var out strings.Builder
				cmd.Stdout = &out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				c, err := l.Accept()
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if len(says) > 0 {
					_, _ = c.Write(says)
				}
				_ = cmd.Wait() // its output decides
				return strings.TrimSpace(out.String())
			}
			if got := ask(shell.Pong, time.Minute); got != answer {
				t.Errorf("asked %s and answered %q, it says %q, want %q", command, shell.Pong, got, answer)
			}
			if got := ask(nil, 300*time.Millisecond); got == answer {
				t.Errorf("no server has answered, but it says %q", got)
			}
		})
	}
}
