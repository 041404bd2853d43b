package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/service"
)

// This file has the faults that are orders of an operator to servers: they act past all faults, and the servers
// themselves say that the order was carried out.

// takes reports whether the servers in a role take an order.
func takes(name, target string, c world.Cluster) error {
	if err := roleAvailable(target, c); err != nil {
		return err
	}
	if ofClients(target) {
		return errors.New(canonical(target) + " is no server")
	}
	if _, ok := world.Order(c, name); !ok {
		return errors.New("these servers take no such order")
	}
	return nil
}

// send sends an order to nodes, to all at once.
func send(ctx context.Context, s Scene, name string, nodes []string, to service.OrderArgs) error {
	order, ok := world.Order(s.Cluster, name)
	if !ok {
		return errors.New("these servers take no such order")
	}
	return each(nodes, func(node string) error {
		to := to
		to.Node = node
		return order(ctx, to)
	})
}

// order sends an order without an undo to the servers in a role.
func order(ctx context.Context, s Scene, name, target, text string) (Undo, error) {
	targets, err := resolve(ctx, target, s)
	if err != nil {
		return nil, err
	}
	s.Begin(targets, strings.Join(targets, ", ")+" "+text)
	return Nothing, send(ctx, s, name, targets, service.OrderArgs{})
}

// Flush makes servers forget everything, as FLUSHALL does: by mistake, in a test that uses the wrong server, or in
// a script that clears a cache.
type Flush struct{ Target string }

func newFlush(s Step) (Fault, error) { return Flush{Target: s.Target}, nil }

func (f Flush) String() string { return "flush " + f.Target }

// Effect states that it removes what servers keep and leaves connections alone.
func (Flush) Effect() []string { return []string{history.EffectData} }

// Available asks for servers that take the order.
func (f Flush) Available(c world.Cluster) error { return takes(service.OrderFlush, f.Target, c) }

// Inject returns when a key of lockbench's own is gone. Nothing brings it back.
func (f Flush) Inject(ctx context.Context, s Scene) (Undo, error) {
	return order(ctx, s, service.OrderFlush, f.Target, "forgets everything")
}

// Evict makes servers remove all keys that have an end, as a server does that has run out of memory with the
// policy volatile-random. Keys without an end stay, such as a counter of fencing tokens.
type Evict struct{ Target string }

func newEvict(s Step) (Fault, error) { return Evict{Target: s.Target}, nil }

func (f Evict) String() string { return "evict keys at " + f.Target }

// Effect states that it removes what servers keep and leaves connections alone.
func (Evict) Effect() []string { return []string{history.EffectData} }

// Available asks for servers that take the order.
func (f Evict) Available(c world.Cluster) error { return takes(service.OrderEvict, f.Target, c) }

// Inject returns when a key of lockbench's own is gone. Nothing brings it back.
func (f Evict) Inject(ctx context.Context, s Scene) (Undo, error) {
	return order(ctx, s, service.OrderEvict, f.Target, "throws keys away")
}

// DropSubscribers ends the connections of all clients that listen for messages of a server. A message that is
// published before they are back reaches none of them: a lock that wakes its waiters by messages must look again
// after it has reconnected, or it sleeps through a release.
type DropSubscribers struct{ Target string }

func newDropSubscribers(s Step) (Fault, error) { return DropSubscribers{Target: s.Target}, nil }

func (f DropSubscribers) String() string { return "drop subscribers of " + f.Target }

// Effect states that it ends connections of all clients.
func (DropSubscribers) Effect() []string { return []string{history.EffectDisconnectAll} }

// Available asks for servers that take the order.
func (f DropSubscribers) Available(c world.Cluster) error {
	return takes(service.OrderDropSubscribers, f.Target, c)
}

// Inject returns when the server has ended the connections. Clients reconnect by themselves. It is not an error
// if no client listens.
func (f DropSubscribers) Inject(ctx context.Context, s Scene) (Undo, error) {
	return order(ctx, s, service.OrderDropSubscribers, f.Target, "ends subscriptions")
}

// Poison puts a value of another type in the place of the holder's key, as a program does that uses the same
// name. The server answers the requests of the lock with errors until the value is removed.
type Poison struct{ Target string }

func newPoison(s Step) (Fault, error) { return Poison{Target: s.Target}, nil }

func (f Poison) String() string { return "poison the holder's key at " + f.Target }

// Effect states that it changes what servers keep and leaves connections alone.
func (Poison) Effect() []string { return []string{history.EffectData} }

// Available asks for servers that take the order.
func (f Poison) Available(c world.Cluster) error { return takes(service.OrderPoison, f.Target, c) }

// Inject returns when the servers have answered.
func (f Poison) Inject(ctx context.Context, s Scene) (Undo, error) {
	h, ok := holder(s)
	if !ok {
		return nil, errors.New("nobody holds a lock now, so no key is to be poisoned")
	}
	targets, err := resolve(ctx, f.Target, s)
	if err != nil {
		return nil, err
	}
	s.Begin(targets, fmt.Sprintf("a list in the place of %q", h.Key))
	keys := make([]string, len(targets))
	for i, node := range targets {
		keys[i] = node + "/" + h.Key
	}
	to := service.OrderArgs{Key: h.Key}
	return s.stand(ctx, standing{
		way: poisoned, names: keys,
		strike: func() error { return send(ctx, s, service.OrderPoison, targets, to) },
		mend: func(ctx context.Context, last []string) error {
			var nodes []string
			for _, at := range last {
				nodes = append(nodes, strings.TrimSuffix(at, "/"+h.Key))
			}
			return send(ctx, s, service.OrderCure, nodes, to)
		},
	})
}

// The bounds of Busy: no probe sees a shorter time, and healing after a longer one would exceed the limit of an
// undo.
const (
	busyMin = time.Second
	busyMax = 15 * time.Second
)

// Busy keeps servers busy with something else, such as a long script. They answer no client meanwhile and every
// request afterwards, and nothing ends it sooner.
type Busy struct {
	Target string
	By     time.Duration
}

func newBusy(s Step) (Fault, error) {
	by, err := time.ParseDuration(s.Options["by"])
	if err != nil || by < busyMin || by > busyMax {
		return nil, fmt.Errorf("by: %q is no duration from %s to %s, such as 2s", s.Options["by"], busyMin, busyMax)
	}
	return Busy{s.Target, by}, nil
}

func (f Busy) String() string { return fmt.Sprintf("keep %s busy by %s", f.Target, f.By) }

// Effect states that it delays requests, perhaps until clients give up the connection.
func (Busy) Effect() []string { return []string{history.EffectDelays, history.EffectDisconnects} }

// Available asks for servers that take the order.
func (f Busy) Available(c world.Cluster) error { return takes(service.OrderBusy, f.Target, c) }

// Inject returns when a client's PING is not answered; the undo returns when it is again.
func (f Busy) Inject(ctx context.Context, s Scene) (Undo, error) {
	targets, err := resolve(ctx, f.Target, s)
	if err != nil {
		return nil, err
	}
	s.Begin(targets, strings.Join(targets, ", ")+" busy for "+f.By.String())
	return s.stand(ctx, s.silencesNodes(targets, standing{
		way: occupied, names: targets,
		strike: func() error { return send(ctx, s, service.OrderBusy, targets, service.OrderArgs{For: f.By}) },
		// It ends by itself; another step may keep the same server busy for longer.
		mend: func(context.Context, []string) error { return nil },
	}))
}
