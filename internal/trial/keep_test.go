package trial

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/workloads"
)

// keeping is a cluster that can only be queried.
type keeping struct {
	world.Cluster
	asked chan string
}

func (keeping) Nodes() []service.Node {
	return []service.Node{{Name: "redis-1", Role: service.Data}}
}

func (k keeping) Abilities() service.Abilities { return service.Abilities{TTL: k.TTL, Kept: k.Kept} }

func (k keeping) TTL(_ context.Context, key string) (time.Duration, string, error) {
	k.asked <- key
	return 3 * time.Second, "redis-1", nil
}

func (keeping) Kept(context.Context) (map[string]time.Duration, error) {
	return map[string]time.Duration{"a": service.Forever, "b": 2 * time.Second, "c": time.Hour}, nil
}

func (keeping) Requests(client string) world.Requests { return counted{client: client} }

type counted struct {
	world.Requests
	client string
}

func (c counted) Counts() map[string]int { return map[string]int{"GET": 3, "SET": len(c.client)} }

func TestProbeFollowsGrants(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	recorded := make(chan history.Event, 1)
	k := probeServers(keeping{asked: make(chan string, 1)}, func(e history.Event) { recorded <- e }, nil)
	done := make(chan struct{})
	go func() { defer close(done); k.watch(ctx) }()
	k.granted(workloads.Moment{Key: "a", Session: "1.7"})
	e := <-recorded
	cancel()
	<-done
	want := history.Kept{Node: "redis-1", Session: "1.7", TTL: new(3 * time.Second)}
	if e.Key != "a" || !reflect.DeepEqual(*e.Facts.Kept, want) {
		t.Errorf("recorded %q %v; expected the key, the session and its ttl", e.Key, e.Facts)
	}
}

func TestProbeTellsWhatIsLeft(t *testing.T) {
	var recorded []history.Event
	c := keeping{}
	k := probeServers(c, func(e history.Event) { recorded = append(recorded, e) }, nil)
	k.left(t.Context(), 5*time.Second)
	k.commands(c, []int{4})
	left := recorded[0].Facts.Left
	if left == nil || !slices.Equal(left.Names, []string{"a", "c"}) {
		t.Errorf("left %v; expected what outlives a lease of 5 s: a and c", left)
	}
	if !slices.Equal(left.Ending, []string{"c"}) {
		t.Errorf("ending %v; expected c, which has an end", left.Ending)
	}
	if sent := recorded[1].Facts.Sent; *sent != (history.Sent{Client: 4, Commands: 3 + len("client-4")}) {
		t.Errorf("recorded %v; expected all that client 4 has sent", sent)
	}
}

// mute is a cluster whose servers cannot be queried.
type mute struct{ world.Cluster }

func (mute) Abilities() service.Abilities { return service.Abilities{} }

func TestProbeOfNothing(t *testing.T) {
	k := probeServers(mute{}, nil, nil)
	k.granted(workloads.Moment{})
	k.watch(t.Context())
	k.left(t.Context(), time.Second)
	k.commands(nil, []int{1})
}
