package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/internal/world"
	"lockbench/locks"
)

// strikes are faults on servers and links, with their operations, their effects, and their announcements. There are clients
// 0 to 3, and client 2 holds the lock.
var strikes = []struct {
	step    Step
	form    locks.Topology
	does    string
	targets string
	breaks  string
}{
	{
		Step{Fault: "kill", Target: "master"}, locks.Sentinel, "kill", "redis-1",
		"redis-1 dead",
	},
	{
		Step{Fault: "kill", Target: "majority", Options: map[string]string{"data": "lost"}}, locks.Independent, "kill", "redis-1 redis-2 redis-3",
		"redis-1 dead\nredis-2 dead\nredis-3 dead",
	},
	{
		Step{Fault: "pause", Target: "master"}, locks.Sentinel, "pause", "redis-1",
		"redis-1 stopped",
	},
	{
		Step{Fault: "isolate", Target: "master", Options: map[string]string{"with": "clients"}}, locks.Replicated, "cut", "redis-1 client-0 client-1 client-2 client-3",
		lines(both("redis-1", "redis-2", "redis-3"), both("client-0", "redis-2", "redis-3"), both("client-1", "redis-2", "redis-3"),
			both("client-2", "redis-2", "redis-3"), both("client-3", "redis-2", "redis-3")),
	},
	{
		Step{Fault: "isolate", Target: "redis-3", Options: map[string]string{"way": "in"}}, locks.Replicated, "cut", "redis-3",
		lines("client-0 -> redis-3 cut", "client-1 -> redis-3 cut", "client-2 -> redis-3 cut", "client-3 -> redis-3 cut",
			"redis-1 -> redis-3 cut", "redis-2 -> redis-3 cut"),
	},
	{
		Step{Fault: "isolate", Target: "redis-3", Options: map[string]string{"way": "out"}}, locks.Replicated, "cut", "redis-3",
		lines("redis-3 -> client-0 cut", "redis-3 -> client-1 cut", "redis-3 -> client-2 cut", "redis-3 -> client-3 cut",
			"redis-3 -> redis-1 cut", "redis-3 -> redis-2 cut"),
	},
	{
		Step{Fault: "cut", Target: "holder -> master"}, locks.Single, "cut", "client-2 redis-1",
		"client-2 -> redis-1 cut",
	},
	{
		Step{Fault: "cut", Target: "holder <-> master"}, locks.Single, "cut", "client-2 redis-1",
		both("client-2", "redis-1"),
	},
	{
		Step{Fault: "lag", Target: "master -> holder", Options: map[string]string{"by": "500ms"}}, locks.Single, "delay", "redis-1 client-2",
		"redis-1 -> client-2 late by 500ms",
	},
	{
		Step{Fault: "lag", Target: "master -> replicas", Options: map[string]string{"by": "60s"}}, locks.Replicated, "delay", "redis-1 redis-2 redis-3",
		"redis-1 -> redis-2 late by 1m0s\nredis-1 -> redis-3 late by 1m0s",
	},
	{
		Step{Fault: "lag", Target: "master -> holder", Options: map[string]string{"by": "500ms", "jitter": "100ms"}}, locks.Single, "delay", "redis-1 client-2",
		"redis-1 -> client-2 late by 500ms",
	},
	{
		Step{Fault: "bandwidth", Target: "master <-> holder", Options: map[string]string{"rate": "5kB/s"}}, locks.Single, "narrow", "redis-1 client-2",
		"client-2 -> redis-1 narrowed to 5000\nredis-1 -> client-2 narrowed to 5000",
	},
	{
		Step{Fault: "clock", Target: "holder", Options: map[string]string{"by": "60s"}}, locks.Single, "shift", "client-2",
		"client-2 off by 1m0s",
	},
	{
		Step{Fault: "clock", Target: "majority", Options: map[string]string{"by": "-3s"}}, locks.Independent, "shift", "redis-1 redis-2 redis-3",
		"redis-1 off by -3s\nredis-2 off by -3s\nredis-3 off by -3s",
	},
	{
		Step{Fault: "drop-replies", Target: "master -> holder"}, locks.Single, "drop", "redis-1 client-2",
		"redis-1 -> client-2 losing",
	},
}

func both(one string, others ...string) string {
	var all []string
	for _, other := range others {
		all = append(all, one+" -> "+other+" cut", other+" -> "+one+" cut")
	}
	return lines(all...)
}

func lines(parts ...string) string {
	all := strings.Split(strings.Join(parts, "\n"), "\n")
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// struck is a fault on a fake cluster, right before its injection.
type struck struct {
	cluster *fake
	scene   Scene
	fault   Fault
	targets string
}

// forEachStrike runs a test for every fault in virtual time.
func forEachStrike(t *testing.T, test func(t *testing.T, s *struck, does, breaks string)) {
	for _, c := range strikes {
		t.Run(c.step.Fault+" "+c.step.Target+" "+c.step.Options["way"], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newFake(c.form, 5)
				s := &struck{cluster: cluster, scene: sceneOf(cluster, "redis-1", "redis-2", "redis-3"), fault: make1(t, c.step)}
				s.scene.Begin = func(targets []string, _ string) {
					slices.SortFunc(targets, func(a, b string) int {
						return strings.Index(c.targets, a) - strings.Index(c.targets, b)
					})
					s.targets = strings.Join(targets, " ")
					if state := cluster.state(); state != "" {
						t.Errorf("announced after it was done: %s", state)
					}
				}
				test(t, s, c.does, c.breaks)
				if err := s.fault.Available(cluster.sketch()); err != nil {
					t.Errorf("not available: %v", err)
				}
				if s.targets != c.targets {
					t.Errorf("announced for %q, want %q", s.targets, c.targets)
				}
			})
		})
	}
}

func (s *struck) want(t *testing.T, when, state string) {
	t.Helper()
	if got := s.cluster.state(); got != state {
		t.Errorf("%s:\n%s\nwant:\n%s", when, got, state)
	}
}

// A fault has its announced effect, and undoing it twice is harmless.
func TestFaultsBiteAndHeal(t *testing.T) {
	forEachStrike(t, func(t *testing.T, s *struck, _, breaks string) {
		undo, err := s.fault.Inject(t.Context(), s.scene)
		if err != nil {
			t.Fatal(err)
		}
		s.want(t, "in effect", breaks)
		for _, when := range []string{"healed", "healed twice"} {
			if err := undo(t.Context()); err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			s.want(t, when, "")
		}
	})
}

// A probe must see the effect of a fault. An operation without an effect is an error, like one that failed, and both must
// be undone.
func TestFaultsThatDoNotBite(t *testing.T) {
	broke := errors.New("it broke")
	for name, mischief := range map[string]func(*fake, string){
		"does nothing":  func(c *fake, does string) { c.useless[does] = true },
		"fails halfway": func(c *fake, does string) { c.failing[does] = broke },
	} {
		t.Run(name, func(t *testing.T) {
			forEachStrike(t, func(t *testing.T, s *struck, does, _ string) {
				mischief(s.cluster, does)
				begin := time.Now()
				undo, err := s.fault.Inject(t.Context(), s.scene)
				switch {
				case name == "fails halfway" && !errors.Is(err, broke):
					t.Errorf("got %v, want %v", err, broke)
				case name == "does nothing" && (err == nil || !strings.Contains(err.Error(), "not seen before the limit")):
					t.Errorf("got %v, want that it was not seen", err)
				case time.Since(begin) > 2*probeLimit:
					t.Errorf("gave up after %s", time.Since(begin))
				}
				if undo == nil {
					t.Fatal("nothing to undo")
				}
				// No undo is needed.
				if err := undo(t.Context()); err != nil && does != "kill" {
					t.Errorf("undo: %v", err)
				}
				s.want(t, "healed", "")
			})
		})
	}
}

// A probe that the end of the run interrupts has seen nothing. If its failed PING counted as silence, every interrupted fault
// would have taken effect.
func TestFaultsCancelledInTheMiddle(t *testing.T) {
	forEachStrike(t, func(t *testing.T, s *struck, does, breaks string) {
		s.cluster.useless[does] = true
		s.cluster.latency = 50 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Millisecond)
		defer cancel()
		undo, err := s.fault.Inject(ctx, s.scene)
		if err == nil {
			t.Error("it was cut short and says that it bites")
		}
		if undo == nil {
			t.Fatal("nothing to undo")
		}
	})
	forEachStrike(t, func(t *testing.T, s *struck, _, breaks string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		undo, err := s.fault.Inject(ctx, s.scene)
		// A dead server refuses connections at once, and a clock is read at once.
		atOnce := strings.HasPrefix(s.fault.String(), "kill") || strings.HasPrefix(s.fault.String(), "clock")
		if err == nil && !atOnce {
			t.Error("it was cut short and says that it bites")
		}
		s.want(t, "cut short", breaks)
		if err := undo(context.WithoutCancel(ctx)); err != nil {
			t.Errorf("undo: %v", err)
		}
		s.want(t, "healed", "")
	})
}

// It is an error if the effect of a fault remains after the undo. Probes repeat, because a real server or network may take
// time.
func TestFaultsThatDoNotHeal(t *testing.T) {
	mends := map[string]string{"kill": "start keepData=true", "pause": "resume", "cut": "heal links", "delay": "heal links", "drop": "heal links", "narrow": "heal links", "shift": "put right"}
	forEachStrike(t, func(t *testing.T, s *struck, does, _ string) {
		undo, err := s.fault.Inject(t.Context(), s.scene)
		if err != nil {
			t.Fatal(err)
		}
		s.cluster.useless[mends[does]], s.cluster.useless["start keepData=false"] = true, true
		if err := undo(t.Context()); err == nil || !strings.Contains(err.Error(), "not seen before the limit") {
			t.Errorf("got %v, want that it was not seen", err)
		}
	})
}

// Restarts of a server differ only in whether it keeps its data.
func TestKillKeepsOrLosesData(t *testing.T) {
	for data, want := range map[string]string{"": "start keepData=true", "kept": "start keepData=true", "lost": "start keepData=false"} {
		c := newFake(locks.Single, 0)
		undo, err := make1(t, Step{Fault: "kill", Target: "master", Options: map[string]string{"data": data}}).Inject(t.Context(), sceneOf(c))
		if err != nil {
			t.Fatal(err)
		}
		if err := undo(t.Context()); err != nil || !slices.Equal(c.calls, []string{"kill", want}) {
			t.Errorf("data %q: %v; calls %q, want kill, %s", data, err, c.calls, want)
		}
	}
}

// A loss of power follows the kill, and the server starts with what is left.
func TestKillLosesPower(t *testing.T) {
	for names, want := range map[string]string{"": "lost", "lost": "lost", "kept": "kept"} {
		c := newFake(locks.Single, 0)
		options := map[string]string{"data": "unsynced"}
		if names != "" {
			options["names"] = names
		}
		fault := make1(t, Step{Fault: "kill", Target: "master", Options: options})
		var spec world.Spec
		fault.Prepare(&spec)
		var added string
		scene := sceneOf(c)
		scene.Add = func(text string) { added += text }
		undo, err := fault.Inject(t.Context(), scene)
		if err != nil {
			t.Fatal(err)
		}
		err = undo(t.Context())
		if calls := []string{"kill", "lose power, names " + want, "start keepData=true"}; err != nil || !slices.Equal(c.calls, calls) {
			t.Errorf("names %q: %v; calls %q, want %q", names, err, c.calls, calls)
		}
		if !spec.Unsynced || added != "redis-1 lost 1 byte" {
			t.Errorf("the disk forgets: %v; the events say %q", spec.Unsynced, added)
		}
	}
}

// If several nodes lose their power, all nodes die before the first disk forgets. The event lists the losses in the order of
// the nodes, because a replay must write the same history.
func TestNodesLosePowerTogether(t *testing.T) {
	for range 20 {
		c := newFake(locks.Independent, 0)
		scene := sceneOf(c)
		var added []string
		scene.Add = func(text string) { added = append(added, text) }
		fault := make1(t, Step{Fault: "kill", Target: "nodes", Options: map[string]string{"data": "unsynced"}})
		if _, err := fault.Inject(t.Context(), scene); err != nil {
			t.Fatal(err)
		}
		var want, losses []string
		for _, node := range dataNodes(c) {
			want = append(want, node+" lost 1 byte")
			losses = append(losses, "lose power, names lost")
		}
		if !slices.Equal(added, want) || len(want) < 2 || !slices.Equal(c.calls[len(want):], losses) {
			t.Fatalf("the event says %q, want %q; calls %q", added, want, c.calls)
		}
	}
}

// A disk that keeps what was not synced makes the step fail.
func TestPowerLossThatIsNone(t *testing.T) {
	c := newFake(locks.Single, 0)
	c.failing["lose power, names lost"] = errors.New("the marker is still there")
	undo, err := make1(t, Step{Fault: "kill", Target: "master", Options: map[string]string{"data": "unsynced"}}).Inject(t.Context(), sceneOf(c))
	if err == nil || !strings.Contains(err.Error(), "the marker is still there") {
		t.Errorf("%v", err)
	}
	if err := undo(t.Context()); err != nil {
		t.Error(err)
	}
}

// Sentinels choose the replica to promote. In other topologies the step names it.
func TestPromote(t *testing.T) {
	for _, test := range []struct {
		form locks.Topology
		want []string
	}{{locks.Sentinel, []string{""}}, {locks.Replicated, []string{"redis-2", "redis-3"}}} {
		c := newFake(test.form, 0)
		undo, err := make1(t, Step{Fault: "promote", Target: "a replica"}).Inject(t.Context(), sceneOf(c))
		if err != nil || !slices.Contains(test.want, c.promoted) {
			t.Errorf("%s: %v; promoted %q, want one of %q", test.form, err, c.promoted, test.want)
		}
		if err := undo(t.Context()); err != nil {
			t.Error(err)
		}
		c.failing["promote"] = errors.New("no good replica")
		if _, err := make1(t, Step{Fault: "promote", Target: "a replica"}).Inject(t.Context(), sceneOf(c)); err == nil {
			t.Errorf("%s: no node was promoted, and the fault reports success", test.form)
		}
	}
}

// electing has no leader for a number of queries after its leader was killed.
type electing struct {
	*fake
	without int
}

func (e *electing) Leader(ctx context.Context) (string, error) {
	if e.without--; e.without >= 0 {
		return "", errors.New("no leader")
	}
	return e.fake.Leader(ctx)
}

// A killed node is not promoted. The fault waits for an election.
func TestPromoteAfterAnElection(t *testing.T) {
	for seed := range uint64(20) {
		c := &electing{fake: newFake(locks.Replicated, 0)}
		s := sceneOf(c)
		s.Rand = rand.New(rand.NewPCG(seed, 0))
		if _, err := make1(t, Step{Fault: "kill", Target: "master"}).Inject(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		c.master, c.without = "redis-2", 2
		if _, err := make1(t, Step{Fault: "promote", Target: "a replica"}).Inject(t.Context(), s); err != nil || c.promoted != "redis-3" {
			t.Errorf("seed %d: %v; promoted %q, want redis-3", seed, err, c.promoted)
		}
	}
}

// A fault on the master waits while the servers elect one.
func TestMasterAfterAnElection(t *testing.T) {
	c := &electing{fake: newFake(locks.Replicated, 0), without: 3}
	if _, err := make1(t, Step{Fault: "kill", Target: "master"}).Inject(t.Context(), sceneOf(c)); err != nil || c.state() != "redis-1 dead" {
		t.Errorf("%v, %s, want redis-1 dead", err, c.state())
	}
}
