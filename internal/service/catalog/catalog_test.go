package catalog

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/internal/needs"
	"lockbench/internal/service"
)

// TestShells checks that the command of each shell accepts the answer of a node, and does not accept a
// node that sends nothing.
func TestShells(t *testing.T) {
	for _, s := range All() {
		shell := s.Needs.Shell
		t.Run(s.Name, func(t *testing.T) {
			l, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			command, answer := shell.Ping(netip.MustParseAddrPort(l.Addr().String()))
			needs.OrSkip(t, "local", needs.Programs(strings.Fields(command)[0]))
			ask := func(says []byte, limit time.Duration) string {
				t.Helper()
				ctx, cancel := context.WithCancel(t.Context())
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
				defer time.AfterFunc(limit, cancel).Stop() // a busy machine may take long to connect
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

// TestExternalServersStayAsTheyAre checks that no fault can change the membership, the leader or the keys
// of external servers, except the keys of the run.
func TestExternalServersStayAsTheyAre(t *testing.T) {
	ours := []string{service.OrderPoison, service.OrderCure}
	for _, s := range All() {
		if s.External.Open == nil {
			continue
		}
		for _, topology := range s.Topologies {
			site := service.Site{Location: service.Location{Topology: topology}, Topology: topology}
			g := s.External.Open(site, "lockbench:1:", nil) // the methods below must ask no server
			node := topology.Nodes()[0].Name
			joins, err := g.Rejoin(t.Context(), node)
			if err = errors.Join(err, g.Form(t.Context()), g.Started(t.Context(), node)); joins || err != nil {
				t.Errorf("%s %s: joins %t, %v", s.Name, topology.Name, joins, err)
			}
			g.Operate(t.Context())
			a := g.Abilities()
			for name := range a.Orders {
				if !slices.Contains(ours, name) {
					t.Errorf("%s %s takes the order %s", s.Name, topology.Name, name)
				}
			}
			if a.Promote != nil {
				t.Errorf("%s %s can be promoted", s.Name, topology.Name)
			}
		}
	}
}
