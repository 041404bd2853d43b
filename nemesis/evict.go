package nemesis

import (
	"context"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/service"
)

// Evict makes servers throw away all keys that have an end, as one does that has run
// out of memory and is set up to do so (volatile-random). What has no end stays: a
// counter of fencing tokens, say.
type Evict struct{ Target string }

var _ Fault = Evict{}

func newEvict(s Step) (Fault, error) { return Evict{Target: s.Target}, nil }

func (f Evict) String() string { return "evict keys at " + f.Target }

// Effect states that it removes what servers keep and leaves connections alone.
func (Evict) Effect() []string { return []string{history.EffectData} }

// Available asks for servers that take orders.
func (f Evict) Available(c world.Cluster) error { return operable[service.Evicter](f.Target, c) }

// Inject returns when a key of the operator's own is gone. Nothing brings it back.
func (f Evict) Inject(ctx context.Context, s Scene) (Undo, error) {
	return order(ctx, s, f.Target, "throws keys away", func(by service.Evicter, node string) error { return by.Evict(ctx, node) })
}
