package nemesis

import (
	"context"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/service"
)

// Flush makes servers forget everything, as FLUSHALL does: by mistake, in a test that
// was led to the wrong server, in a script that cleans a cache.
type Flush struct{ Target string }

var _ Fault = Flush{}

func newFlush(s Step) (Fault, error) { return Flush{Target: s.Target}, nil }

func (f Flush) String() string { return "flush " + f.Target }

// Effect states that it removes what servers keep and leaves connections alone.
func (Flush) Effect() []string { return []string{history.EffectData} }

// Available asks for servers that take orders.
func (f Flush) Available(c world.Cluster) error { return operable[service.Flusher](f.Target, c) }

// Inject returns when a key of the operator's own is gone. Nothing brings it back.
func (f Flush) Inject(ctx context.Context, s Scene) (Undo, error) {
	return order(ctx, s, f.Target, "forgets everything", func(by service.Flusher, node string) error { return by.Flush(ctx, node) })
}
