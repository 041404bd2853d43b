package nemesis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/world"
)

// The bounds of Bandwidth: no request of a lock gets through a slower link in time, and a probe cannot
// distinguish a faster one from an unlimited one.
const (
	rateMin = 1_000
	rateMax = 10_000_000
)

var bandwidthEntry = Entry{
	Name: "bandwidth", About: "limit the bandwidth of links", Link: true,
	Keys: []Key{{Name: "rate", Takes: "bytes a second", Needed: true, About: "the bandwidth, from 1kB/s to 10MB/s"}},
	New:  newBandwidth,
	Try:  Step{Target: "master -> clients", For: oneSecond, Options: map[string]string{"rate": "2kB/s"}},
	Draw: []Step{{Target: "nodes -> clients", Options: map[string]string{"rate": "2kB/s"}}},
}

// newBandwidth makes a fault that limits the rate of directed links. Short requests are late; long or frequent
// messages, such as a full synchronization of a replica, take long.
func newBandwidth(step Step) (Fault, error) {
	rate, ok := parseRate(step.Options["rate"])
	if !ok {
		return Fault{}, fmt.Errorf("rate: %q is not a rate from 1kB/s to 10MB/s in whole kB/s, such as 5kB/s", step.Options["rate"])
	}
	words := fmt.Sprintf("%d kB/s", rate/1000)
	return onLinks(step, linkFault{
		text: "narrow %s to " + words, begins: "%s narrowed to " + words,
		effects: []string{history.EffectDelays, history.EffectDisconnects},
		action:  world.Action{Kind: world.Throttled},
		lacks:   func(c world.Sketch, _ linkTarget) error { return c.Bandwidth },
		inject: func(ctx context.Context, s Scene, links []world.Link) (Undo, error) {
			// This PING takes three times lateEnough at the rate, and a millisecond or two without the fault.
			load := int(rate * int64(3*lateEnough) / int64(time.Second))
			return s.changeLinks(ctx, links, world.LinkState{Rate: rate}, probe{
				seen: func(ctx context.Context) error { return s.silent(ctx, over(links), load, lateEnough) },
				gone: func(ctx context.Context) error { return s.answering(ctx, over(links), load, 2*lateEnough) },
			})
		},
	})
}

func parseRate(text string) (bytesPerSecond int64, ok bool) {
	for unit, bytes := range map[string]int64{"kB/s": 1_000, "MB/s": 1_000_000} {
		if count, found := strings.CutSuffix(text, unit); found {
			n, err := strconv.ParseInt(strings.TrimSpace(count), 10, 32)
			rate := n * bytes
			return rate, err == nil && rate >= rateMin && rate <= rateMax
		}
	}
	return 0, false
}
