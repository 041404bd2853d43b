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

// The bounds of a narrow link: slower than this no request of a lock gets through in
// time, and faster than this no probe could tell it from an open one.
const (
	rateMin = 1_000
	rateMax = 10_000_000
)

// Bandwidth makes directed links narrow: only so many bytes a second get through, and
// whoever sends more waits. Short requests go on and are late; what is long, or comes in
// crowds, as a whole data set for a replica, takes its time.
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
		return nil, fmt.Errorf("rate: %q is no rate from 1kB/s to 10MB/s in whole kB/s, such as 5kB/s", s.Options["rate"])
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

// Available asks for both ends and for the power to make links narrow.
func (f Bandwidth) Available(c world.Cluster) error {
	if err := f.link.available(c, world.Deed{Way: world.Throttled}); err != nil {
		return err
	}
	throttler, ok := world.Ability[world.LinkThrottler](c)
	if !ok {
		return errors.New("this world cannot make links narrow")
	}
	return throttler.BandwidthReady()
}

// Inject makes the links narrow and sees that a heavy PING takes as long over them as
// it must.
func (f Bandwidth) Inject(ctx context.Context, s Scene) (Undo, error) {
	links, err := f.link.resolve(ctx, s)
	if err != nil {
		return nil, err
	}
	throttler, _ := world.Ability[world.LinkThrottler](s.Cluster)
	s.Begin(ends(links), fmt.Sprintf("%s narrowed to %s", f.link, f.rate()))
	return s.stand(ctx, standing{
		way: narrow, names: linkNames(links),
		strike: func() error { return throttler.Throttle(ctx, links, f.bytesPerSecond) },
		// Of two on one link, the later one's rate stays until both are healed.
		mend: func(ctx context.Context, last []string) error {
			return throttler.Unthrottle(ctx, linksNamed(links, last))
		},
		seen: func(ctx context.Context) error { return f.slow(ctx, s, throttler, over(links)) },
		gone: func(ctx context.Context) error { return f.wide(ctx, s, throttler, over(links)) },
	})
}

// load is what takes three times lateEnough over a link that is so narrow.
func (f Bandwidth) load() int {
	return int(f.bytesPerSecond * int64(3*lateEnough) / int64(time.Second))
}

// wide sees that this does not take so long any more, on each of the paths on which no
// other fault lies.
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

// slow sees that what should take three times as long as is waited for does not come
// back meanwhile, on each of the paths. Without a limit it takes a millisecond or two.
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
