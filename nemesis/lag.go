package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/service"
)

// lateEnough is the delay from which a long lag counts as seen. Undisturbed links deliver in a
// fraction of a millisecond.
const lateEnough = 100 * time.Millisecond

// Lag delays everything on directed links. Between a master and its replicas it makes asynchronous
// replication late, so that a failover forgets a lock.
type Lag struct {
	link   linkTarget
	By     time.Duration
	Jitter time.Duration // each message is delayed by By plus or minus at most this
}

func newLag(s Step) (Fault, error) {
	link, err := parseLink(s.Target)
	if err != nil {
		return nil, err
	}
	by, err := time.ParseDuration(s.Options["by"])
	if err != nil || by <= 0 {
		return nil, fmt.Errorf("by: %q is not a duration above zero, such as 60s", s.Options["by"])
	}
	if by > DurationMax {
		return nil, fmt.Errorf("by: %q is too long: at most %v", s.Options["by"], DurationMax)
	}
	var jitter time.Duration
	if text, ok := s.Options["jitter"]; ok {
		if jitter, err = time.ParseDuration(text); err != nil || jitter <= 0 || jitter > by/2 {
			return nil, fmt.Errorf("jitter: %q is not a duration above zero and up to half of the %s by which all is late, such as %s", text, by, by/4)
		}
	}
	return Lag{link, by, jitter}, nil
}

func (f Lag) String() string { return "lag " + f.link.String() + " by " + f.lateness() }

// lateness returns the delay in words.
func (f Lag) lateness() string {
	if f.Jitter == 0 {
		return inSeconds(f.By)
	}
	return fmt.Sprintf("%s give or take %s", inSeconds(f.By), f.Jitter)
}

// inSeconds formats a time as scenarios do: 60s, and not 1m0s.
func inSeconds(d time.Duration) string {
	if d >= time.Minute && d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return d.String()
}

// Effect states that it delays requests on its links, perhaps until clients give up the connection.
func (Lag) Effect() []string {
	return []string{history.EffectLinks, history.EffectDelays, history.EffectDisconnects}
}

// Available requires both ends and a cluster that can delay links.
func (f Lag) Available(c world.Sketch) error {
	if err := f.link.available(c, world.Action{Kind: world.Lagging, By: f.By}); err != nil {
		return err
	}
	if c.Abilities().Offsets == nil && f.link.replication() {
		return errors.New("nothing is granted here that a majority does not know, so a late follower forgets nothing")
	}
	return nil
}

// Inject delays the links and checks that messages on them are late.
func (f Lag) Inject(ctx context.Context, s Scene) (Undo, error) {
	links, err := f.link.resolve(ctx, s)
	if err != nil {
		return nil, err
	}
	s.Begin(ends(links), fmt.Sprintf("%s late by %s", f.link, f.lateness()))
	return s.apply(ctx, lasting{
		condition: lagging, names: linkNames(links),
		inject: func() error { return s.Cluster.Shape(ctx, links, world.Delay{By: f.By, Jitter: f.Jitter}) },
		// If two delay one link, the later delay stays until both are healed.
		undo: func(ctx context.Context, last []string) error { return s.Cluster.Unshape(ctx, linksNamed(links, last)) },
		seen: func(ctx context.Context) error { return f.late(ctx, s, links) },
		gone: func(ctx context.Context) error {
			return s.answering(ctx, s.ping(0), over(links), max(lateEnough, min(f.By/2, pingLimit)))
		},
	})
}

// late checks that links are slow. Between data nodes it looks at the replication stream, because
// a PING would use another connection; elsewhere it sends a PING over the link.
func (f Lag) late(ctx context.Context, s Scene, links []world.Link) error {
	replicates := s.Cluster.Abilities().Offsets != nil
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	// Every message is late by at least this, and a replica's stream by half of it.
	wait := min((f.By-f.Jitter)/2, lateEnough)
	data, masters := dataNodes(s.Cluster), s.Cluster.Leaders(ctx)
	var streams, others []world.Link
	for _, l := range links {
		if replicates && slices.Contains(masters, l.From) && slices.Contains(data, l.To) && !slices.Contains(masters, l.To) {
			streams = append(streams, l)
		} else {
			others = append(others, l)
		}
	}
	return errors.Join(
		each(streams, func(l world.Link) error {
			return until(ctx, "replication "+l.String()+" late", func(ctx context.Context) error {
				return f.replicationLate(ctx, s.Cluster.Abilities(), l, wait)
			})
		}),
		s.silent(ctx, s.ping(0), over(others), wait),
	)
}

// replicationLate makes the master write and checks that the replica has not received it after a
// time well below the lag.
func (f Lag) replicationLate(ctx context.Context, servers service.Abilities, l world.Link, wait time.Duration) error {
	if err := servers.Nudge(ctx, l.From); err != nil {
		return err
	}
	want, ok := servers.Offsets(ctx)[l.From]
	if !ok {
		return fmt.Errorf("%s does not answer", l.From)
	}
	for deadline := time.Now().Add(wait); time.Now().Before(deadline); {
		if servers.Offsets(ctx)[l.To] >= want {
			return fmt.Errorf("%s followed within %s", l.To, wait)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}
