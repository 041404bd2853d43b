package nemesis

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockbench/internal/service/redis"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/workloads"
)

// madeUp are the steps of a scenario with every kind of step.
func madeUp() []Step {
	span := func(from, to time.Duration) *Length { return &Length{From: from, To: to} }
	return []Step{
		{Fault: "lag", Target: "master -> replicas", When: Idle, Options: map[string]string{"by": "60s"}},
		{Fault: "kill", Target: "the master", When: workloads.Acquired, Hold: span(2*time.Second, 3*time.Second), For: span(5*time.Second, 10*time.Second), Options: map[string]string{"data": "lost"}},
		{Fault: "isolate", Target: "minority", At: span(time.Second, 4*time.Second), For: span(time.Second, time.Second), Options: map[string]string{"with": "half the clients", "way": "out"}},
		{Fault: "cut", Target: "clients<->sentinels", For: span(0, time.Second)},
		{Fault: "drop-replies", Target: "master -> a waiter", When: workloads.Waiting},
		{Fault: "pause", Target: "holder", When: workloads.Checked, For: span(100*time.Millisecond, 200*time.Millisecond)},
		{Fault: "pause", Target: "holder", When: workloads.Checked, For: span(100*time.Millisecond, 200*time.Millisecond)},
		{Fault: "promote", Target: "a replica", When: workloads.Released},
	}
}

func text(p Plan) string {
	var b strings.Builder
	for _, step := range p {
		fmt.Fprintf(&b, "%d  episode %d  %s", step.ID, step.Episode, step)
		if step.NA != "" {
			fmt.Fprintf(&b, "  n/a: %s", step.NA)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func drawn(t *testing.T, seed uint64, episodes int, steps []Step) Plan {
	t.Helper()
	plan, err := Draw(seed, episodes, steps)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// The plan of a seed never changes, so that the run of a report can be repeated.
func TestPlanGolden(t *testing.T) {
	var b strings.Builder
	b.WriteString("as written\n")
	for i, p := range drawn(t, 7, 1, madeUp()) {
		fmt.Fprintf(&b, "%d  %s\n", i+1, p.Step.Describe(p.Fault))
	}
	plan := drawn(t, 7, 2, madeUp())
	for _, form := range []locks.Topology{locks.Sentinel, locks.Independent} {
		fmt.Fprintf(&b, "\nseed 7, %s\n%s", form, text(plan.For(newFake(form, 5).sketch())))
	}
	const golden = "testdata/plan.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-%s rewrites it):\n%s", golden, flag.Lookup("update").Name, diff)
	}
}

func TestSeedsDecide(t *testing.T) {
	one := text(drawn(t, 7, 3, madeUp()))
	if again := text(drawn(t, 7, 3, madeUp())); again != one {
		t.Errorf("seed 7 draws another plan the second time:\n%s", cmp.Diff(one, again))
	}
	if other := text(drawn(t, 8, 3, madeUp())); other == one {
		t.Error("seeds 7 and 8 draw the same")
	}
	strikes := func(seed uint64) (all []uint64) {
		for _, p := range drawn(t, seed, 3, madeUp()) {
			all = append(all, p.seed)
		}
		return all
	}
	if !slices.Equal(strikes(7), strikes(7)) || slices.Equal(strikes(7), strikes(8)) {
		t.Error("who is struck does not depend on the seed alone")
	}
	if all := strikes(7); len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Errorf("two steps or episodes draw their targets from one source: %v", all)
	}
}

// Random values stay within the ranges of the scenario and reach both ends.
func TestDrawsAreInRange(t *testing.T) {
	steps := []Step{{Fault: "pause", Target: "holder", At: &Length{From: 0, To: 3}, For: &Length{From: 5, To: 5}}}
	seen := map[time.Duration]bool{}
	for seed := range uint64(200) {
		p := drawn(t, seed, 1, steps)[0]
		seen[*p.At] = true
		if *p.For != 5 || p.Hold != nil {
			t.Fatalf("for %d, hold %v; want 5 and none", *p.For, p.Hold)
		}
	}
	for at := range time.Duration(4) {
		if !seen[at] {
			t.Errorf("%d was never drawn from 0..3", at)
		}
		delete(seen, at)
	}
	if len(seen) > 0 {
		t.Errorf("drawn from 0..3: %v", seen)
	}
}

// An additional step or key of a step does not change the other steps, so that runs with and without it can be compared.
func TestNewStepsDoNotShiftDraws(t *testing.T) {
	before := drawn(t, 7, 2, madeUp())
	more := Step{Fault: "kill", Target: "a replica", At: &Length{From: 0, To: time.Minute}, For: &Length{From: 0, To: time.Minute}}
	for at := range len(madeUp()) + 1 {
		after := drawn(t, 7, 2, slices.Insert(madeUp(), at, more))
		after = slices.DeleteFunc(after, func(p Planned) bool { return p.Step.Target == more.Target && p.Step.Fault == more.Fault })
		for i, was := range before {
			if now := after[i]; now.String() != was.String() || now.seed != was.seed {
				t.Errorf("a step at %d: %s became %s", at+1, was, now)
			}
		}
	}
	steps := madeUp()
	steps[3].At, steps[3].Hold = &Length{From: 0, To: time.Minute}, &Length{From: 0, To: time.Minute}
	if was, now := before[3], drawn(t, 7, 2, steps)[3]; *was.For != *now.For {
		t.Errorf("with two keys more, `for` became %s, and was %s", *now.For, *was.For)
	}
}

func TestDrawRefuses(t *testing.T) {
	for _, test := range []struct {
		step Step
		want string
	}{
		{Step{Fault: "meteor", Target: "master"}, `no fault is called "meteor"`},
		{Step{Fault: "lag", Target: "master", Options: map[string]string{"by": "60s"}}, `step 2, lag: "master" is not a link: write "A -> B" or "A <-> B" with roles, such as master -> replicas`},
	} {
		if _, err := Draw(1, 1, []Step{{Fault: "pause", Target: "holder"}, test.step}); err == nil || err.Error() != test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

func TestPlanParts(t *testing.T) {
	plan := drawn(t, 7, 3, madeUp())
	if got := plan.Episode(2); len(got) != len(madeUp()) || got[0].ID != len(madeUp())+1 || got[0].Episode != 2 {
		t.Errorf("the second episode: %s", text(got))
	}
	var longest time.Duration
	for _, p := range plan {
		if p.For != nil {
			longest = max(longest, *p.For)
		}
	}
	if plan.Longest() != longest || longest < 5*time.Second {
		t.Errorf("the longest is %s, want %s", plan.Longest(), longest)
	}
	if spared := plan.Spared("--no-faults"); spared.Concerns() || !plan.Concerns() || spared[0].NA != "--no-faults" {
		t.Errorf("spared: %s", text(spared))
	}
	none := plan.For(newFake(locks.None, 0).sketch())
	concerned := slices.IndexFunc(none, func(p Planned) bool { return p.NA == "" })
	if concerned < 0 || none[concerned].Step.Fault != "pause" || !none.Concerns() {
		t.Errorf("without servers, clients can still be paused: %s", text(none))
	}
	if plan[0].NA != "" {
		t.Error("asking what concerns one cluster has changed the plan of all")
	}
}

// A lock does not run if its world cannot inject a fault that the scenario names. A random fault, and a fault that the servers
// do not support, is n/a.
func TestSpares(t *testing.T) {
	jump := Step{Fault: "clock", Target: "clients", Options: map[string]string{"by": "5s"}}
	drift := Step{Fault: "clock", Target: "clients", Options: map[string]string{"drift": "100%"}}
	random := WithClientClocks([]Step{{Fault: RandomFaults}})[0]
	pause := Step{Fault: "pause", Target: "holder"}
	replica := Step{Fault: "kill", Target: "a replica"}
	single := world.NewSketch(world.Spec{Service: redis.Service, Topology: newFake(locks.Single, 0).form})
	real, goroutines := single, single
	real.ClientClocks, goroutines.ClientDrift = world.ErrClientClock, world.ErrClientDrift
	for _, test := range []struct {
		name  string
		on    world.Sketch
		steps []Step
		want  error
	}{
		{"a real world, a jump", real, []Step{pause, jump}, world.ErrClientClock},
		{"a real world, a drift", real, []Step{drift}, world.ErrClientClock},
		{"a real world, drawn", real, []Step{random}, nil},
		{"goroutines, a jump", goroutines, []Step{pause, jump}, nil},
		{"goroutines, a drift", goroutines, []Step{pause, drift}, world.ErrClientDrift},
		{"modules", single, []Step{jump, drift}, nil},
		{"no replicas", real, []Step{replica}, nil},
		{"a control", world.NewSketch(world.Spec{}), []Step{jump}, nil},
	} {
		err := Spares(test.steps, test.on)
		if !errors.Is(err, test.want) || test.want != nil && !errors.As(err, new(world.Unsupported)) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

// Lengths in leases become durations of the lock under test.
func TestLengthsInLeases(t *testing.T) {
	steps := []Step{
		{Fault: "cut", Target: "holder <-> nodes", When: workloads.Acquired, Hold: &Length{From: 2250 * time.Millisecond, To: 2500 * time.Millisecond, Leases: true}, For: &Length{From: 3 * time.Second, To: 3 * time.Second, Leases: true}},
		{Fault: "busy", Target: "master", At: &Length{From: time.Second, To: time.Second, Leases: true}, Options: map[string]string{"by": "1.5 leases"}},
		{Fault: "kill", Target: "master", For: &Length{From: time.Second, To: time.Second}},
	}
	plan := drawn(t, 7, 1, steps)
	for _, test := range []struct {
		lease time.Duration
		want  string
	}{
		{2 * time.Second, "cut holder <-> nodes (held for 4.866s) for 6s|at 2s keep master busy by 3s|kill master for 1s"},
		{AssumedLease, "cut holder <-> nodes (held for 9.732s) for 12s|at 4s keep master busy by 6s|kill master for 1s"},
	} {
		var got []string
		for _, step := range plan.Leased(test.lease) {
			got = append(got, strings.TrimPrefix(step.String(), "when acquired "))
		}
		if text := strings.Join(got, "|"); text != test.want {
			t.Errorf("lease %s: %s, want %s", test.lease, text, test.want)
		}
	}
	if got, want := text(plan.Leased(30 * time.Second)[1:2]), "by: \"45s\" is not a duration from 1s to 15s"; !strings.Contains(got, want) {
		t.Errorf("a step that a lease makes impossible: %s, want n/a because %s", got, want)
	}
	if got, want := plan[0].String(), "when acquired cut holder <-> nodes (held for 2.433 leases) for 3 leases"; got != want {
		t.Errorf("without a lock: %s, want %s", got, want)
	}
	if *plan[0].For != 3*time.Second || plan[1].Step.Options["by"] != "1.5 leases" {
		t.Error("the plan of one lock has changed the plan of the others")
	}
}
