package nemesis

import (
	"context"
	"errors"

	"lockbench/internal/history"
	"lockbench/internal/world"
)

var resetEntry = Entry{
	Name: "reset", About: "reset connections on links and drop the data in flight", Link: true, New: newReset,
	Instant: true,
	Try:     Step{Target: "clients <-> master"},
	// Clients of some services choose their server, and may not use the leader.
	Draw: []Step{{Target: "clients <-> nodes"}},
}

// newReset makes a fault that resets the connections on links, as a router does that loses its state. Data
// in flight is lost, so a client does not know whether its request was carried out. Clients can connect
// again at once.
func newReset(step Step) (Fault, error) {
	return onLinks(step, linkFault{
		text: "reset %s", begins: "%s: connections reset",
		effects: []string{history.EffectDisconnects},
		action:  world.Action{Kind: world.Resetting},
		inject: func(ctx context.Context, s Scene, links []world.Link) (Undo, error) {
			ctx, cancel := context.WithTimeout(ctx, probeLimit)
			defer cancel()
			// There may be none between two requests.
			return Nothing, until(ctx, "a connection to reset", func(ctx context.Context) error {
				n, err := s.Cluster.Reset(ctx, links)
				if err == nil && n == 0 {
					err = errors.New("there is none")
				}
				return err
			})
		},
	})
}
