package nemesis

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/history"
	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/locks"
)

// The catalog describes each fault correctly.
func TestCatalog(t *testing.T) {
	var names []string
	for _, e := range All() {
		if slices.Contains(names, e.Name) {
			t.Errorf("two faults are called %q", e.Name)
		}
		names = append(names, e.Name)
		if e.About == "" {
			t.Errorf("%s says nothing about itself", e.Name)
		}
		if got := strings.Contains(e.Try.Target, "->"); got != e.Link {
			t.Errorf("%s: a link is %v, and what is tried has the target %q", e.Name, e.Link, e.Try.Target)
		}
		for key := range e.Try.Options {
			if _, ok := KeyOf(e.Keys, key); !ok {
				t.Errorf("%s: what is tried has the option %q, which is not listed", e.Name, key)
			}
		}
		for _, also := range e.Also {
			also.Fault = e.Name
			_ = make1(t, also)
			for key := range also.Options {
				if _, ok := KeyOf(e.Keys, key); !ok {
					t.Errorf("%s: what is also tried has the option %q, which is not listed", e.Name, key)
				}
			}
		}
		step := e.Try
		step.Fault = e.Name
		if err := make1(t, step).Available(newFake(locks.Sentinel, 0).sketch()); err != nil {
			t.Errorf("%s: what is tried is not available: %v", e.Name, err)
		}
	}
	if _, ok := Find("meteor"); ok {
		t.Error("a fault that does not exist was found")
	}
}

// A fault is n/a in a world that cannot inject it, and without a node in the role.
func TestAvailability(t *testing.T) {
	single, sentinel, none := newFake(locks.Single, 0).sketch(), newFake(locks.Sentinel, 0).sketch(), newFake(locks.None, 0).sketch()
	hookless, narrow, bare := sentinel, single, world.Sketch{Group: bare{newFake(locks.Sentinel, 0)}}
	hookless.Lacks = func(a world.Action) error { return fmt.Errorf("no node is %s", a.Kind) }
	narrow.Bandwidth = errors.New("no link is narrow")
	tests := []struct {
		fault, target string
		options       map[string]string
		cluster       world.Sketch
		want          string // "": available
	}{
		{"kill", "master", nil, single, ""},
		{"kill", "master", nil, hookless, "no node is killed and started"},
		{"kill", "holder", nil, hookless, ""},
		{"kill", "master", map[string]string{"data": "unsynced"}, single, ""},
		{"kill", "master", map[string]string{"data": "unsynced"}, hookless, "no node is cut off from power"},
		{"kill", "replicas", nil, single, "no replicas"},
		{"pause", "master", nil, hookless, "no node is paused"},
		{"pause", "holder", nil, none, ""},
		{"isolate", "master", nil, single, ""},
		{"isolate", "master", nil, hookless, "no node is cut off from all other servers"},
		{"isolate", "holder", nil, none, "no servers"},
		{"isolate", "master", map[string]string{"with": "sentinels"}, single, "no sentinels"},
		{"cut", "clients -> master", nil, single, ""},
		{"cut", "clients -> master", nil, hookless, ""},
		{"cut", "master -> replicas", nil, hookless, "no node is cut off from other servers"},
		{"cut", "clients -> holder", nil, single, "clients do not talk to each other"},
		{"cut", "master -> replicas", nil, single, "no replicas"},
		{"cut", "clients -> master", nil, none, "no servers"},
		{"lag", "master -> clients", map[string]string{"by": "1s"}, single, ""},
		{"bandwidth", "master -> clients", map[string]string{"rate": "5kB/s"}, narrow, "no link is narrow"},
		{"drop-replies", "master -> clients", nil, single, ""},
		{"promote", "a replica", nil, sentinel, ""},
		{"promote", "a replica", nil, single, "no replicas"},
		{"promote", "a replica", nil, bare, "this world cannot promote by hand"},
		{"promote", "redis-9", nil, sentinel, "no node redis-9 here"},
	}
	for _, test := range tests {
		fault := make1(t, Step{Fault: test.fault, Target: test.target, Options: test.options})
		got := ""
		if err := fault.Available(test.cluster); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s on %s: %q, want %q", fault, test.cluster.Topology().Name, got, test.want)
		}
	}
}

// Invalid steps are refused when the scenario is read.
func TestStepsThatMakeNoFault(t *testing.T) {
	for _, test := range []struct {
		step Step
		want string
	}{
		{Step{Fault: "kill", Target: "master", Options: map[string]string{"data": "some"}}, `data: "some" is neither kept, unsynced nor lost`},
		{Step{Fault: "kill", Target: "master", Options: map[string]string{"names": "kept"}}, "names: only a loss of power (data: unsynced) loses names"},
		{Step{Fault: "kill", Target: "master", Options: map[string]string{"data": "unsynced", "names": "some"}}, `names: "some" is neither lost nor kept`},
		{Step{Fault: "isolate", Target: "master", Options: map[string]string{"way": "up"}}, `way: "up" is none of both, in, out`},
		{Step{Fault: "cut", Target: "master"}, `"master" is not a link: write "A -> B" or "A <-> B" with roles, such as master -> replicas`},
		{Step{Fault: "drop-replies", Target: "master"}, `"master" is not a link: write "A -> B" or "A <-> B" with roles, such as master -> replicas`},
		{
			Step{Fault: "lag", Target: "master -> clients", Options: map[string]string{"by": "200ms", "jitter": "150ms"}},
			`jitter: "150ms" is not a duration above zero and up to half of the 200ms by which all is late, such as 50ms`,
		},
		{
			Step{Fault: "bandwidth", Target: "master -> clients", Options: map[string]string{"rate": "500B/s"}},
			`rate: "500B/s" is not a rate from 1kB/s to 10MB/s in whole kB/s, such as 5kB/s`,
		},
		{Step{Fault: "ring", Target: "clients"}, "clients is not a server; say `ring: nodes`, and for the clients `with: clients`"},
		{Step{Fault: "ring", Target: "nodes", Options: map[string]string{"with": "master"}}, `with: "master" is not a role of clients, such as clients`},
		{Step{Fault: "lag", Target: "master -> clients"}, `by: "" is not a duration above zero, such as 60s`},
		{Step{Fault: "lag", Target: "master -> clients", Options: map[string]string{"by": "-1s"}}, `by: "-1s" is not a duration above zero, such as 60s`},
		{Step{Fault: "promote", Target: "holder"}, "holder is not a server: promote a replica"},
	} {
		entry, _ := Find(test.step.Fault)
		if _, err := entry.New(test.step); err == nil || err.Error() != test.want {
			t.Errorf("%+v: %v, want %q", test.step, err, test.want)
		}
	}
}

func make1(t testing.TB, step Step) Fault {
	t.Helper()
	entry, ok := Find(step.Fault)
	if !ok {
		t.Fatalf("no fault is called %q", step.Fault)
	}
	fault, err := entry.New(step)
	if err != nil {
		t.Fatal(err)
	}
	return fault
}

// TestFaultStatesItsEffect asks each fault of the catalog for its effects. The judge excuses a lock by them, and
// reads those of older histories from the fault's name: both must agree.
func TestFaultStatesItsEffect(t *testing.T) {
	for _, e := range All() {
		step := e.Try
		step.Fault = e.Name
		effect := make1(t, step).Effects
		if len(effect) == 0 {
			t.Errorf("%s states no effect; expected some of history.EffectDelays and the others", e.Name)
			continue
		}
		if got := slices.Contains(effect, history.EffectLinks); got != e.Link {
			t.Errorf("%s: a link is %v, and its effects are %q", e.Name, e.Link, effect)
		}
		for _, targets := range [][]string{{"redis-1"}, {"client-1"}, {"client-1", "redis-1"}, {"client-2", "redis-1"}} {
			stated := historyOf(t, e.Name, effect, targets)
			if len(stated.Warnings) > 0 {
				t.Errorf("%s: %q", e.Name, stated.Warnings)
			}
			older := historyOf(t, e.Name, nil, targets)
			if len(older.Warnings) > 0 {
				continue // it was added when faults stated their effects
			}
			a, b := stated.Faults[0], older.Faults[0]
			if a.Concerns(1) != b.Concerns(1) || a.Disconnects(1) != b.Disconnects(1) || a.Reconnects(1) != b.Reconnects(1) ||
				a.HoldsUp(1) != b.HoldsUp(1) || a.Pauses() != b.Pauses() || len(stated.Pauses(1)) != len(older.Pauses(1)) {
				t.Errorf("%s of %v states %q, and is read in older histories as a fault with other effects", e.Name, targets, effect)
			}
		}
	}
}

// historyOf is a history of a single fault.
func historyOf(t *testing.T, name string, effect, targets []string) *history.History {
	t.Helper()
	h, err := history.Build(history.Header{}, []history.Event{{
		Process: history.Nemesis, Type: history.Info, F: name,
		Phase: history.Begins, Targets: targets, Effect: effect,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// fronted is a cluster whose clients connect to front nodes only.
type fronted struct{ *fake }

func (fronted) Topology() service.Topology {
	return service.Topology{
		Leads: service.OneLeader, Entry: "front",
		Parts: []service.Part{{Name: "store", Role: service.Data, Count: 1}, {Name: "front", Role: service.Witness, Count: 2}},
	}
}

func (f fronted) Nodes() []service.Node { return f.Topology().Nodes() }

// A fault on links of clients is n/a if they lead to servers to which clients do not connect.
func TestLinksOfFrontNodes(t *testing.T) {
	c := world.Sketch{Group: fronted{newFake(locks.Single, 0)}}
	for target, want := range map[string]string{
		"holder <-> nodes": "", "clients -> fronts": "", "front-2 -> holder": "", "holder <-> front-1 and master": "", "front-1 -> master": "",
		"holder <-> master": "clients connect to fronts only", "store-1 -> clients": "clients connect to fronts only",
	} {
		err := make1(t, Step{Fault: "cut", Target: target}).Available(c)
		if got := fmt.Sprint(err); got != want && (err != nil || want != "") {
			t.Errorf("cut %s: %v, want %q", target, err, want)
		}
	}
}
