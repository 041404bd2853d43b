package nemesis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/service"
	"lockbench/locks"
	"lockbench/workloads"
)

// shardedFake is a cluster whose keys a and b have different masters.
type shardedFake struct{ *fake }

func (s shardedFake) Abilities() service.Abilities {
	a := s.fake.Abilities()
	a.LeaderOf, a.FollowersOf = s.LeaderOf, s.FollowersOf
	return a
}

func (shardedFake) LeaderOf(_ context.Context, key string) (string, error) {
	switch key {
	case "a":
		return "redis-3", nil
	case "b":
		return "redis-1", nil
	}
	return "", fmt.Errorf("no master of %q", key)
}

func (shardedFake) FollowersOf(_ context.Context, master string) ([]string, error) {
	return map[string][]string{"redis-3": {"redis-5", "redis-6"}, "redis-1": {"redis-4"}}[master], nil
}

// keyedCrew is a crew that knows the keys of its clients.
type keyedCrew struct {
	*fakeCrew
	keys []string
}

func (c keyedCrew) Keys() []string { return c.keys }

// In a cluster the roles master and replicas refer to the master of the key of the step.
func TestRolesInACluster(t *testing.T) {
	for _, test := range []struct {
		role   string
		moment *workloads.Moment
		keys   []string
		want   string
	}{
		{"master", &workloads.Moment{Event: workloads.Acquired, Client: 2, Key: "b"}, []string{"a", "b"}, "redis-1"},
		{"master", &workloads.Moment{Event: workloads.Waiting, Client: 1, Key: "b"}, []string{"a", "b"}, "redis-1"},
		{"master", nil, []string{"a", "b"}, "redis-3"},
		{"master", nil, nil, "a cluster has several masters, and no key says which one is meant"},
		{"majority", &workloads.Moment{Event: workloads.Acquired, Client: 2, Key: "b"}, nil, "redis-1"},
		{"replicas", nil, []string{"a"}, "redis-5 redis-6"},
		{"replicas", &workloads.Moment{Event: workloads.Acquired, Client: 2, Key: "b"}, []string{"a"}, "redis-4"},
		{"a replica", &workloads.Moment{Event: workloads.Acquired, Client: 2, Key: "b"}, []string{"a"}, "redis-4"},
		{"nodes", nil, nil, "redis-1 redis-2 redis-3 redis-4 redis-5 redis-6"},
		{"master", &workloads.Moment{Event: workloads.Acquired, Key: "c"}, nil, `no master of "c"`},
	} {
		c := shardedFake{newFake(locks.Cluster, 0)}
		if err := roleAvailable(test.role, c); err != nil {
			t.Errorf("%s is not available: %v", test.role, err)
		}
		s := sceneOf(c)
		s.Crew, s.Moment = keyedCrew{s.Crew.(*fakeCrew), test.keys}, test.moment
		names, err := resolve(t.Context(), test.role, s)
		got := strings.Join(names, " ")
		if err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, test.want) {
			t.Errorf("%s, moment %+v: %s, want %s", test.role, test.moment, got, test.want)
		}
	}
	s := sceneOf(shardedFake{newFake(locks.Cluster, 0)})
	s.Crew = keyedCrew{s.Crew.(*fakeCrew), []string{"a"}}
	link, err := parseLink("master -> replicas")
	if err != nil {
		t.Fatal(err)
	}
	links, err := link.resolve(t.Context(), s)
	if want := between([]string{"redis-3"}, []string{"redis-5", "redis-6"}); err != nil || !slices.Equal(links, want) {
		t.Errorf("links %v, %v; want %v", links, err, want)
	}
}
