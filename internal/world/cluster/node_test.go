//go:build linux

package cluster

import (
	"context"
	"net/netip"
	"sync"
	"testing"

	"lockbench/internal/service"
	"lockbench/internal/service/redis"
	"lockbench/internal/world"
	"lockbench/locks"
)

// idle is a machine on which nothing runs.
type idle struct{ Machine }

func (idle) Write(context.Context, map[string]string) error      { return nil }
func (idle) Launch(context.Context, service.Program, bool) error { return nil }

// TestFollowWhileLaunching: a failover manager changes the leader of a node while a fault starts it. The race
// detector reports it if they do not wait for each other.
func TestFollowWhileLaunching(t *testing.T) {
	on, _ := service.Find(redis.Service, locks.Replicated)
	c := &Machines{spec: world.Spec{Service: redis.Service, Topology: on}}
	is := on.Nodes()[0]
	c.Add(is, idle{}, &service.Place{Node: is, Topology: on, Config: "/lb", Data: "/lb/data"})
	n := c.nodes[0]
	leader := netip.MustParseAddrPort("10.0.0.1:6379")
	var all sync.WaitGroup
	for _, do := range []func() error{
		func() error { return n.launch(t.Context(), false) },
		func() error { return c.Follow(is.Name, leader) },
		func() error { return n.move(t.Context(), func(p *service.Place) { p.Rejoins = true }) },
	} {
		all.Go(func() {
			for range 100 { // or they may be kept apart by chance
				if err := do(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n.place.Leader == nil || *n.place.Leader != leader || !n.place.Rejoins {
		t.Errorf("the node ended with the leader %v, rejoins %t", n.place.Leader, n.place.Rejoins)
	}
}

// A node without a place is external: it cannot be made to follow another.
func TestExternalDoesNotFollow(t *testing.T) {
	c := &Machines{}
	c.Add(service.Node{Name: "redis-1"}, idle{}, nil)
	if err := c.Follow("redis-1", netip.AddrPort{}); err == nil {
		t.Error("an external server follows")
	}
}
