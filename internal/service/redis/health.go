package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"lockbench/internal/service"
	"lockbench/locks"
)

// leadersLimit bounds how long Leaders waits for nodes that do not answer.
const leadersLimit = 500 * time.Millisecond

// Answers asks a server for a sign of life, past all faults.
func (g *servers) Answers(ctx context.Context, node string) error {
	reply, err := g.ask(ctx, node, "PING")
	if err == nil && reply != "PONG" {
		err = fmt.Errorf("%s answers PING by %v", node, reply)
	}
	return err
}

// Healthy returns the first defect of the cluster.
func (g *servers) Healthy(ctx context.Context) error {
	if err := service.Each(g.Nodes(), func(n service.Node) error { return g.Answers(ctx, n.Name) }); err != nil {
		return err
	}
	switch {
	case g.is(locks.Cluster):
		return g.agreed(ctx)
	case !g.is(locks.Replicated) && !g.is(locks.Sentinel):
		return nil
	}
	masters := g.Leaders(ctx)
	if len(masters) != 1 {
		return fmt.Errorf("there must be one master, not %d: %s", len(masters), strings.Join(masters, ", "))
	}
	master := masters[0]
	if lead := g.Lead(); g.is(locks.Replicated) && master != lead {
		return fmt.Errorf("the master is %s, but clients are led to %s", master, lead)
	}
	if err := service.Each(g.inRole(service.Data), func(n service.Node) error { return g.follows(ctx, n.Name, master) }); err != nil {
		return err
	}
	return service.Each(g.inRole(service.Witness), func(n service.Node) error { return g.watches(ctx, n.Name, master) })
}

// role is the answer of a data node to ROLE.
type role struct {
	master   bool
	of       string // its master; empty: unknown
	state    string // of the link to the master: "connected"
	replicas int    // in sync with this node
}

func (g *servers) role(ctx context.Context, node string) (role, error) {
	reply, err := g.ask(ctx, node, "ROLE")
	if err != nil {
		return role{}, err
	}
	list, _ := reply.([]any)
	switch {
	case len(list) == 3 && list[0] == "master":
		replicas, _ := list[2].([]any)
		return role{master: true, replicas: len(replicas)}, nil
	case len(list) == 5 && list[0] == "slave":
		return role{of: g.called(fmt.Sprint(list[1]), fmt.Sprint(list[2])), state: fmt.Sprint(list[3])}, nil
	}
	return role{}, fmt.Errorf("%s answers ROLE by %v", node, reply)
}

// follows checks that a data node is the master or follows it.
func (g *servers) follows(ctx context.Context, node, master string) error {
	r, err := g.role(ctx, node)
	switch {
	case err != nil:
		return err
	case node == master && r.replicas != len(g.inRole(service.Data))-1:
		return fmt.Errorf("%s, the master, has %d replicas in sync", node, r.replicas)
	case node == master:
		return nil
	case r.of != master:
		return fmt.Errorf("%s does not follow %s", node, master)
	case r.state != "connected":
		return fmt.Errorf("%s is not in sync with %s: %s", node, master, r.state)
	}
	return nil
}

// watches checks that a sentinel sees the whole cluster, and no node as defective.
func (g *servers) watches(ctx context.Context, sentinel, master string) error {
	name, err := g.masterOf(ctx, sentinel)
	if err != nil {
		return err
	}
	if name != master {
		return fmt.Errorf("%s takes %s for the master, not %s", sentinel, name, master)
	}
	reply, err := g.ask(ctx, sentinel, "SENTINEL", "MASTER", g.master)
	if err != nil {
		return err
	}
	if flags := pairs(reply)["flags"]; flags != "master" {
		return fmt.Errorf("%s sees the master as %s", sentinel, flags)
	}
	if err := g.sees(ctx, sentinel, "REPLICAS", "slave", len(g.inRole(service.Data))-1); err != nil {
		return err
	}
	return g.sees(ctx, sentinel, "SENTINELS", "sentinel", len(g.inRole(service.Witness))-1)
}

// sees checks that a sentinel knows the given number of other nodes of a kind, and none as defective.
func (g *servers) sees(ctx context.Context, sentinel, what, flags string, count int) error {
	others, err := g.seen(ctx, sentinel, what)
	if err != nil {
		return err
	}
	if len(others) != count {
		return fmt.Errorf("%s sees %d %s, not %d", sentinel, len(others), strings.ToLower(what), count)
	}
	for _, other := range others {
		name := g.called(other["ip"], other["port"])
		if name == "" {
			name = other["ip"]
		}
		// A sentinel remembers for five seconds that another took the master for dead, even when they
		// have agreed on a new master since.
		if strings.TrimSuffix(other["flags"], ",master_down") != flags {
			return fmt.Errorf("%s sees %s as %s", sentinel, name, other["flags"])
		}
		if link := other["master-link-status"]; flags == "slave" && link != "ok" {
			return fmt.Errorf("%s sees the link of %s to its master as %s", sentinel, name, link)
		}
	}
	return nil
}

// seen returns the REPLICAS or the SENTINELS that a sentinel knows.
func (g *servers) seen(ctx context.Context, sentinel, what string) ([]map[string]string, error) {
	reply, err := g.ask(ctx, sentinel, "SENTINEL", what, g.master)
	return lists(reply), err
}

// Leader returns the master in the view of the service itself.
func (g *servers) Leader(ctx context.Context) (string, error) {
	switch g.Topology().Name {
	case locks.Single:
		return g.Nodes()[0].Name, nil
	case locks.Replicated:
		return g.Lead(), nil
	case locks.Sentinel:
		return g.elected(ctx)
	case locks.Cluster:
		return "", errors.New("a cluster has several masters: ask for that of a key")
	}
	return "", fmt.Errorf("the topology %s has no master", g.Topology().Name)
}

// elected returns the master that a majority of all sentinels name.
func (g *servers) elected(ctx context.Context) (string, error) {
	sentinels := g.inRole(service.Witness)
	named, err := service.AskAll(ctx, sentinels, g.masterOf)
	votes := map[string]int{}
	for _, name := range named {
		votes[name]++
	}
	if name, ok := service.Majority(votes, len(sentinels)); ok {
		return name, nil
	}
	if err != nil {
		return "", fmt.Errorf("no master is named by a majority of the sentinels: %w", err)
	}
	return "", fmt.Errorf("no master is named by a majority of the sentinels: they say %v", votes)
}

// masterOf returns the master in the view of one sentinel.
func (g *servers) masterOf(ctx context.Context, sentinel string) (string, error) {
	reply, err := g.ask(ctx, sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", g.master)
	if err != nil {
		return "", err
	}
	if at := texts(reply); len(at) == 2 {
		if name := g.called(at[0], at[1]); name != "" {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s names a master that is not a node of this cluster: %v", sentinel, reply)
}

// Leaders returns all nodes that take themselves for a master.
func (g *servers) Leaders(ctx context.Context) []string {
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
