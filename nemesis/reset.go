package nemesis

import (
	"context"
	"errors"

	"lockbench/internal/history"
	"lockbench/internal/world"
)

// Reset resets the connections on links, as a router does that loses its state. Data in flight is
// lost, so a client does not know whether its request was carried out.
type Reset struct{ link linkTarget }

func newReset(s Step) (Fault, error) {
	link, err := parseLink(s.Target)
	return Reset{link}, err
}

func (f Reset) String() string { return "reset " + f.link.String() }

// Effect states that it ends the connections on its links and drops the data in flight.
func (Reset) Effect() []string { return []string{history.EffectLinks, history.EffectDisconnects} }

// Available requires both ends and a cluster that can reset connections.
func (f Reset) Available(c world.Sketch) error {
	return f.link.available(c, world.Action{Kind: world.Resetting})
}

// Inject returns when the connections are closed. Clients can connect again at once.
func (f Reset) Inject(ctx context.Context, s Scene) (Undo, error) {
	links, err := f.link.resolve(ctx, s)
	if err != nil {
		return nil, err
	}
	s.Begin(ends(links), f.link.String()+": connections reset")
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
}
