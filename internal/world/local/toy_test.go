//go:build linux

package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/locks"
)

// toy is a service whose nodes do not bind source addresses. Each node gets the addresses of the others at its start, and
// answers on both of its ports:
//
//	PING       the name of the node, and the IP of the caller
//	ASK ADDR   the answer of another node to PING
var toy = &service.Service{
	Name: toyName, Topologies: toyTopologies(),
	Needs:   service.Needs{Programs: []service.Executable{{Name: toyName}}},
	Program: toyProgram,
	Open: func(t service.Topology, h service.Host) service.Servers {
		return toys{service.NewCluster(t, h, nil)}
	},
}

const toyName = "toy"

func toyTopologies() []service.Topology {
	t := service.Topology{
		Name: "shared", Short: "{n} toys", Leads: service.EachLeads, Entry: toyName, PeerPorts: 1,
		Parts: []service.Part{{Name: toyName, Role: service.Data, Count: 3}},
	}
	own := t
	own.Name, own.Views = "views", true
	return []service.Topology{t, own}
}

func toyProgram(at service.Place) service.Program {
	args := []string{toyName, at.Node.Name}
	for _, own := range at.Peers[at.Node.Name] {
		args = append(args, own.String())
	}
	return service.Program{Args: args}
}

type toys struct{ *service.Cluster }

func (toys) Leader(context.Context) (string, error)             { return "", errors.New("each leads by itself") }
func (toys) Leaders(context.Context) []string                   { return nil }
func (toys) Healthy(context.Context) error                      { return nil }
func (toys) Greet(context.Context, string, net.Conn, int) error { return nil }

func (s toys) Answers(ctx context.Context, node string) error {
	_, err := s.says(ctx, node, "PING")
	return err
}

// says returns the answer of a node and bypasses faults.
func (s toys) says(ctx context.Context, node, what string) (string, error) {
	c, err := s.Host.Dial(ctx, node)
	if err != nil {
		return "", err
	}
	defer c.Close()
	return toySays(ctx, c, what)
}

// ask lets one node query the name of another one.
func (s toys) ask(ctx context.Context, from, to string, port int) (string, error) {
	return s.says(ctx, from, "ASK "+s.Host.AddrFor(from, to, port).String())
}

func toySays(ctx context.Context, c net.Conn, what string) (string, error) {
	if until, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(until)
	}
	if _, err := fmt.Fprintln(c, what); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line), err
}

// serveToy is one node.
func serveToy(name string, listen []string) error {
	failed := make(chan error)
	for _, at := range listen {
		l, err := net.Listen("tcp4", at)
		if err != nil {
			return err
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					failed <- err
					return
				}
				go answerAsToy(name, c)
			}
		}()
	}
	return <-failed
}

func answerAsToy(name string, c net.Conn) {
	defer c.Close()
	for lines := bufio.NewScanner(c); lines.Scan(); {
		at, ask := strings.CutPrefix(lines.Text(), "ASK ")
		if !ask {
			fmt.Fprintln(c, name, c.RemoteAddr().(*net.TCPAddr).IP)
			continue
		}
		other, err := net.Dial("tcp4", at)
		if err != nil {
			fmt.Fprintln(c, err)
			continue
		}
		answer, err := toySays(context.Background(), other, "PING")
		if err != nil {
			answer = err.Error()
		}
		fmt.Fprintln(c, answer)
		other.Close()
	}
}

// Servers that do not bind their connections are identified by their own listeners or by the kernel, so
// each direction between two servers can be cut separately.
func TestServersThatBindNothing(t *testing.T) {
	for _, topology := range toy.Topologies {
		t.Run(string(topology.Name), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
			defer cancel()
			w := New(Options{Services: []*service.Service{toy}, Programs: map[string]string{toyName: os.Args[0]}})
			spec := world.Spec{Service: toy, Topology: topology, LogDir: t.TempDir()}
			err := w.with(ctx, spec, func(ctx context.Context, b *backend) error {
				c := runningOf(b)
				s := c.Servers.(toys)
				hears := func(from, to string, port int) {
					t.Helper()
					ip, _ := c.Net.IP(from)
					want := to + " " + ip.String()
					if got, err := s.ask(ctx, from, to, port); got != want || err != nil {
						t.Errorf("%s hears %q of port %d of %s, %v; want %q", from, got, port, to, err, want)
					}
				}
				seen := map[netip.AddrPort]bool{}
				for _, from := range s.Nodes() {
					for _, to := range s.Nodes() {
						for port := range 2 {
							seen[c.Machines.AddrFor(from.Name, to.Name, port)] = true
							if from != to {
								hears(from.Name, to.Name, port)
							}
						}
					}
				}
				// The addresses of three nodes with two ports: those at which they listen, and those at which the
				// others find them, which are the same for all or differ for each other node.
				if want := map[locks.Topology]int{"shared": 3*2 + 3*2, "views": 3*2 + 3*2*2}[topology.Name]; len(seen) != want {
					t.Errorf("%d addresses, want %d: %v", len(seen), want, seen)
				}
				cut := []world.Link{{From: "toy-1", To: "toy-2"}}
				if err := c.SetLinks(ctx, cut, world.LinkState{Cut: true}); err != nil {
					return err
				}
				for port := range 2 {
					hasty, cancel := short(ctx)
					defer cancel()
					if got, err := s.ask(hasty, "toy-1", "toy-2", port); err == nil {
						t.Errorf("toy-1 hears %q of port %d of toy-2 through a cut", got, port)
					}
				}
				hears("toy-3", "toy-2", 0)
				hears("toy-1", "toy-3", 1)
				if err := c.SetLinks(ctx, cut, world.LinkState{}); err != nil {
					return err
				}
				hears("toy-1", "toy-2", 0)
				if n := c.Net.Rejected(); n > 0 {
					t.Errorf("%d connections were turned away", n)
				}
				if at := c.Machines.AddrFor("toy-1", "toy-2", 2); at.IsValid() {
					t.Errorf("there is no third port, but %v", at)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
