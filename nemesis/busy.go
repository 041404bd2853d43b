package nemesis

import (
	"context"
	"fmt"
	"strings"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/service"
)

// The bounds of being busy: shorter, and no probe could tell; longer, and healing would
// take longer than an undo may.
const (
	busyMin = time.Second
	busyMax = 15 * time.Second
)

// Busy keeps servers at something else: a long script, a huge command. Nobody is served
// meanwhile, everything is answered afterwards, and nothing ends it sooner.
type Busy struct {
	Target string
	By     time.Duration
}

var _ Fault = Busy{}

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

// Available asks for servers that take orders.
func (f Busy) Available(c world.Cluster) error { return operable[service.Busier](f.Target, c) }

// Inject returns when a client's PING is not answered; the undo when it is again.
func (f Busy) Inject(ctx context.Context, s Scene) (Undo, error) {
	targets, err := resolve(ctx, f.Target, s)
	if err != nil {
		return nil, err
	}
	s.Begin(targets, strings.Join(targets, ", ")+" busy for "+f.By.String())
	by, _ := world.Ability[service.Busier](s.Cluster)
	return s.stand(ctx, s.silencesNodes(targets, standing{
		way: occupied, names: targets,
		strike: func() error {
			return each(targets, func(node string) error { return by.Busy(ctx, node, f.By) })
		},
		// It ends by itself; others may keep the same server busy for longer.
		mend: func(context.Context, []string) error { return nil },
	}))
}
