package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"lockbench/internal/service"
)

// replicated is a master with replicas and no failover manager: lockbench decides which node is the master, and an address for
// clients leads there.
type replicated struct {
	*nodes

	mu   sync.Mutex
	lead string // the node at the address for clients
}

// Abilities returns what these servers can do.
func (g *replicated) Abilities() service.Abilities {
	can := g.abilities(func(ctx context.Context, _ string) (string, error) { return g.Leader(ctx) })
	can.Promote = func(ctx context.Context, node string) (string, error) {
		return g.promote(ctx, g.Lead(), node, g.promoteByHand)
	}
	return can
}

// Lead returns the node at the address for clients.
func (g *replicated) Lead() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lead
}

// Leader returns the same node.
func (g *replicated) Leader(context.Context) (string, error) { return g.Lead(), nil }

// Form waits for new servers.
func (g *replicated) Form(ctx context.Context) error { return service.AwaitHealthy(ctx, g) }

// Healthy returns the first defect of the servers.
func (g *replicated) Healthy(ctx context.Context) error {
	master, err := g.oneMaster(ctx)
	if err != nil {
		return err
	}
	if lead := g.Lead(); master != lead {
		return fmt.Errorf("the master is %s, but clients are led to %s", master, lead)
	}
	return g.allFollow(ctx, master)
}

// oneMaster returns the only node that takes itself for a master, if all nodes answer.
func (g *nodes) oneMaster(ctx context.Context) (string, error) {
	if err := g.Healthy(ctx); err != nil {
		return "", err
	}
	masters := g.Leaders(ctx)
	if len(masters) != 1 {
		return "", fmt.Errorf("there must be one master, not %d: %s", len(masters), strings.Join(masters, ", "))
	}
	return masters[0], nil
}

// allFollow checks that each data node is the master or follows it.
func (g *nodes) allFollow(ctx context.Context, master string) error {
	return service.Each(g.inRole(service.Data), func(n service.Node) error { return g.follows(ctx, n.Name, master) })
}

// follows checks that a data node is the master or follows it.
func (g *nodes) follows(ctx context.Context, node, master string) error {
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

// Resumed makes a server that was paused follow the present master. Without sentinels, it has not
// heard of a promotion.
func (g *replicated) Resumed(ctx context.Context, node string) error {
	return g.rejoin(ctx, node)
}

// promote checks the order to make a replica the master, and lets do carry it out. An empty replica is one that do picks.
func (g *nodes) promote(ctx context.Context, master, replica string, do func(ctx context.Context, replica string) (string, error)) (string, error) {
	switch {
	case replica == "":
	case !slices.ContainsFunc(g.inRole(service.Data), func(n service.Node) bool { return n.Name == replica }):
		return "", fmt.Errorf("promote %s: there is no such replica in this cluster", replica)
	case replica == master:
		return "", fmt.Errorf("promote %s: it is the master already", replica)
	}
	now, err := do(ctx, replica)
	if err != nil {
		return "", fmt.Errorf("promote a replica: %w", err)
	}
	return now, nil
}

// promoteByHand does the work of an operator: one replica becomes the master, the address of the
// service moves to it, and the others follow it. A dead old master follows by its configuration, and a
// paused one after it was resumed.
func (g *replicated) promoteByHand(ctx context.Context, chosen string) (string, error) {
	if chosen == "" {
		var err error
		if chosen, err = g.furthest(ctx); err != nil {
			return "", err
		}
	}
	if err := g.replicaOf(ctx, chosen, "NO", "ONE"); err != nil {
		return "", err
	}
	g.mu.Lock()
	g.lead = chosen
	g.mu.Unlock()
	if err := g.Host.Lead(chosen); err != nil {
		return "", err
	}
	return chosen, service.Each(g.inRole(service.Data), func(n service.Node) error {
		switch s := g.Host.Status(n.Name); {
		case n.Name != chosen && !s.Running:
			return g.Host.Follow(n.Name, g.Host.Addr(chosen))
		case s.Paused:
			return nil
		}
		return g.rejoin(ctx, n.Name)
	})
}

// rejoin makes a node follow the master at the address for clients.
func (g *replicated) rejoin(ctx context.Context, node string) error {
	master := g.Lead()
	if node == master {
		return nil
	}
	at := g.Host.Addr(master)
	return g.replicaOf(ctx, node, at.Addr().String(), fmt.Sprint(at.Port()))
}

// replicaOf makes a node follow another, also after it was started again.
func (g *replicated) replicaOf(ctx context.Context, node, host, port string) error {
	if err := g.order(ctx, node, "REPLICAOF", host, port); err != nil {
		return err
	}
	return g.order(ctx, node, "CONFIG", "REWRITE")
}

// furthest returns the replica that has applied most.
func (g *replicated) furthest(ctx context.Context) (string, error) {
	offsets, best := g.offsets(ctx), ""
	for _, n := range g.inRole(service.Data) {
		if at, ok := offsets[n.Name]; ok && n.Name != g.Lead() && (best == "" || at > offsets[best]) {
			best = n.Name
		}
	}
	if best == "" {
		return "", errors.New("no replica answers")
	}
	return best, nil
}
