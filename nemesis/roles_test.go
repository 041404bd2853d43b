package nemesis

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/workloads"
	"pgregory.net/rapid"
)

var topologies = []locks.Topology{locks.None, locks.Single, locks.Replicated, locks.Sentinel, locks.Independent}

// The test has the meaning of each role in each topology: names, "n of" a set from which the seed draws, or in brackets the
// reason why no node or client can have the role.
func TestRolesByTopology(t *testing.T) {
	none := "(no servers)"
	five := "redis-1 redis-2 redis-3 redis-4 redis-5"
	watchmen := "sentinel-1 sentinel-2 sentinel-3"
	three := "redis-1 redis-2 redis-3"
	tests := map[string]map[locks.Topology]string{
		"master":           {locks.None: none, locks.Single: "redis-1", locks.Replicated: "redis-2", locks.Sentinel: "redis-2", locks.Independent: "1 of redis-2 redis-4 redis-5"},
		"replicas":         {locks.None: none, locks.Single: "(no replicas)", locks.Replicated: "redis-1 redis-3", locks.Sentinel: "redis-1 redis-3", locks.Independent: "(no replicas)"},
		"a replica":        {locks.None: none, locks.Single: "(no replicas)", locks.Replicated: "1 of redis-1 redis-3", locks.Sentinel: "1 of redis-1 redis-3", locks.Independent: "(no replicas)"},
		"nearest replica":  {locks.None: none, locks.Single: "(no replicas)", locks.Replicated: "1 of redis-1 redis-3", locks.Sentinel: "1 of redis-1 redis-3", locks.Independent: "(no replicas)"},
		"minority":         {locks.None: none, locks.Single: "(no majority to be had: one master decides)", locks.Replicated: "(no majority to be had: one master decides)", locks.Sentinel: "(no majority to be had: one master decides)", locks.Independent: "2 of redis-2 redis-4 redis-5"},
		"majority":         {locks.None: none, locks.Single: "redis-1", locks.Replicated: "redis-2", locks.Sentinel: "redis-2", locks.Independent: "redis-2 redis-4 redis-5"},
		"sentinels":        {locks.None: none, locks.Single: "(no sentinels)", locks.Replicated: "(no sentinels)", locks.Sentinel: watchmen, locks.Independent: "(no sentinels)"},
		"nodes":            {locks.None: none, locks.Single: "redis-1", locks.Replicated: three, locks.Sentinel: three + " " + watchmen, locks.Independent: five},
		"redis-3":          {locks.None: none, locks.Single: "(no node redis-3 here)", locks.Replicated: "redis-3", locks.Sentinel: "redis-3", locks.Independent: "redis-3"},
		"sentinel-1":       {locks.None: none, locks.Single: "(no node sentinel-1 here)", locks.Replicated: "(no node sentinel-1 here)", locks.Sentinel: "sentinel-1", locks.Independent: "(no node sentinel-1 here)"},
		"holder":           same("client-2"),
		"the holder":       same("client-2"),
		"a waiter":         same("1 of client-0 client-3"),
		"clients":          same("client-0 client-1 client-2 client-3"),
		"half the clients": same("2 of client-0 client-1 client-2 client-3"),
		"client-3":         same("client-3"),
		"master and the sentinel-1": {locks.None: none, locks.Single: "(no node sentinel-1 here)", locks.Replicated: "(no node sentinel-1 here)",
			locks.Sentinel: "redis-2 sentinel-1", locks.Independent: "(no node sentinel-1 here)"},
		"client-3 and the holder": same("client-3 client-2"),
	}
	for _, role := range Roles {
		if tests[role.Name] == nil {
			t.Errorf("the role %q is not tested", role.Name)
		}
	}
	for role, byTopology := range tests {
		for _, topology := range topologies {
			t.Run(role+"/"+string(topology), func(t *testing.T) {
				c := newFake(topology, 5)
				if len(c.nodes) > 1 {
					c.master = "redis-2" // the master need not be the first node
				}
				want := byTopology[topology]
				if err := roleAvailable(role, c); err != nil {
					if got := "(" + err.Error() + ")"; got != want {
						t.Fatalf("not available: %s, want %s", got, want)
					}
					return
				}
				if strings.HasPrefix(want, "(") {
					t.Fatalf("available, want %s", want)
				}
				seen := map[string]bool{}
				for seed := range uint64(40) {
					s := sceneOf(c, "redis-2", "redis-4", "redis-5")
					s.Rand = rand.New(rand.NewPCG(seed, 0))
					got, err := resolve(context.Background(), role, s)
					if err != nil {
						t.Fatal(err)
					}
					for _, name := range got {
						seen[name] = true
					}
					count := len(strings.Fields(want))
					if n, set, drawn := strings.Cut(want, " of "); drawn {
						count = int(n[0] - '0')
						if slices.ContainsFunc(got, func(name string) bool { return !slices.Contains(strings.Fields(set), name) }) {
							t.Fatalf("%v, want %s", got, want)
						}
					}
					if len(got) != count {
						t.Fatalf("%v, want %s", got, want)
					}
				}
				_, all, drawn := strings.Cut(want, " of ")
				if !drawn {
					all = want
				}
				for _, name := range strings.Fields(all) {
					if !seen[name] {
						t.Errorf("%s was never drawn in 40 tries; want %s", name, want)
					}
				}
				if len(seen) != len(strings.Fields(all)) {
					t.Errorf("drawn were %v, want %s", seen, want)
				}
			})
		}
	}
}

func same(want string) map[locks.Topology]string {
	m := map[locks.Topology]string{}
	for _, t := range topologies {
		m[t] = want
	}
	return m
}

// For N independent masters, a minority has (N-1)/2 nodes, a majority N/2+1, and the master is 1 node. No node is named twice,
// and nodes that granted the lock come first.
func TestQuorumsAreOfThoseThatGranted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 9).Draw(t, "masters")
		c := newFake(locks.Independent, n)
		granted := rapid.Permutation(dataNodes(c)).Draw(t, "order")[:rapid.IntRange(0, n).Draw(t, "granted")]
		s := sceneOf(c, granted...)
		s.Rand = rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for role, want := range map[string]int{"minority": (n - 1) / 2, "majority": n/2 + 1, "master": 1} {
			got, err := resolve(context.Background(), role, s)
			if err != nil {
				t.Fatal(err)
			}
			of := 0
			for i, name := range got {
				if slices.Contains(got[:i], name) {
					t.Fatalf("%s: %v names %s twice", role, got, name)
				}
				if slices.Contains(granted, name) {
					of++
				}
			}
			if len(got) != want || of != min(want, len(granted)) {
				t.Fatalf("%s of %d: %v, want %d, of which %d granted (%v)", role, n, got, want, min(want, len(granted)), granted)
			}
		}
	})
}

func TestTooFewMastersHaveNoMinority(t *testing.T) {
	for _, n := range []int{1, 2} {
		if err := roleAvailable("minority", newFake(locks.Independent, n)); err == nil {
			t.Errorf("of %d masters, a minority can be struck", n)
		}
	}
}

// The event that triggered a step determines the client, and not the longest hold.
func TestRolesOfAMoment(t *testing.T) {
	ctx := context.Background()
	c := newFake(locks.Independent, 5)
	tests := []struct {
		name   string
		moment workloads.Moment
		role   string
		want   []string
	}{
		{"the client just granted", workloads.Moment{Event: workloads.Acquired, Client: 3, Nodes: []string{"redis-3"}}, "holder", []string{"client-3"}},
		{"a master that granted just now", workloads.Moment{Event: workloads.Acquired, Client: 3, Nodes: []string{"redis-3"}}, "master", []string{"redis-3"}},
		{"the one just refused", workloads.Moment{Event: workloads.Waiting, Client: 3, Key: "b"}, "a waiter", []string{"client-3"}},
		{"a waiter holds nothing", workloads.Moment{Event: workloads.Waiting, Client: 3, Key: "b"}, "holder", []string{"client-1"}},
		{"the lock waited for was granted by", workloads.Moment{Event: workloads.Waiting, Client: 3, Key: "b"}, "master", []string{"redis-5"}},
		{"the holder has gone, another is left", workloads.Moment{Event: workloads.Waiting, Client: 3, Key: "c"}, "holder", []string{"client-2"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := sceneOf(c, "redis-1")
			crew := s.Crew.(*fakeCrew)
			crew.holders = append(crew.holders, workloads.Moment{Event: workloads.Acquired, Client: 1, Key: "b", Nodes: []string{"redis-5"}})
			s.Moment = &test.moment
			got, err := resolve(ctx, test.role, s)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHalfTheClientsHasTheHolder(t *testing.T) {
	c := newFake(locks.Single, 0)
	for seed := range uint64(40) {
		for _, moment := range []*workloads.Moment{nil, {Event: workloads.Acquired, Client: 2}} {
			s := sceneOf(c)
			s.Crew.(*fakeCrew).clients = []int{0, 1, 2, 3, 4}
			s.Moment, s.Rand = moment, rand.New(rand.NewPCG(seed, 0))
			got, err := resolve(context.Background(), "half the clients", s)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 3 || !slices.Contains(got, "client-2") || !slices.IsSorted(got) {
				t.Fatalf("half of five clients: %v; want three in order, client-2 among them", got)
			}
		}
	}
}

// A fault without targets would seem to take effect at once.
func TestNoTargetIsAnError(t *testing.T) {
	s := sceneOf(newFake(locks.Single, 0))
	s.Crew = &fakeCrew{}
	for role, want := range map[string]string{
		"holder": "no client holds a lock now", "a waiter": "no client waits for a lock now",
		"clients": "no node or client is clients now", "half the clients": "no node or client is half the clients now",
	} {
		if names, err := resolve(context.Background(), role, s); err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v; want %q", role, names, err, want)
		}
	}
}

// The nearest replica is the live one that has received most.
func TestNearestReplica(t *testing.T) {
	c := newFake(locks.Sentinel, 1)
	for _, test := range []struct{ late, dead, want string }{
		{"redis-2", "", "redis-3"}, {"redis-3", "", "redis-2"}, {"redis-2", "redis-3", "redis-2"},
	} {
		c.links = map[world.Link]world.LinkState{{From: "redis-1", To: test.late}: {Delay: world.Delay{By: time.Hour}}}
		c.dead = map[string]bool{test.dead: true}
		if err := c.Nudge(t.Context(), "redis-1"); err != nil {
			t.Fatal(err)
		}
		got, err := resolve(t.Context(), "nearest replica", sceneOf(c))
		if err != nil || !slices.Equal(got, []string{test.want}) {
			t.Errorf("%s is late and %q dead: %v, %v; want %s", test.late, test.dead, got, err, test.want)
		}
	}
	if names, err := resolve(t.Context(), "nearest replica", sceneOf(bare{c})); err == nil {
		t.Errorf("%v of a world that cannot tell", names)
	}
}
