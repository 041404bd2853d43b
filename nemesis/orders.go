package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/workloads"
)

// The faults in this file are orders to servers. They bypass all faults, and the servers confirm
// them.

var (
	busyEntry = Entry{
		Name: "busy", About: "block servers for a time (DEBUG SLEEP)",
		Keys: []Key{{Name: "by", Takes: TakesLength, Needed: true, About: "how long the server answers nothing"}}, New: newBusy,
		Instant: true,
		Try:     Step{Target: "master", Options: map[string]string{"by": "2s"}},
		Draw:    []Step{{Target: "master", Options: map[string]string{"by": "1s"}}},
	}
	// flushEntry makes servers forget everything, as FLUSHALL does by mistake, in a test on the wrong server, or
	// in a script that clears a cache.
	flushEntry = Entry{
		Name: "flush", About: "remove all keys of servers (FLUSHALL)",
		New:     instantOrder(service.OrderFlush, "flush ", " forgets everything", history.EffectData),
		Instant: true,
		Try:     Step{Target: "master"},
	}
	// evictEntry makes servers remove all keys that expire, as a server without free memory does with the policy
	// volatile-random. Keys without expiry stay, such as a counter of fencing tokens.
	evictEntry = Entry{
		Name: "evict", About: "make servers evict keys with a TTL, as if memory were short",
		New:     instantOrder(service.OrderEvict, "evict keys at ", " throws keys away", history.EffectData),
		Instant: true,
		Try:     Step{Target: "master"},
	}
	poisonEntry = Entry{
		Name: "poison", About: "replace the holder's key by a value of another type", New: newPoison,
		Try: Step{Target: "master", When: workloads.Acquired, For: oneSecond},
	}
	// dropSubscribersEntry closes the connections of all subscribers of a server. They miss messages that are
	// published before they are back, so a lock that wakes its waiters by messages must look again after it
	// reconnects. It is not an error if no client listens.
	dropSubscribersEntry = Entry{
		Name: "drop-subscribers", About: "end the connections of subscribers",
		New:     instantOrder(service.OrderDropSubscribers, "drop subscribers of ", " ends subscriptions", history.EffectDisconnectAll),
		Instant: true,
		Try:     Step{Target: "master"},
		Draw:    []Step{{Target: "master"}},
	}
)

var errNoOrder = errors.New("these servers take no such order")

// newOrder makes a fault that sends an order to the servers in a role.
func newOrder(step Step, order, text string, inject injectTargets, effects ...string) Fault {
	return Fault{
		Text:    text,
		Effects: effects,
		Available: func(c world.Sketch) error {
			if err := roleAvailable(step.Target, c); err != nil {
				return err
			}
			if ofClients(step.Target) {
				return errors.New(canonical(step.Target) + " is not a server")
			}
			if c.Abilities().Orders[order] == nil {
				return errNoOrder
			}
			return nil
		},
		Inject: onTargets(step.Target, inject),
	}
}

// send returns a function that sends an order to nodes, to all at once.
func (s Scene) send(name string, to service.OrderArgs) act {
	return forEach(func(ctx context.Context, node string) error {
		order := s.Cluster.Abilities().Orders[name]
		if order == nil {
			return errNoOrder
		}
		to := to
		to.Node = node
		return order(ctx, to)
	})
}

// instantOrder returns the New of an order that servers carry out at once and that cannot be undone. text is the text of
// the plan, before the target, and begins that of the history, after the targets.
func instantOrder(name, text, begins, effect string) func(Step) (Fault, error) {
	return func(step Step) (Fault, error) {
		return newOrder(step, name, text+step.Target, func(ctx context.Context, s Scene, targets []string) (Undo, error) {
			s.Begin(targets, strings.Join(targets, ", ")+begins)
			return Nothing, s.send(name, service.OrderArgs{})(ctx, targets)
		}, effect), nil
	}
}

// newPoison makes a fault that replaces the value of the holder's key by one of another type, as a program with the same
// key does. The server answers requests on it with errors until it is removed.
func newPoison(step Step) (Fault, error) {
	text := "poison the holder's key at " + step.Target
	return newOrder(step, service.OrderPoison, text, func(ctx context.Context, s Scene, targets []string) (Undo, error) {
		h, ok := holder(s)
		if !ok {
			return nil, errors.New("no lock is held now, so there is no key to poison")
		}
		s.Begin(targets, fmt.Sprintf("a list in the place of %q", h.Key))
		keys := make([]string, len(targets))
		for i, node := range targets {
			keys[i] = node + "/" + h.Key
		}
		onNodes := func(order string) act {
			send := s.send(order, service.OrderArgs{Key: h.Key})
			return func(ctx context.Context, keys []string) error {
				var nodes []string
				for _, at := range keys {
					nodes = append(nodes, strings.TrimSuffix(at, "/"+h.Key))
				}
				return send(ctx, nodes)
			}
		}
		return s.apply(ctx, poisoned, keys, onNodes(service.OrderPoison), onNodes(service.OrderCure), probe{})
	}, history.EffectData), nil
}

// The bounds of busy: a probe does not see a shorter time, and a longer one exceeds undoLimit.
const (
	busyMin = time.Second
	busyMax = 15 * time.Second
)

// newBusy makes a fault that keeps servers busy, as a long script does. They answer no client meanwhile and every request
// afterwards. It cannot be ended earlier, so the undo only waits for an answer.
func newBusy(step Step) (Fault, error) {
	by, err := time.ParseDuration(step.Options["by"])
	written := by.String()
	if length, ok := inLeases(step.Options["by"]); ok { // only to describe the fault: [Plan.For] makes it a duration
		by, written, err = length, step.Options["by"], nil
	}
	if err != nil || by < busyMin || by > busyMax {
		return Fault{}, fmt.Errorf("by: %q is not a duration from %s to %s, such as 2s, or a length such as 1.5 leases", step.Options["by"], busyMin, busyMax)
	}
	text := fmt.Sprintf("keep %s busy by %s", step.Target, written)
	return newOrder(step, service.OrderBusy, text, func(ctx context.Context, s Scene, targets []string) (Undo, error) {
		s.Begin(targets, strings.Join(targets, ", ")+" busy for "+by.String())
		undo := func(context.Context, []string) error { return nil }
		return s.apply(ctx, occupied, targets, s.send(service.OrderBusy, service.OrderArgs{For: by}), undo,
			s.silence(func() []world.Link { return s.towards(targets) }))
	}, history.EffectDelays, history.EffectDisconnects), nil
}
