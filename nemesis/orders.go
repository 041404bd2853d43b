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

// The faults in this file are orders to servers. They bypass all faults, and the servers confirm
// them.

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

// order sends an order that cannot be undone to the servers in a role.
func order(ctx context.Context, s Scene, name, target, text string) (Undo, error) {
	targets, err := resolve(ctx, target, s)
	if err != nil {
		return nil, err
	}
	s.Begin(targets, strings.Join(targets, ", ")+" "+text)
	return Nothing, send(ctx, s, name, targets, service.OrderArgs{})
}

// Flush makes servers forget everything, as FLUSHALL does by mistake, in a test on the wrong
// server, or in a script that clears a cache.
type Flush struct{ Target string }

func newFlush(s Step) (Fault, error) { return Flush{Target: s.Target}, nil }

func (f Flush) String() string { return "flush " + f.Target }

// Effect states that it removes data and leaves connections alone.
func (Flush) Effect() []string { return []string{history.EffectData} }

// Available requires servers that take the order.
func (f Flush) Available(c world.Cluster) error { return takes(service.OrderFlush, f.Target, c) }

// Inject returns when one of lockbench's own keys is gone. There is no undo.
func (f Flush) Inject(ctx context.Context, s Scene) (Undo, error) {
	return order(ctx, s, service.OrderFlush, f.Target, "forgets everything")
}

// Evict makes servers remove all keys that expire, as a server without free memory does with the
// policy volatile-random. Keys without expiry stay, such as a counter of fencing tokens.
type Evict struct{ Target string }

func newEvict(s Step) (Fault, error) { return Evict{Target: s.Target}, nil }

func (f Evict) String() string { return "evict keys at " + f.Target }

// Effect states that it removes data and leaves connections alone.
func (Evict) Effect() []string { return []string{history.EffectData} }

// Available requires servers that take the order.
func (f Evict) Available(c world.Cluster) error { return takes(service.OrderEvict, f.Target, c) }

// Inject returns when one of lockbench's own keys is gone. There is no undo.
func (f Evict) Inject(ctx context.Context, s Scene) (Undo, error) {
	return order(ctx, s, service.OrderEvict, f.Target, "throws keys away")
}

// DropSubscribers closes the connections of all subscribers of a server. They miss messages that
// are published before they are back, so a lock that wakes its waiters by messages must look again
// after it reconnects.
type DropSubscribers struct{ Target string }

func newDropSubscribers(s Step) (Fault, error) { return DropSubscribers{Target: s.Target}, nil }

func (f DropSubscribers) String() string { return "drop subscribers of " + f.Target }

// Effect states that it ends connections of all clients.
func (DropSubscribers) Effect() []string { return []string{history.EffectDisconnectAll} }

// Available requires servers that take the order.
func (f DropSubscribers) Available(c world.Cluster) error {
	return takes(service.OrderDropSubscribers, f.Target, c)
}

// Inject returns when the server has closed the connections. Clients reconnect by themselves. It is
// not an error if no client listens.
func (f DropSubscribers) Inject(ctx context.Context, s Scene) (Undo, error) {
	return order(ctx, s, service.OrderDropSubscribers, f.Target, "ends subscriptions")
}

// Poison replaces the value of the holder's key by one of another type, as a program with the same
// key does. The server answers requests on it with errors until it is removed.
type Poison struct{ Target string }

func newPoison(s Step) (Fault, error) { return Poison{Target: s.Target}, nil }

func (f Poison) String() string { return "poison the holder's key at " + f.Target }

// Effect states that it changes data and leaves connections alone.
func (Poison) Effect() []string { return []string{history.EffectData} }

// Available requires servers that take the order.
func (f Poison) Available(c world.Cluster) error { return takes(service.OrderPoison, f.Target, c) }

// Inject returns when the servers have answered.
func (f Poison) Inject(ctx context.Context, s Scene) (Undo, error) {
	h, ok := holder(s)
	if !ok {
		return nil, errors.New("no lock is held now, so there is no key to poison")
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
	return s.apply(ctx, lasting{
		condition: poisoned, names: keys,
		inject: func() error { return send(ctx, s, service.OrderPoison, targets, to) },
		undo: func(ctx context.Context, last []string) error {
			var nodes []string
			for _, at := range last {
				nodes = append(nodes, strings.TrimSuffix(at, "/"+h.Key))
			}
			return send(ctx, s, service.OrderCure, nodes, to)
		},
	})
}

// The bounds of Busy: a probe does not see a shorter time, and a longer one exceeds undoLimit.
const (
	busyMin = time.Second
	busyMax = 15 * time.Second
)

// Busy keeps servers busy, as a long script does. They answer no client meanwhile and every request
// afterwards. It cannot be ended earlier.
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

// Available requires servers that take the order.
func (f Busy) Available(c world.Cluster) error { return takes(service.OrderBusy, f.Target, c) }

// Inject returns when a client's PING is not answered, and the undo when it is again.
func (f Busy) Inject(ctx context.Context, s Scene) (Undo, error) {
	targets, err := resolve(ctx, f.Target, s)
	if err != nil {
		return nil, err
	}
	s.Begin(targets, strings.Join(targets, ", ")+" busy for "+f.By.String())
	return s.apply(ctx, s.silencesNodes(targets, lasting{
		condition: occupied, names: targets,
		inject: func() error { return send(ctx, s, service.OrderBusy, targets, service.OrderArgs{For: f.By}) },
		// It ends by itself. Another step may keep the same server busy for longer.
		undo: func(context.Context, []string) error { return nil },
	}))
}
