package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/service"
	"lockbench/internal/world"
)

// lateEnough is the delay from which a long lag counts as seen. Undisturbed links deliver in a
// fraction of a millisecond.
const lateEnough = 100 * time.Millisecond

var lagEntry = Entry{
	Name: "lag", About: "delay all data on links", Link: true,
	Keys: []Key{
		{Name: "by", Takes: TakesDuration, Needed: true, About: "the delay of each message"},
		{Name: "jitter", Takes: TakesDuration, About: "random deviation from the delay, drawn for each message"},
	},
	New: newLag,
	Try: Step{Target: "master -> clients", For: oneSecond, Options: map[string]string{"by": "500ms"}},
	Draw: []Step{
		{Target: "master -> replicas", Options: map[string]string{"by": "5s"}},
		{Target: "nodes -> clients", Options: map[string]string{"by": "200ms", "jitter": "100ms"}},
	},
}

// newLag makes a fault that delays everything on directed links. Between a master and its replicas it makes
// asynchronous replication late, so that a failover forgets a lock.
func newLag(step Step) (Fault, error) {
	by, err := time.ParseDuration(step.Options["by"])
	if err != nil || by <= 0 {
		return Fault{}, fmt.Errorf("by: %q is not a duration above zero, such as 60s", step.Options["by"])
	}
	if by > DurationMax {
		return Fault{}, fmt.Errorf("by: %q is too long: at most %v", step.Options["by"], DurationMax)
	}
	lateness := inSeconds(by)
	var jitter time.Duration
	if text, ok := step.Options["jitter"]; ok {
		if jitter, err = time.ParseDuration(text); err != nil || jitter <= 0 || jitter > by/2 {
			return Fault{}, fmt.Errorf("jitter: %q is not a duration above zero and up to half of the %s by which all is late, such as %s", text, by, by/4)
		}
		lateness += fmt.Sprintf(" give or take %s", jitter)
	}
	delay := world.Delay{By: by, Jitter: jitter}
	return onLinks(step, linkFault{
		text: "lag %s by " + lateness, begins: "%s late by " + lateness,
		effects: []string{history.EffectDelays, history.EffectDisconnects},
		action:  world.Action{Kind: world.Lagging, By: by},
		lacks: func(c world.Sketch, l linkTarget) error {
			if c.Abilities().Offsets == nil && l.replication() {
				return errors.New("nothing is granted here that a majority does not know, so a late follower forgets nothing")
			}
			return nil
		},
		inject: func(ctx context.Context, s Scene, links []world.Link) (Undo, error) {
			return s.changeLinks(ctx, links, world.LinkState{Delay: delay}, probe{
				seen: func(ctx context.Context) error { return late(ctx, s, links, delay) },
				gone: func(ctx context.Context) error {
					return s.answering(ctx, over(links), 0, max(lateEnough, min(by/2, pingLimit)))
				},
			})
		},
	})
}

// inSeconds formats a time as scenarios do: 60s, and not 1m0s.
func inSeconds(d time.Duration) string {
	if d >= time.Minute && d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return d.String()
}

// late checks that links are slow. Between data nodes it looks at the replication stream, because
// a PING would use another connection; elsewhere it sends a PING over the link.
func late(ctx context.Context, s Scene, links []world.Link, d world.Delay) error {
	replicates := s.Cluster.Abilities().Offsets != nil
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	// Every message is late by at least this, and a replica's stream by half of it.
	wait := min((d.By-d.Jitter)/2, lateEnough)
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
				return replicationLate(ctx, s.Cluster.Abilities(), l, wait)
			})
		}),
		s.silent(ctx, over(others), 0, wait),
	)
}

// replicationLate makes the master write and checks that the replica has not received it after a
// time well below the lag.
func replicationLate(ctx context.Context, servers service.Abilities, l world.Link, wait time.Duration) error {
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
