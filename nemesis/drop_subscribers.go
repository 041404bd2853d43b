package nemesis

import (
	"context"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/service"
)

// DropSubscribers ends the connections of all who listen for a server's messages. A
// message that is published before they are back reaches nobody: a lock that wakes its
// waiters so has to look again when it has come back, or sleeps through a release.
type DropSubscribers struct{ Target string }

var _ Fault = DropSubscribers{}

func newDropSubscribers(s Step) (Fault, error) { return DropSubscribers{Target: s.Target}, nil }

func (f DropSubscribers) String() string { return "drop subscribers of " + f.Target }

// Effect states that it ends connections of all clients.
func (DropSubscribers) Effect() []string { return []string{history.EffectDisconnectAll} }

// Available asks for servers that take orders.
func (f DropSubscribers) Available(c world.Cluster) error {
	return operable[service.SubscriberDropper](f.Target, c)
}

// Inject returns when the server has ended them. They come back by themselves.
//
// That nobody listens is no failure: a lock that wakes nobody has nothing to lose.
func (f DropSubscribers) Inject(ctx context.Context, s Scene) (Undo, error) {
	return order(ctx, s, f.Target, "ends subscriptions", func(by service.SubscriberDropper, node string) error {
		_, err := by.DropSubscribers(ctx, node)
		return err
	})
}
