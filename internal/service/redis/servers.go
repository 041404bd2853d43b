package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"lockbench/internal/service"
	"lockbench/locks"
)

// nodes are servers that do not know each other, as in the topologies Single and Independent, and what the servers of all
// topologies have in common: [replicated], [watched] and [sharded].
type nodes struct {
	*service.Cluster
	// ask sends a command to a node, past all faults, and returns the answer as [readAnswer] does.
	ask    func(ctx context.Context, node string, command ...string) (any, error)
	prefix string            // of the keys; the names of locks follow it
	calls  map[string]string // the nodes by the addresses by which others call them
}

var (
	_ service.Servers = (*nodes)(nil)
	_ service.Servers = (*replicated)(nil)
	_ service.Servers = (*watched)(nil)
	_ service.Servers = (*sharded)(nil)
)

// open returns the servers of a topology, and the part that all topologies have.
func open(t service.Topology, h service.Host) (service.Servers, *nodes) {
	g := &nodes{Cluster: service.NewCluster(t, h, nil)}
	g.ask = g.askHost
	switch t.Name {
	case locks.Replicated:
		return &replicated{nodes: g, lead: g.Nodes()[0].Name}, g
	case locks.Sentinel:
		return &watched{g, masterName}, g
	case locks.Cluster:
		return &sharded{g}, g
	}
	return g, g
}

// Controlled returns servers whose nodes are queried by ask, which sends a command to a node past all faults and
// returns the answer in RESP. It uses only Addr, Status, Follow and Lead of the host.
func Controlled(t service.Topology, h service.Host, ask func(node string, command []string) (answer string, err error)) service.Servers {
	servers, g := open(t, h)
	g.ask = func(_ context.Context, node string, command ...string) (any, error) {
		answer, err := ask(node, command)
		var reply any
		if err == nil {
			reply, err = readAnswer(answer)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", node, err)
		}
		return reply, nil
	}
	return servers
}

// Abilities returns what servers without replicas can do.
func (g *nodes) Abilities() service.Abilities {
	return g.abilities(func(ctx context.Context, _ string) (string, error) { return g.Leader(ctx) })
}

// abilities returns what all servers can do.
func (g *nodes) abilities(leaderOf leaderOf) service.Abilities {
	keeper := keeper{g, leaderOf}
	return service.Abilities{
		LeaderOf: leaderOf, Offsets: g.offsets, Nudge: g.nudge, TTL: keeper.ttl, Kept: keeper.kept,
		ClockOffset: g.clockOffset, Identity: g.identity, Orders: orders(g),
	}
}

// inRole returns the nodes of one role.
func (g *nodes) inRole(role service.Role) []service.Node {
	return slices.DeleteFunc(g.Nodes(), func(n service.Node) bool { return n.Role != role })
}

// called returns the node that others call by a host and a port; empty: there is none.
func (g *nodes) called(host, port string) string {
	addr := net.JoinHostPort(host, port)
	if g.calls != nil {
		return g.calls[addr]
	}
	for _, n := range g.Nodes() {
		if g.Host.Addr(n.Name).String() == addr {
			return n.Name
		}
	}
	return ""
}

// Form waits for new servers.
func (g *nodes) Form(ctx context.Context) error { return service.AwaitHealthy(ctx, g) }

// Healthy returns why a server does not answer.
func (g *nodes) Healthy(ctx context.Context) error {
	return service.Each(g.Nodes(), func(n service.Node) error { return g.Answers(ctx, n.Name) })
}

// Answers asks a server for a sign of life, past all faults.
func (g *nodes) Answers(ctx context.Context, node string) error {
	reply, err := g.ask(ctx, node, "PING")
	if err == nil && reply != "PONG" {
		err = fmt.Errorf("%s answers PING by %v", node, reply)
	}
	return err
}

// Leader returns the only master.
func (g *nodes) Leader(context.Context) (string, error) {
	if g.Topology().Name != locks.Single {
		return "", fmt.Errorf("the topology %s has no master", g.Topology().Name)
	}
	return g.Nodes()[0].Name, nil
}

// leadersLimit bounds how long Leaders waits for nodes that do not answer.
const leadersLimit = 500 * time.Millisecond

// Leaders returns all nodes that take themselves for a master.
func (g *nodes) Leaders(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, leadersLimit)
	defer cancel()
	data := g.inRole(service.Data)
	roles, _ := service.AskAll(ctx, data, g.role)
	var masters []string
	for _, n := range data {
		if roles[n.Name].master {
			masters = append(masters, n.Name)
		}
	}
	return masters
}

// role is the answer of a data node to ROLE.
type role struct {
	master   bool
	of       string // its master; empty: unknown
	state    string // of the link to the master: "connected"
	replicas int    // in sync with this node
}

func (g *nodes) role(ctx context.Context, node string) (role, error) {
	reply, err := g.ask(ctx, node, "ROLE")
	if err != nil {
		return role{}, err
	}
	list, _ := reply.([]any)
	switch {
	case len(list) == 3 && list[0] == "master":
		replicas, _ := list[2].([]any)
		return role{master: true, replicas: distinct(replicas)}, nil
	case len(list) == 5 && list[0] == "slave":
		return role{of: g.called(fmt.Sprint(list[1]), fmt.Sprint(list[2])), state: fmt.Sprint(list[3])}, nil
	}
	return role{}, fmt.Errorf("%s answers ROLE by %v", node, reply)
}

// distinct counts the replicas in an answer to ROLE by their addresses. The master keeps a broken connection of a replica in the
// list until repl-timeout, although the replica has connected again.
func distinct(replicas []any) int {
	addresses := map[string]bool{}
	for _, r := range replicas {
		if r, ok := r.([]any); ok && len(r) >= 2 {
			addresses[fmt.Sprint(r[:2])] = true
		}
	}
	return len(addresses)
}

// offsets returns how much each data node has written or applied.
func (g *nodes) offsets(ctx context.Context) map[string]int64 {
	offsets, _ := service.AskAll(ctx, g.inRole(service.Data), func(ctx context.Context, node string) (int64, error) {
		reply, err := g.ask(ctx, node, "INFO", "replication")
		if err != nil {
			return 0, err
		}
		info := fields(reply)
		if info["role"] == "slave" {
			return strconv.ParseInt(info["slave_repl_offset"], 10, 64)
		}
		return strconv.ParseInt(info["master_repl_offset"], 10, 64)
	})
	return offsets
}

// nudge writes to the master's replication stream. A published message reaches the replicas like a
// write, and touches no key.
func (g *nodes) nudge(ctx context.Context, master string) error {
	return g.order(ctx, master, "PUBLISH", "lockbench:nudge", "")
}

// order sends a command and ignores its answer.
func (g *nodes) order(ctx context.Context, node string, command ...string) error {
	_, err := g.ask(ctx, node, command...)
	return err
}

// clockOffset returns by how much the clock of a server is wrong.
func (g *nodes) clockOffset(ctx context.Context, node string) (time.Duration, error) {
	before := time.Now()
	reply, err := g.ask(ctx, node, "TIME")
	if err != nil {
		return 0, err
	}
	middle := before.Add(time.Since(before) / 2)
	said := append(texts(reply), "", "")
	seconds, err1 := strconv.ParseInt(said[0], 10, 64)
	micros, err2 := strconv.ParseInt(said[1], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return 0, fmt.Errorf("%s answers TIME by %v: %w", node, reply, err)
	}
	return time.Unix(seconds, micros*1000).Sub(middle), nil
}

// identity returns the random ID that a server draws at its start.
func (g *nodes) identity(ctx context.Context, c net.Conn) (id string, err error) {
	err = service.Interrupt(ctx, c, func() error {
		info, err := exchange(c, "INFO", "server")
		id = fields(info)["run_id"]
		return err
	})
	return id, err
}
