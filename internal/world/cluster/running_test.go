//go:build linux

package cluster

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/internal/world/proxy"
)

// notes are links that note how they were changed.
type notes struct {
	Links
	all []string
}

func (n *notes) SetLinks(_ context.Context, links []world.Link, s world.LinkState) error {
	n.all = append(n.all, fmt.Sprint(links, " cut ", s.Cut))
	return nil
}

func (n *notes) Ping(_ context.Context, from, to string) error {
	n.all = append(n.all, fmt.Sprintf("ping %s from %s", to, from))
	return nil
}

// The proxy breaks the links of clients, and the world those between nodes.
func TestLinksBetweenNodes(t *testing.T) {
	between := &notes{}
	c := &Cluster{Links: between, Net: proxy.New(proxy.Options{})}
	defer c.Net.Close()
	for _, name := range []string{"redis-1", "redis-2"} {
		c.Machines.Add(service.Node{Name: name}, idle{}, nil)
		if err := c.Net.AddNode(proxy.Node{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Net.AddClient("client-1", netip.Addr{}); err != nil {
		t.Fatal(err)
	}
	client := []world.Link{{From: "client-1", To: "redis-1"}}
	nodes := []world.Link{{From: "redis-1", To: "redis-2"}}
	for _, cut := range []bool{true, false} {
		for _, links := range [][]world.Link{client, nodes, slices.Concat(client, nodes)} {
			if err := c.SetLinks(t.Context(), links, world.LinkState{Cut: cut}); err != nil {
				t.Error(err)
			}
		}
	}
	if err := c.Ping(t.Context(), "redis-1", "redis-2", 0); err != nil {
		t.Error(err)
	}
	want := fmt.Sprintf("%v cut true %[1]v cut true %[1]v cut false %[1]v cut false ping redis-2 from redis-1", nodes)
	if got := fmt.Sprint(between.all); got != "["+want+"]" {
		t.Errorf("the links were changed by %s, want [%s]", got, want)
	}
	if err := c.SetLinks(t.Context(), []world.Link{{From: "client-2", To: "redis-1"}}, world.LinkState{Cut: true}); err == nil {
		t.Error("a link of a client that does not exist was cut")
	}
}
