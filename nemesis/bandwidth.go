package nemesis

import (
	"context"
	"errors"
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

var _ Fault = Bandwidth{}

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
func (f Bandwidth) Available(c world.Cluster) error {
	if err := f.link.available(c, world.Action{Kind: world.Throttled}); err != nil {
		return err
	}
	throttler, ok := world.Ability[world.LinkThrottler](c)
	if !ok {
		return errors.New("this world cannot make links narrow")
	}
	return throttler.BandwidthReady()
}

// Inject limits the rate and checks that a large PING is as slow as it must be.
func (f Bandwidth) Inject(ctx context.Context, s Scene) (Undo, error) {
	links, err := f.link.resolve(ctx, s)
	if err != nil {
		return nil, err
	}
	throttler, _ := world.Ability[world.LinkThrottler](s.Cluster)
	s.Begin(ends(links), fmt.Sprintf("%s narrowed to %s", f.link, f.rate()))
	return s.apply(ctx, lasting{
		condition: narrow, names: linkNames(links),
		inject: func() error { return throttler.Throttle(ctx, links, f.bytesPerSecond) },
		// If two act on one link, the later rate stays until both are healed.
		undo: func(ctx context.Context, last []string) error {
			return throttler.Unthrottle(ctx, linksNamed(links, last))
		},
		seen: func(ctx context.Context) error { return f.slow(ctx, s, throttler, over(links)) },
		gone: func(ctx context.Context) error { return f.wide(ctx, s, throttler, over(links)) },
	})
}

// load is the size that takes three times lateEnough at this rate.
func (f Bandwidth) load() int {
	return int(f.bytesPerSecond * int64(3*lateEnough) / int64(time.Second))
}

// wide checks that such a PING is fast again on each path without another fault.
func (f Bandwidth) wide(ctx context.Context, s Scene, t world.LinkThrottler, paths []path) error {
	return s.probe(ctx, paths, "open", func(ctx context.Context, _ world.Prober, at path) error {
		if s.disturbed(at) {
			return nil
		}
		limited, cancel := context.WithTimeout(ctx, 2*lateEnough)
		defer cancel()
		return t.PingBulk(limited, at.from, at.to, f.load())
	})
}

// slow checks on each path that a PING which should take three times the limit does not return
// within it. Without a fault it takes a millisecond or two.
func (f Bandwidth) slow(ctx context.Context, s Scene, t world.LinkThrottler, paths []path) error {
	const wait = lateEnough
	load := f.load()
	return s.probe(ctx, paths, "narrow", func(ctx context.Context, _ world.Prober, at path) error {
		limited, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		if t.PingBulk(limited, at.from, at.to, load) == nil {
			return fmt.Errorf("a PING with %d bytes came back within %s", load, wait)
		}
		return ctx.Err()
	})
}
