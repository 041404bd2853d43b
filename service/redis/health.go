package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"lockbench/locks"
	"lockbench/service"
)

// Healthy returns the first defect of the cluster.
func (g *servers) Healthy(ctx context.Context) error {
	if err := service.Each(g.servers, func(n *server) error { return g.Answers(ctx, n.Name) }); err != nil {
		return err
	}
	switch {
	case g.is(Cluster):
		return g.agreed(ctx)
	case !g.replicates():
		return nil
	}
	master, err := g.onlyMaster(ctx)
	if err != nil {
		return err
	}
	if err := service.Each(g.inRole(service.Data), func(n *server) error { return g.follows(ctx, n, master) }); err != nil {
		return err
	}
	return service.Each(g.inRole(service.Witness), func(n *server) error { return g.watches(ctx, n, master) })
}

// replicates reports whether one of the data nodes is the master of the others.
func (g *servers) replicates() bool {
	return g.is(locks.Replicated) || g.is(Sentinel)
}

func (g *servers) onlyMaster(ctx context.Context) (*server, error) {
	masters := g.Leaders(ctx)
	if len(masters) != 1 {
		return nil, fmt.Errorf("there must be one master, not %d: %s", len(masters), strings.Join(masters, ", "))
	}
	if g.is(locks.Replicated) {
		service := g.Lead()
		if masters[0] != service {
			return nil, fmt.Errorf("the master is %s, but clients are led to %s", masters[0], service)
		}
	}
	return g.server(masters[0])
}

// role is the answer of a data node to ROLE.
type role struct {
	master   bool
	of, port string // the address of its master
	state    string // of the link to the master: "connected"
	replicas int    // in sync with this node
}

func roleOf(ctx context.Context, n *server) (role, error) {
	reply, err := n.Ask(ctx, "ROLE")
	if err != nil {
		return role{}, err
	}
	list, _ := reply.([]any)
	switch {
	case len(list) == 3 && list[0] == "master":
		replicas, _ := list[2].([]any)
		return role{master: true, replicas: len(replicas)}, nil
	case len(list) == 5 && list[0] == "slave":
		return role{of: fmt.Sprint(list[1]), port: fmt.Sprint(list[2]), state: fmt.Sprint(list[3])}, nil
	}
	return role{}, fmt.Errorf("%s answers ROLE by %v", n.Name, reply)
}

// follows checks that a data node is the master or follows it.
func (g *servers) follows(ctx context.Context, n, master *server) error {
	r, err := roleOf(ctx, n)
	followed, _ := g.called(r.of, r.port)
	switch {
	case err != nil:
		return err
	case n == master && r.replicas != len(g.inRole(service.Data))-1:
		return fmt.Errorf("%s, the master, has %d replicas in sync", n.Name, r.replicas)
	case n == master:
		return nil
	case followed != master:
		return fmt.Errorf("%s does not follow %s", n.Name, master.Name)
	case r.state != "connected":
		return fmt.Errorf("%s is not in sync with %s: %s", n.Name, master.Name, r.state)
	}
	return nil
}

// watches checks that a sentinel sees the whole cluster and takes all nodes for well.
func (g *servers) watches(ctx context.Context, n, master *server) error {
	name, err := g.masterOf(ctx, n)
	if err != nil {
		return err
	}
	if name != master.Name {
		return fmt.Errorf("%s takes %s for the master, not %s", n.Name, name, master.Name)
	}
	reply, err := n.Ask(ctx, "SENTINEL", "MASTER", g.master)
	if err != nil {
		return err
	}
	if flags := pairs(reply)["flags"]; flags != "master" {
		return fmt.Errorf("%s sees the master as %s", n.Name, flags)
	}
	if err := g.sees(ctx, n, "REPLICAS", "slave", len(g.inRole(service.Data))-1); err != nil {
		return err
	}
	return g.sees(ctx, n, "SENTINELS", "sentinel", len(g.inRole(service.Witness))-1)
}

// sees checks that a sentinel knows the given number of other nodes of a kind, all of them well.
func (g *servers) sees(ctx context.Context, n *server, what, flags string, count int) error {
	reply, err := n.Ask(ctx, "SENTINEL", what, g.master)
	if err != nil {
		return err
	}
	list, _ := reply.([]any)
	if len(list) != count {
		return fmt.Errorf("%s sees %d %s, not %d", n.Name, len(list), strings.ToLower(what), count)
	}
	for _, item := range list {
		other := pairs(item)
		name := other["ip"]
		if node, ok := g.called(name, other["port"]); ok {
			name = node.Name
		}
		// A sentinel remembers for five seconds that another took the master for dead, even when they
		// have agreed on a new master since.
		if strings.TrimSuffix(other["flags"], ",master_down") != flags {
			return fmt.Errorf("%s sees %s as %s", n.Name, name, other["flags"])
		}
		if link := other["master-link-status"]; flags == "slave" && link != "ok" {
			return fmt.Errorf("%s sees the link of %s to its master as %s", n.Name, name, link)
		}
	}
	return nil
}

// Leader returns the master in the view of the service itself.
func (g *servers) Leader(ctx context.Context) (string, error) {
	switch g.Topology().Name {
	case locks.Single:
		return g.servers[0].Name, nil
	case locks.Replicated:
		return g.Lead(), nil
	case Sentinel:
		return g.elected(ctx)
	case Cluster:
		return "", errors.New("a cluster has several masters: ask for that of a key")
	}
	return "", fmt.Errorf("the topology %s has no master", g.Topology().Name)
}

// elected returns the master that a majority of all sentinels name.
func (g *servers) elected(ctx context.Context) (string, error) {
	sentinels := g.inRole(service.Witness)
	var mu sync.Mutex
	votes := map[string]int{}
	err := service.Each(sentinels, func(n *server) error {
		name, err := g.masterOf(ctx, n)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			votes[name]++
		}
		return err
	})
	for name, n := range votes {
		if n > len(sentinels)/2 {
			return name, nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("no master is named by a majority of the sentinels: %w", err)
	}
	return "", fmt.Errorf("no master is named by a majority of the sentinels: they say %v", votes)
}

// masterOf queries one sentinel.
func (g *servers) masterOf(ctx context.Context, sentinel *server) (string, error) {
	reply, err := sentinel.Ask(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", g.master)
	if err != nil {
		return "", err
	}
	at := texts(reply)
	if len(at) == 2 {
		if n, ok := g.called(at[0], at[1]); ok {
			return n.Name, nil
		}
	}
	return "", fmt.Errorf("%s names a master that is none of ours: %v", sentinel.Name, reply)
}

// Leaders returns all nodes that take themselves for a master.
func (g *servers) Leaders(ctx context.Context) []string {
	data := g.inRole(service.Data)
	is := make([]bool, len(data))
	var wg sync.WaitGroup
	for i, n := range data {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
			defer cancel()
			r, err := roleOf(ctx, n)
			is[i] = err == nil && r.master
		})
	}
	wg.Wait()
	var masters []string
	for i, n := range data {
		if is[i] {
			masters = append(masters, n.Name)
		}
	}
	return masters
}
