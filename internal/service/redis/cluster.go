package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockbench/internal/service"
)

// sharded is a Redis Cluster: three masters that share the slots among them, and a replica for each:
//
//	redis-1  0 .. 5460        redis-4 follows it
//	redis-2  5461 .. 10921    redis-5
//	redis-3  10922 .. 16383   redis-6
//
// The nodes agree on the owners over a second port, the bus. If a majority of masters takes a master
// for dead, they vote its replica in.
type sharded struct{ *nodes }

// Abilities returns what these servers can do. Messages use the bus and not the replication stream, so Nudge waits for the
// master's own ping, which comes each second.
func (g *sharded) Abilities() service.Abilities {
	can := g.abilities(g.LeaderOf)
	can.Promote = func(ctx context.Context, node string) (string, error) { return g.promote(ctx, "", node, g.failOver) }
	can.FollowersOf = g.FollowersOf
	can.Nudge = func(context.Context, string) error { return nil }
	return can
}

// Leader fails.
func (g *sharded) Leader(context.Context) (string, error) {
	return "", errors.New("a cluster has several masters: ask for that of a key")
}

// Form joins new servers to a cluster.
func (g *sharded) Form(ctx context.Context) error {
	if err := g.assemble(ctx); err != nil {
		return err
	}
	return service.AwaitHealthy(ctx, g)
}

// Healthy returns the first defect of the cluster.
func (g *sharded) Healthy(ctx context.Context) error {
	if err := g.nodes.Healthy(ctx); err != nil {
		return err
	}
	return g.agreed(ctx)
}

// assemble joins new nodes to one cluster.
func (g *sharded) assemble(ctx context.Context) error {
	nodes := g.inRole(service.Data)
	masters := nodes[:len(nodes)/2]
	var commands [][]string // each after the node to which it is sent
	for i, n := range masters {
		from, to := Slots*i/len(masters), Slots*(i+1)/len(masters)-1
		commands = append(commands,
			// Each node gets an epoch before the nodes meet, or the masters would first have to resolve
			// which of them is older.
			[]string{n.Name, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i + 1)},
			[]string{n.Name, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(from), strconv.Itoa(to)})
	}
	// All nodes meet all others: by gossip alone it takes several rounds.
	for i, n := range nodes {
		for _, other := range nodes[i+1:] {
			at := g.Host.Addr(other.Name)
			commands = append(commands, []string{n.Name,
				"CLUSTER", "MEET", at.Addr().String(), fmt.Sprint(at.Port()), fmt.Sprint(busPort(at.Port()))})
		}
	}
	for _, c := range commands {
		if err := g.confirmed(ctx, c[0], c[1:]...); err != nil {
			return fmt.Errorf("assemble the cluster: %w", err)
		}
	}
	err := service.Each(nodes[len(masters):], func(n service.Node) error {
		master := masters[slices.Index(nodes, n)-len(masters)]
		// The replica must have heard of its master and of the master's slots.
		return service.Poll(ctx, func() error {
			id, err := g.ask(ctx, master.Name, "CLUSTER", "MYID")
			if err != nil {
				return err
			}
			return g.order(ctx, n.Name, "CLUSTER", "REPLICATE", fmt.Sprint(id))
		})
	})
	if err != nil {
		return fmt.Errorf("assemble the cluster: %w", err)
	}
	return nil
}

// confirmed repeats a command until a node confirms it. On a busy machine an answer can come too late; the
// node then reports that it has done it already.
func (g *sharded) confirmed(ctx context.Context, node string, command ...string) error {
	unheard := false
	return service.Poll(ctx, func() error {
		err := g.order(ctx, node, command...)
		var said ServerError
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &said):
			unheard = true
		case unheard && strings.Contains(string(said), "already"):
			return nil
		}
		return err
	})
}

// member is a node of a cluster in the view of one of the nodes.
type member struct {
	name   string // lockbench's name; empty: an unknown node
	id     string
	flags  []string
	master string // the ID of its master; empty: none
	linked bool
	slots  []string // "0-5460"
}

func (m member) is(flag string) bool { return slices.Contains(m.flags, flag) }

// has reports whether the member has a slot.
func (m member) has(slot int) bool {
	return slices.ContainsFunc(m.slots, func(s string) bool {
		from, to, ranged := strings.Cut(s, "-")
		if !ranged {
			to = from
		}
		first, err1 := strconv.Atoi(from) // a migrating slot stands in brackets
		last, err2 := strconv.Atoi(to)
		return err1 == nil && err2 == nil && first <= slot && slot <= last
	})
}

// members returns the cluster in the view of one node. A line of the answer is
//
//	id ip:port@bus[,name] flags master ping pong epoch link slots...
func (g *sharded) members(ctx context.Context, node string) ([]member, error) {
	reply, err := g.ask(ctx, node, "CLUSTER", "NODES")
	if err != nil {
		return nil, err
	}
	var all []member
	for line := range strings.Lines(fmt.Sprint(reply)) {
		words := strings.Fields(line)
		if len(words) < 8 {
			return nil, fmt.Errorf("%s answers CLUSTER NODES with %q", node, line)
		}
		m := member{id: words[0], name: g.called(placeOf(words[1])), flags: strings.Split(words[2], ","),
			linked: words[7] == "connected", slots: words[8:]}
		if words[3] != "-" {
			m.master = words[3]
		}
		all = append(all, m)
	}
	return all, nil
}

// placeOf returns the host and the port of "ip:port@bus,name".
func placeOf(text string) (host, port string) {
	at, _, _ := strings.Cut(text, "@")
	i := strings.LastIndex(at, ":")
	return at[:max(i, 0)], at[i+1:]
}

// agreed checks that every node sees all others well, and that all have the same view.
func (g *sharded) agreed(ctx context.Context) error {
	nodes := g.inRole(service.Data)
	views, err := service.AskAll(ctx, nodes, func(ctx context.Context, node string) (string, error) {
		info, err := g.ask(ctx, node, "CLUSTER", "INFO")
		if err != nil {
			return "", err
		}
		if !strings.Contains(fmt.Sprint(info), "cluster_state:ok") {
			return "", fmt.Errorf("%s reports that the cluster is not well", node)
		}
		members, err := g.members(ctx, node)
		if err != nil {
			return "", err
		}
		return viewOf(node, members, len(nodes))
	})
	if err != nil {
		return err
	}
	for _, n := range nodes[1:] {
		if first := nodes[0].Name; views[n.Name] != views[first] {
			return fmt.Errorf("%s and %s do not agree on who has what", first, n.Name)
		}
	}
	return service.Each(nodes, func(n service.Node) error { return g.inSync(ctx, n.Name) })
}

// viewOf returns the view of one node as text (the owners of slots and the masters of replicas), or the first defect
// in it.
func viewOf(by string, members []member, count int) (string, error) {
	if len(members) != count {
		return "", fmt.Errorf("%s sees %d nodes, not %d", by, len(members), count)
	}
	names := map[string]string{}
	for _, m := range members {
		names[m.id] = m.name
	}
	var view []string
	followed := map[string]bool{}
	for _, m := range members {
		for _, bad := range []string{"fail", "fail?", "handshake", "noaddr"} {
			if m.is(bad) {
				return "", fmt.Errorf("%s sees %s as %s", by, m.name, strings.Join(m.flags, ","))
			}
		}
		if !m.linked {
			return "", fmt.Errorf("%s is not connected to %s", by, m.name)
		}
		if m.master != "" {
			followed[m.master] = true
		}
		view = append(view, fmt.Sprintf("%s %s %v", m.name, names[m.master], m.slots))
	}
	for _, m := range members {
		switch {
		case m.is("master") && len(m.slots) > 0 && !followed[m.id]:
			return "", fmt.Errorf("%s sees no replica follow %s", by, m.name)
		case m.is("master") && len(m.slots) == 0:
			return "", fmt.Errorf("%s sees %s as a master without slots", by, m.name)
		}
	}
	slices.Sort(view)
	return strings.Join(view, "; "), nil
}

// inSync checks that a replica is connected to its master, and that a master has a replica.
func (g *sharded) inSync(ctx context.Context, node string) error {
	r, err := g.role(ctx, node)
	switch {
	case err != nil:
		return err
	case r.master && r.replicas == 0:
		return fmt.Errorf("%s, a master, has no replica in sync", node)
	case !r.master && r.state != "connected":
		return fmt.Errorf("%s is not in sync with its master: %s", node, r.state)
	}
	return nil
}

// LeaderOf returns the master of a key in the view of most nodes that answer.
func (g *sharded) LeaderOf(ctx context.Context, key string) (string, error) {
	slot := Slot(g.prefix + key)
	name, err := g.most(ctx, func(members []member) []string {
		for _, m := range members {
			if m.has(slot) {
				return []string{m.name}
			}
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("find the master of %q (slot %d): %w", key, slot, err)
	}
	return name[0], nil
}

// FollowersOf returns the replicas of a master in the view of most nodes that answer.
func (g *sharded) FollowersOf(ctx context.Context, master string) ([]string, error) {
	names, err := g.most(ctx, func(members []member) []string {
		i := slices.IndexFunc(members, func(m member) bool { return m.name == master })
		if i < 0 {
			return nil
		}
		var names []string
		for _, m := range members {
			if m.master == members[i].id {
				names = append(names, m.name)
			}
		}
		slices.Sort(names)
		return names
	})
	if err != nil {
		return nil, fmt.Errorf("find the replicas of %s: %w", master, err)
	}
	return names, nil
}

// most returns the answer of more than half of the nodes that answer.
func (g *sharded) most(ctx context.Context, of func([]member) []string) ([]string, error) {
	answers, _ := service.AskAll(ctx, g.inRole(service.Data), g.members)
	votes := map[string]int{}
	for _, members := range answers {
		if names := of(members); len(names) > 0 {
			votes[strings.Join(names, " ")]++
		}
	}
	if names, ok := service.Majority(votes, len(answers)); ok {
		return strings.Fields(names), nil
	}
	if len(answers) == 0 {
		return nil, errors.New("no node answers")
	}
	return nil, fmt.Errorf("no majority of the %d nodes that answer names one: they say %v", len(answers), votes)
}

// failOver makes a replica the master of its slots, without waiting for writes that the present
// master has not sent yet.
func (g *sharded) failOver(ctx context.Context, chosen string) (string, error) {
	if chosen == "" {
		return "", errors.New("a cluster has several masters: name the replica that is to take over")
	}
	if err := g.order(ctx, chosen, "CLUSTER", "FAILOVER", "FORCE"); err != nil {
		return "", err
	}
	return chosen, service.Poll(ctx, func() error {
		members, err := g.members(ctx, chosen)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(members, func(m member) bool { return m.is("myself") && m.is("master") && len(m.slots) > 0 }) {
			return fmt.Errorf("%s was not voted in yet", chosen)
		}
		return nil
	})
}
