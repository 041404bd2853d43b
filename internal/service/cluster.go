package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// Cluster is the nodes of one running cluster. It decides who leads and whether the cluster is
// healthy from the states of its nodes, past all faults. A service embeds it in its servers, and
// replaces the methods for which its clusters differ.
type Cluster struct {
	Host     Host
	topology Topology
	state    func(ctx context.Context, node string) (State, error)

	mu  sync.Mutex
	ids map[string]string // names of nodes by the IDs that they had last
}

// State is what a node reports about itself and its cluster.
type State struct {
	// ID is what the nodes call this node in Leader; empty: its name.
	ID string
	// Leader is the ID of the leader that the node follows, or of the node itself if it leads;
	// empty if the node knows no leader, or if nodes of the service do not name their leader.
	Leader string
	// Leads reports that the node takes itself for the leader, and Term counts the leaderships
	// where nodes do not name their leader.
	Leads bool
	Term  uint64
	// Lacks is why the node does not serve as a member of a healthy cluster does; nil if it does.
	Lacks error
}

// NewCluster returns the cluster of a topology. State reports the state of one node; it is nil in
// services that replace all methods that need it.
func NewCluster(t Topology, h Host, state func(ctx context.Context, node string) (State, error)) *Cluster {
	c := &Cluster{Host: h, topology: t, state: state, ids: map[string]string{}}
	for _, n := range c.Nodes() {
		c.ids[n.Name] = n.Name
	}
	return c
}

// Nodes returns all nodes.
func (c *Cluster) Nodes() []Node { return c.topology.Nodes() }

// Others returns the names of all other nodes.
func (c *Cluster) Others(node string) []string {
	var names []string
	for _, n := range c.Nodes() {
		if n.Name != node {
			names = append(names, n.Name)
		}
	}
	return names
}

// Topology returns how the nodes are joined.
func (c *Cluster) Topology() Topology { return c.topology }

// Params returns nil: clients need only addresses.
func (c *Cluster) Params() map[string]string { return nil }

// Lead returns the empty name: no address follows the leader.
func (c *Cluster) Lead() string { return "" }

// The methods below have nothing to do: a node finds the others by its files, and each question has its
// own connection.
func (c *Cluster) Abilities() Abilities                         { return Abilities{} }
func (c *Cluster) Form(context.Context) error                   { return nil }
func (c *Cluster) Started(context.Context, string) error        { return nil }
func (c *Cluster) Resumed(context.Context, string) error        { return nil }
func (c *Cluster) Rejoin(context.Context, string) (bool, error) { return false, nil }
func (c *Cluster) Operate(context.Context)                      {}
func (c *Cluster) Close() error                                 { return nil }

// AskLimit bounds one question to a server. It is generous, because a busy machine is slow.
const AskLimit = 2 * time.Second

// Ask runs do with a new connection to a node, past all faults, and interrupts it at the limit.
func (c *Cluster) Ask(ctx context.Context, node string, limit time.Duration, do func(context.Context, net.Conn) error) error {
	if s := c.Host.Status(node); s.Why != nil {
		return fmt.Errorf("%s: %w", node, s.Why)
	}
	return ask(ctx, node, limit, func(ctx context.Context) (net.Conn, error) { return c.Host.Dial(ctx, node) }, do)
}

// Interrupt runs do, and makes its reads and writes on a connection fail when ctx ends.
func Interrupt(ctx context.Context, c net.Conn, do func() error) error {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	err := do()
	if ctx.Err() != nil {
		return fmt.Errorf("no answer: %w", ctx.Err())
	}
	return err
}

// AskAll asks all nodes at the same time and returns the answers by the names of the nodes. The
// error is why other nodes did not answer.
func AskAll[T any](ctx context.Context, nodes []Node, ask func(ctx context.Context, node string) (T, error)) (map[string]T, error) {
	var mu sync.Mutex
	answers := map[string]T{}
	err := Each(nodes, func(n Node) error {
		answer, err := ask(ctx, n.Name)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		answers[n.Name] = answer
		return nil
	})
	return answers, err
}

// states returns the states of the nodes that answer, and why others do not.
func (c *Cluster) states(ctx context.Context) (map[string]State, error) {
	all, err := AskAll(ctx, c.Nodes(), c.state)
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, s := range all {
		if s.ID == "" {
			s.ID = name
		}
		all[name], c.ids[s.ID] = s, name
	}
	return all, err
}

// named returns the node that has an ID, or had it when it answered last.
func (c *Cluster) named(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ids[id]
}

// leading returns the nodes that take themselves for the leader, in the order of the nodes.
func (c *Cluster) leading(all map[string]State) []string {
	var names []string
	for _, n := range c.Nodes() {
		if all[n.Name].Leads {
			names = append(names, n.Name)
		}
	}
	return names
}

// Leaders returns all nodes that take themselves for the leader.
func (c *Cluster) Leaders(ctx context.Context) []string {
	all, _ := c.states(ctx)
	return c.leading(all)
}

// Leader returns the only node, the node that a majority names, or if nodes name no leader, the node
// that became the leader last.
func (c *Cluster) Leader(ctx context.Context) (string, error) {
	if nodes := c.Nodes(); len(nodes) == 1 {
		return nodes[0].Name, nil
	}
	all, err := c.states(ctx)
	votes := map[string]int{}
	for _, s := range all {
		if s.Leader != "" {
			votes[s.Leader]++
		}
	}
	if id, ok := Majority(votes, len(c.Nodes())); ok && c.named(id) != "" {
		return c.named(id), nil
	}
	newest := ""
	for _, name := range c.leading(all) {
		if s := all[name]; s.Leader == "" && (newest == "" || s.Term > all[newest].Term) {
			newest = name
		}
	}
	if newest == "" {
		return "", errors.Join(fmt.Errorf("no leader is known to a majority of the nodes: they name %d", len(votes)), err)
	}
	return newest, nil
}

// Majority returns the name for which more than half of all voted.
func Majority(votes map[string]int, all int) (string, bool) {
	for name, n := range votes {
		if n > all/2 {
			return name, true
		}
	}
	return "", false
}

// Healthy returns nil if all nodes answer and lack nothing, one of them leads, and no node names
// another leader.
func (c *Cluster) Healthy(ctx context.Context) error {
	all, err := c.states(ctx)
	if err != nil {
		return err
	}
	for _, n := range c.Nodes() {
		if s := all[n.Name]; s.Lacks != nil {
			return fmt.Errorf("%s %w", n.Name, s.Lacks)
		}
	}
	leaders := c.leading(all)
	switch len(leaders) {
	case 0:
		return errors.New("no node leads")
	case 1:
	default:
		return fmt.Errorf("%d nodes lead: %s", len(leaders), strings.Join(leaders, ", "))
	}
	for _, n := range c.Nodes() {
		if id := all[n.Name].Leader; id != "" && id != all[leaders[0]].ID {
			return fmt.Errorf("%s takes %s for the leader, and %s leads", n.Name, cmp.Or(c.named(id), id), leaders[0])
		}
	}
	return nil
}
