package nemesis

import (
	"context"
	"errors"
	"fmt"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/service"
)

// Poison puts a value of another type in the place of the holder's key: somebody else's
// program uses the same name. Whatever the lock does with its key is then answered with
// an error, until somebody takes the stranger's value away.
type Poison struct{ Target string }

var _ Fault = Poison{}

func newPoison(s Step) (Fault, error) { return Poison{Target: s.Target}, nil }

func (f Poison) String() string { return "poison the holder's key at " + f.Target }

// Effect states that it changes what servers keep and leaves connections alone.
func (Poison) Effect() []string { return []string{history.EffectData} }

// Available asks for servers that take orders.
func (f Poison) Available(c world.Cluster) error { return operable[service.Poisoner](f.Target, c) }

// Inject returns when the servers have said that it was done.
func (f Poison) Inject(ctx context.Context, s Scene) (Undo, error) {
	h, ok := holder(s)
	if !ok {
		return nil, errors.New("nobody holds a lock now, so no key is to be poisoned")
	}
	targets, err := resolve(ctx, f.Target, s)
	if err != nil {
		return nil, err
	}
	by, _ := world.Ability[service.Poisoner](s.Cluster)
	s.Begin(targets, fmt.Sprintf("a list in the place of %q", h.Key))
	keys := make([]string, len(targets))
	for i, node := range targets {
		keys[i] = node + "/" + h.Key
	}
	return s.stand(ctx, standing{
		way: poisoned, names: keys,
		strike: func() error {
			return each(targets, func(node string) error { return by.Poison(ctx, node, h.Key) })
		},
		mend: func(ctx context.Context, last []string) error {
			return each(last, func(at string) error { return by.Cure(ctx, at[:len(at)-len(h.Key)-1], h.Key) })
		},
	})
}
