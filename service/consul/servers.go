package consul

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"lockbench/service"
)

// servers are the running servers of one cluster.
type servers struct {
	*service.Cluster
	foreign bool // run by others, so nothing is written
}

// The optional abilities of Consul.
var (
	_ service.Servers = (*servers)(nil)
	_ service.Orderly = (*servers)(nil)
)

func newServers(t service.Topology, h service.Host, foreign bool) *servers {
	g := &servers{foreign: foreign}
	g.Cluster = service.NewCluster(t, h, func(ctx context.Context, node string) (service.State, error) {
		err := g.Answers(ctx, node)
		return service.State{Leads: err == nil}, err
	})
	return g
}

// leaderPath returns the leader that a server knows, without asking others.
const leaderPath = "/v1/status/leader"

// ask sends a request to a node, past all faults.
func (g *servers) ask(ctx context.Context, node, method, path, body string, answer any) error {
	return g.Ask(ctx, node, service.AskLimit, func(ctx context.Context, c net.Conn) error {
		if err := service.AskHTTP(ctx, false, service.Once(c), method, path, body, answer); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
}

// Answers also checks that there is a leader: without one, a server serves no client.
func (g *servers) Answers(ctx context.Context, node string) error {
	var leader string
	err := g.ask(ctx, node, http.MethodGet, leaderPath, "", &leader)
	if err == nil && leader == "" {
		err = fmt.Errorf("%s knows no leader", node)
	}
	return err
}

// greeting is the request of [servers.Greet], padded to about the length of its answer.
var greeting = "GET " + leaderPath + " HTTP/1.1\r\nHost: consul\r\nX-Padding: " + strings.Repeat("x", 100) + "\r\n\r\n"

// Greet requests the leader as often as needed to carry the load.
func (g *servers) Greet(ctx context.Context, c net.Conn, load int) error {
	return service.GreetHTTP(ctx, c, greeting, load)
}

// ownKey is a key that no lock has.
const ownKey = "/v1/kv/.lockbench"

// Healthy checks that there is a leader and that it accepts a write, which a new leader does not do at
// once. On external servers it writes nothing, and the leader must confirm that it still leads.
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

// Form returns when new servers serve clients.
func (g *servers) Form(ctx context.Context) error { return service.AwaitHealthy(ctx, g) }

// Orders returns the administrative orders of a server.
func (g *servers) Orders() map[string]service.Order {
	return map[string]service.Order{service.OrderFlush: service.OnNode(g.Flush)}
}

// Flush deletes all keys. Sessions stay, without keys.
func (g *servers) Flush(ctx context.Context, node string) error {
	var done bool
	err := g.ask(ctx, node, http.MethodDelete, "/v1/kv/?recurse", "", &done)
	if err == nil && !done {
		err = errors.New(node + " has deleted nothing")
	}
	return err
}
