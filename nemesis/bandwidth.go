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

// Bandwidth limits the rate of directed links. Short requests are late; long or frequent messages,
// such as a full synchronization of a replica, take long.
type Bandwidth struct {
	link           linkTarget
	bytesPerSecond int64
}

func newBandwidth(s Step) (Fault, error) {
	link, err := parseLink(s.Target)
	if err != nil {
		return nil, err
	}
	rate, ok := parseRate(s.Options["rate"])
	if !ok {
		return nil, fmt.Errorf("rate: %q is not a rate from 1kB/s to 10MB/s in whole kB/s, such as 5kB/s", s.Options["rate"])
	}
	return Bandwidth{link, rate}, nil
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

func (f Bandwidth) rate() string { return fmt.Sprintf("%d kB/s", f.bytesPerSecond/1000) }

func (f Bandwidth) String() string { return fmt.Sprintf("narrow %s to %s", f.link, f.rate()) }

// Effect states that it delays requests on its links, perhaps until clients give up the connection.
func (Bandwidth) Effect() []string {
	return []string{history.EffectLinks, history.EffectDelays, history.EffectDisconnects}
}

// Available requires both ends and a cluster that can limit the rate.
func (f Bandwidth) Available(c world.Sketch) error {
	if err := f.link.available(c, world.Action{Kind: world.Throttled}); err != nil {
		return err
	}
	return c.Bandwidth
}

// Inject limits the rate and checks that a large PING is as slow as it must be.
func (f Bandwidth) Inject(ctx context.Context, s Scene) (Undo, error) {
	links, err := f.link.resolve(ctx, s)
	if err != nil {
		return nil, err
	}
	// Without a fault such a PING takes a millisecond or two.
	bulk := s.ping(f.load())
	s.Begin(ends(links), fmt.Sprintf("%s narrowed to %s", f.link, f.rate()))
	return s.apply(ctx, lasting{
		condition: narrow, names: linkNames(links),
		inject: func() error { return s.Cluster.Throttle(ctx, links, f.bytesPerSecond) },
		// If two act on one link, the later rate stays until both are healed.
		undo: func(ctx context.Context, last []string) error {
			return s.Cluster.Unthrottle(ctx, linksNamed(links, last))
		},
		seen: func(ctx context.Context) error { return s.silent(ctx, bulk, over(links), lateEnough) },
		gone: func(ctx context.Context) error { return s.answering(ctx, bulk, over(links), 2*lateEnough) },
	})
}

// load is the size that takes three times lateEnough at this rate.
func (f Bandwidth) load() int {
	return int(f.bytesPerSecond * int64(3*lateEnough) / int64(time.Second))
}
