package sim

import (
	"context"
	"fmt"

	"lockbench/internal/world"
)

// The methods in this file are documented at [world.Cluster].

// Kill kills a node. Data that it has not sent yet is lost.
func (c *cluster) Kill(_ context.Context, name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	n.shut()
	// A killed process is no longer stopped.
	c.net.thaw(name)
	return nil
}

func (c *cluster) Start(_ context.Context, name string, keepData bool) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	if n.alive() {
		return fmt.Errorf("start %s: it is running", name)
	}
	n.boot(keepData)
	return nil
}

func (c *cluster) LosePower(_ context.Context, name string, _ world.Names) (lost string, err error) {
	n, err := c.node(name)
	if err != nil {
		return "", err
	}
	if n.alive() {
		return "", fmt.Errorf("cut %s off from power: it is running", name)
	}
	return n.server.LosePower(), nil
}

// PauseNode stops a node. Its connections stay open, and nothing moves on them.
func (c *cluster) PauseNode(_ context.Context, name string) error {
	if _, err := c.node(name); err != nil {
		return err
	}
	c.net.freeze(name)
	return nil
}

func (c *cluster) ResumeNode(_ context.Context, name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	c.net.thaw(name)
	n.server.Resumed()
	return nil
}

// SetLinks sets what happens on links. The connections of a link share its rate.
func (c *cluster) SetLinks(_ context.Context, links []world.Link, s world.LinkState) error {
	for _, p := range c.net.set(links, s) {
		p.resetSoon()
	}
	return nil
}

func (c *cluster) Ping(ctx context.Context, from, to string, load int) error {
	n, err := c.node(to)
	if err != nil {
		return err
	}
	there, back := world.Link{From: from, To: to}, world.Link{From: to, To: from}
	c.net.mu.Lock()
	c.net.probes[there]++
	id := fmt.Sprintf("probe/%s/%d", there, c.net.probes[there])
	c.net.mu.Unlock()
	first := class(classProbes + 2*(hash(id)%((classConnections-classProbes)/2)))
	heard := make(chan struct{})
	down := c.net.newLane(back, id+"/down", first+1, 1, func(parcel) { close(heard) })
	up := c.net.newLane(there, id+"/up", first, 1, func(parcel) {
		if n.alive() {
			down.send(parcel{load: load})
		}
	})
	// The probe is independent of the client or node from, which may be stopped.
	up.past, down.toward = true, true
	defer up.end()
	defer down.end()
	up.send(parcel{load: load})
	select {
	case <-heard:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("ping %s from %s: %w", to, from, context.Cause(ctx))
	}
}

func (c *cluster) Reset(_ context.Context, links []world.Link) (int, error) {
	ends := map[world.Link]bool{}
	for _, l := range links {
		ends[l], ends[world.Link{From: l.To, To: l.From}] = true, true
	}
	all := c.net.pairsWith(func(at slot) bool { return ends[world.Link{From: at.client, To: at.node}] })
	for _, p := range all {
		p.resetSoon()
	}
	return len(all), nil
}
