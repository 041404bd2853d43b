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
	"lockbench/workloads"
)

// The faults in this file are orders to servers. They bypass all faults, and the servers confirm
// them.

// orders are their entries in the catalog.
func orders() []Entry {
	return []Entry{
		{
			Name: "busy", About: "keep servers from serving anybody for a time (DEBUG SLEEP)",
			Keys: []Key{busyKey}, New: newBusy,
			Instant: true,
			Try:     Step{Target: "master", Options: map[string]string{"by": "2s"}},
			Draw:    []Step{{Target: "master", Options: map[string]string{"by": "1s"}}},
		},
		{
			Name: "flush", About: "make servers forget everything (FLUSHALL)", New: flush.fault,
			Instant: true,
			Try:     Step{Target: "master"},
		},
		{
			Name: "evict", About: "make servers throw away keys that have an end, as for want of memory", New: evict.fault,
			Instant: true,
			Try:     Step{Target: "master"},
		},
		{
			Name: "poison", About: "put a value of another type in the place of the holder's key", New: newPoison,
			Try: Step{Target: "master", When: workloads.Acquired, For: &Range{time.Second, time.Second}},
		},
		{
			Name: "drop-subscribers", About: "end the connections of those who listen for messages", New: dropSubscribers.fault,
			Instant: true,
			Try:     Step{Target: "master"},
			Draw:    []Step{{Target: "master"}},
		},
	}
}

// busyKey is the key of busy.
var busyKey = Key{Name: "by", Takes: TakesDuration, Needed: true, About: "how long the server answers no request"}

// takes reports whether the servers in a role take an order.
func takes(name, target string, c service.Group) error {
	if err := roleAvailable(target, c); err != nil {
		return err
	}
	if ofClients(target) {
		return errors.New(canonical(target) + " is not a server")
	}
	if c.Abilities().Orders[name] == nil {
		return errors.New("these servers take no such order")
	}
	return nil
}

// send sends an order to nodes, to all at once.
func send(ctx context.Context, s Scene, name string, nodes []string, to service.OrderArgs) error {
	order := s.Cluster.Abilities().Orders[name]
	if order == nil {
		return errors.New("these servers take no such order")
	}
	return each(nodes, func(node string) error {
		to := to
		to.Node = node
		return order(ctx, to)
	})
}

// Order is an order that servers carry out at once and that cannot be undone.
type Order struct {
	kind   orderKind
	Target string
}

// orderKind is one of these orders.
type orderKind struct {
	name   string // of the order
	plan   string // what a plan calls it, before the target
	begins string // what the history says when it begins, after the targets
	effect string
}

var (
	// flush makes servers forget everything, as FLUSHALL does by mistake, in a test on the wrong server, or in a
	// script that clears a cache.
	flush = orderKind{service.OrderFlush, "flush ", " forgets everything", history.EffectData}
	// evict makes servers remove all keys that expire, as a server without free memory does with the policy
	// volatile-random. Keys without expiry stay, such as a counter of fencing tokens.
	evict = orderKind{service.OrderEvict, "evict keys at ", " throws keys away", history.EffectData}
	// dropSubscribers closes the connections of all subscribers of a server. They miss messages that are published
	// before they are back, so a lock that wakes its waiters by messages must look again after it reconnects. It is
	// not an error if no client listens.
	dropSubscribers = orderKind{service.OrderDropSubscribers, "drop subscribers of ", " ends subscriptions", history.EffectDisconnectAll}
)

func (k orderKind) fault(s Step) (Fault, error) { return Order{k, s.Target}, nil }

func (f Order) String() string { return f.kind.plan + f.Target }

// Effect states that it removes data, or that it ends connections of all clients.
func (f Order) Effect() []string { return []string{f.kind.effect} }

// Available requires servers that take the order.
func (f Order) Available(c world.Sketch) error { return takes(f.kind.name, f.Target, c) }

// Inject returns when the servers have confirmed the order.
func (f Order) Inject(ctx context.Context, s Scene) (Undo, error) {
	targets, err := resolve(ctx, f.Target, s)
	if err != nil {
		return nil, err
	}
	s.Begin(targets, strings.Join(targets, ", ")+f.kind.begins)
	return Nothing, send(ctx, s, f.kind.name, targets, service.OrderArgs{})
}

// Poison replaces the value of the holder's key by one of another type, as a program with the same
// key does. The server answers requests on it with errors until it is removed.
type Poison struct{ Target string }

func newPoison(s Step) (Fault, error) { return Poison{Target: s.Target}, nil }

func (f Poison) String() string { return "poison the holder's key at " + f.Target }

// Effect states that it changes data and leaves connections alone.
func (Poison) Effect() []string { return []string{history.EffectData} }

// Available requires servers that take the order.
func (f Poison) Available(c world.Sketch) error { return takes(service.OrderPoison, f.Target, c) }

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
		return nil, fmt.Errorf("by: %q is not a duration from %s to %s, such as 2s", s.Options["by"], busyMin, busyMax)
	}
	return Busy{s.Target, by}, nil
}

func (f Busy) String() string { return fmt.Sprintf("keep %s busy by %s", f.Target, f.By) }

// Effect states that it delays requests, perhaps until clients give up the connection.
func (Busy) Effect() []string { return []string{history.EffectDelays, history.EffectDisconnects} }

// Available requires servers that take the order.
func (f Busy) Available(c world.Sketch) error { return takes(service.OrderBusy, f.Target, c) }

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
