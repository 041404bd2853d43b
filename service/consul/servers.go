package consul

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"lockbench/service"
)

// servers are the running servers of one cluster.
type servers struct {
	topology service.Topology
	host     service.Host
	foreign  bool // somebody else's, where nothing is written
}

// All that they can do beside serving.
var (
	_ service.Servers = (*servers)(nil)
	_ service.Flusher = (*servers)(nil)
)

// Nodes are all servers.
func (g *servers) Nodes() []service.Node { return g.topology.Nodes() }

// Topology is what they form.
func (g *servers) Topology() service.Topology { return g.topology }

// Params are none: addresses say all.
func (g *servers) Params() map[string]string { return nil }

// Lead is nobody: there is one server.
func (g *servers) Lead() string { return "" }

// askLimit bounds one question to a server that is there. It is generous: a busy machine is
// slow.
const askLimit = 2 * time.Second

// leaderPath is where a server says who leads; it says so without asking others.
const leaderPath = "/v1/status/leader"

// ask asks a node past all faults.
func (g *servers) ask(ctx context.Context, node, method, path, body string, answer any) error {
	if s := g.host.Status(node); s.Why != nil {
		return fmt.Errorf("%s: %w", node, s.Why)
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	dial := func(ctx context.Context) (net.Conn, error) { return g.host.Dial(ctx, node) }
	if err := service.AskHTTP(ctx, false, dial, method, path, body, answer); err != nil {
		return fmt.Errorf("%s: %s: %w", node, path, err)
	}
	return nil
}

// Answers asks a server for a sign of life. Before there is a leader it serves nobody.
func (g *servers) Answers(ctx context.Context, node string) error {
	var leader string
	err := g.ask(ctx, node, http.MethodGet, leaderPath, "", &leader)
	if err == nil && leader == "" {
		err = fmt.Errorf("%s knows no leader", node)
	}
	return err
}

// greeting is the question of [servers.Greet], padded to about the length of its answer.
var greeting = "GET " + leaderPath + " HTTP/1.1\r\nHost: consul\r\nX-Padding: " + strings.Repeat("x", 100) + "\r\n\r\n"

// Greet asks who leads as often as it takes to carry the load there; about as much comes back.
func (g *servers) Greet(ctx context.Context, c net.Conn, load int) error {
	return service.GreetHTTP(ctx, c, greeting, load)
}

// Leaders are all that know that they lead.
func (g *servers) Leaders(ctx context.Context) []string {
	var leaders []string
	for _, n := range g.Nodes() {
		if g.Answers(ctx, n.Name) == nil {
			leaders = append(leaders, n.Name)
		}
	}
	return leaders
}

// Leader is the only server.
func (g *servers) Leader(context.Context) (string, error) { return g.Nodes()[0].Name, nil }

// ownKey is one that no lock has.
const ownKey = "/v1/kv/.lockbench"

// Healthy tells what is missing, asked past all faults: a leader, or that a write is taken.
// A leader that was just elected takes none yet. Where nothing may be written, a leader has to
// say that it still leads.
func (g *servers) Healthy(ctx context.Context) error {
	return service.Each(g.Nodes(), func(n service.Node) error {
		if err := g.Answers(ctx, n.Name); err != nil {
			return err
		}
		if g.foreign {
			var sessions []any
			return permitted(g.ask(ctx, n.Name, http.MethodGet, "/v1/session/list?consistent", "", &sessions))
		}
		var wrote bool
		err := g.ask(ctx, n.Name, http.MethodPut, ownKey, "healthy", &wrote)
		if err == nil && !wrote {
			err = errors.New(n.Name + " takes no writes")
		}
		return err
	})
}

// Form returns when servers that were just started serve.
func (g *servers) Form(ctx context.Context) error { return service.AwaitHealthy(ctx, g) }

// Started and Resumed have nothing to do.
func (g *servers) Started(context.Context, string) error { return nil }
func (g *servers) Resumed(context.Context, string) error { return nil }

// Flush deletes all keys. Sessions stay, and hold nothing.
func (g *servers) Flush(ctx context.Context, node string) error {
	var done bool
	err := g.ask(ctx, node, http.MethodDelete, "/v1/kv/?recurse", "", &done)
	if err == nil && !done {
		err = errors.New(node + " has deleted nothing")
	}
	return err
}
