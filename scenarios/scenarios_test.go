package scenarios

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"lockbench/locks"
	"lockbench/nemesis"
	"lockbench/workloads"
)

func TestEmbeddedScenariosRead(t *testing.T) {
	names := Names()
	if len(names) < 12 || !slices.Contains(names, "failover") || !slices.Contains(names, "steady") {
		t.Errorf("Names() = %v, want all files of this folder", names)
	}
	for _, name := range names {
		s, err := Load(name)
		if err != nil {
			t.Errorf("%s:\n%v", name, err)
			continue
		}
		if s.Name != name {
			t.Errorf("%s is named %q", name, s.Name)
		}
		if s.About == "" {
			t.Errorf("%s tells no story", name)
		}
		if s.Expectation("no-lock").Verdict != Violated {
			t.Errorf("%s: no-lock must be caught everywhere", name)
		}
		for _, control := range []string{"in-process", "flock"} {
			if got := s.Expectation(control).String(); got != Valid {
				t.Errorf("%s: %s is expected to be %q, and it must always pass", name, control, got)
			}
		}
		if err := s.Check(); err != nil {
			t.Errorf("%s: Check after Read: %v", name, err)
		}
	}
}

func TestFailoverAsWritten(t *testing.T) {
	source, ok := Find("failover")
	if !ok {
		t.Fatal("failover is not there")
	}
	got, err := Read("failover.yaml", source)
	if err != nil {
		t.Fatal(err)
	}
	use := func(name string) LockUse { return LockUse{Name: name, Use: name} }
	want := &Scenario{
		Name: "failover", About: got.About, Source: source, Shows: []string{"R-17", "D-4", "M-4", "M-5"}, Point: "new-leader",
		Locks: []LockUse{use("no-lock"), use("in-process"), use("flock"), use("set-del"), use("set-nx"),
			use("set-nx-fenced"), use("redlock")},
		Servers: map[string]Servers{"redis": {
			Topology: Topology{SingleStore: locks.Sentinel, Majority: locks.Independent, Masters: 5},
			Settings: map[string]string{"appendonly": "no"},
		}},
		Workload: Workload{Name: "counter", Clients: 8, Keys: 4, Names: Letters, TTL: 8 * time.Second, Hold: span(5*time.Millisecond, 50*time.Millisecond), Think: span(2*time.Millisecond, 15*time.Millisecond)},
		Episodes: 3, Quiet: 2 * time.Second, Limit: time.Minute,
		Faults: []nemesis.Step{
			{Fault: "lag", Target: "master -> replicas", When: nemesis.Idle, Options: map[string]string{"by": "60s"}},
			{Fault: "kill", Target: "master", When: workloads.Acquired, Hold: long(6*time.Second, 7*time.Second), Until: nemesis.UntilPromoted,
				For: long(10*time.Second, 10*time.Second), Options: map[string]string{"data": "lost"}},
		},
		Expect: map[string]Expectation{
			"set-nx":                     {Judgement: Judgement{Violated, "double-grant"}, Rate: &Rate{0.6, 1}},
			"set-nx-fenced":              alsoViolated("fencing"),
			"redisson-port-wait":         {Judgement: Judgement{Unjudged, ""}},
			"redis-semaphore-redlock":    {Judgement: Judgement{Unjudged, ""}},
			"redisson":                   {Judgement: Judgement{Verdict: Unjudged}},
			"redisson/synced-slaves=off": {Judgement: Judgement{Verdict: Violated, Class: "double-grant"}},
			"rueidislock":                {Judgement: Judgement{Unjudged, ""}},
			"etcd-mutex":                 {Checks: map[string]Judgement{"exclusion": {Verdict: Valid}, "liveness": {Verdict: Unjudged}}},
			"zk-lock":                    {Judgement: Judgement{Verdict: Unjudged}},
		},
	}
	for _, name := range []string{"redisson-port", "redisson-port-spin", "pg-advisory", "mysql-row"} {
		want.Expect[name] = Expectation{Judgement: Judgement{Violated, "double-grant"}}
	}
	want.Expect["set-del"], want.Expect["redisson-port-fair"] = alsoViolated("results"), alsoViolated("results")
	want.Expect["redisson-port-fenced"] = alsoViolated("fencing")
	want.Expect["pg-row"] = alsoViolated("fencing")
	want.Expect["nats-kv/replicas=1"] = Expectation{Checks: map[string]Judgement{"exclusion": {Verdict: Unjudged}, "fencing": {Verdict: Unjudged}}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Scenario{})); diff != "" {
		t.Errorf("failover (-want +got):\n%s", diff)
	}
}

// alsoViolated returns the expectation of a double grant, with any result of one checker.
func alsoViolated(checker string) Expectation {
	return Expectation{Judgement: Judgement{Violated, "double-grant"}, Checks: map[string]Judgement{checker: {Verdict: Unjudged}}}
}

func TestLeastScenarioHasDefaults(t *testing.T) {
	source := []byte("lockbench: scenario/1\nlocks: [set-nx]\nfaults: none\n")
	got, err := Read("dir/least.yml", source)
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.Name, want.Source, want.NoFaults = "least", source, true
	want.Locks = []LockUse{{Name: "set-nx", Use: "set-nx"}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Scenario{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestForAppliesALocksOwnOptions(t *testing.T) {
	s := defaults()
	uses, err := ParseLocks("--locks", "redlock/nodes=3/ttl=2s/hold=1ms..2ms/clients=5/wait=1s")
	if err != nil {
		t.Fatal(err)
	}
	w, on := s.WorkFor(uses[0]), s.ServersFor(uses[0], "redis")
	want := s.Workload
	want.TTL, want.Hold, want.Clients, want.Wait = 2*time.Second, span(time.Millisecond, 2*time.Millisecond), 5, time.Second
	if diff := cmp.Diff(want, w); diff != "" {
		t.Errorf("workload (-want +got):\n%s", diff)
	}
	if on.Topology.Masters != 3 {
		t.Errorf("%d masters, want 3", on.Topology.Masters)
	}
	if s.On("redis").Topology.Masters != DefaultMasters || s.Workload.TTL != DefaultTTL {
		t.Error("the scenario itself has changed")
	}
}

func TestServerSettingsStayText(t *testing.T) {
	source := `lockbench: scenario/1
locks: [set-nx]
faults: none
redis:
  appendonly: no
  activedefrag: yes
  databases: 010
  auto-aof-rewrite-min-size: 1_000
  client-query-buffer-limit: 0x1F
  maxmemory: 1.50
  maxmemory-clients: true
  notify-keyspace-events: ""
  oom-score-adj-values: "3600 1"
  save: 3600 1 300 100
  repl-backlog-size: .inf
`
	s, err := Read("x.yaml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"appendonly": "no", "activedefrag": "yes", "databases": "010",
		"auto-aof-rewrite-min-size": "1_000", "client-query-buffer-limit": "0x1F", "maxmemory": "1.50", "maxmemory-clients": "true",
		"notify-keyspace-events": "", "oom-score-adj-values": "3600 1",
		"save": "3600 1 300 100", "repl-backlog-size": ".inf"}
	if diff := cmp.Diff(want, s.On("redis").Settings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func span(from, to time.Duration) nemesis.Range { return nemesis.Range{From: from, To: to} }

func long(from, to time.Duration) *nemesis.Length { return &nemesis.Length{From: from, To: to} }

func ref[T any](v T) *T { return &v }

// The guide shows a scenario in three pieces. The first one is complete, and the others replace its last lines.
func TestGuideReads(t *testing.T) {
	text, err := os.ReadFile("../docs/add-a-scenario.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, part := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	if len(blocks) != 3 {
		t.Fatalf("%d pieces of YAML in the guide, want 3", len(blocks))
	}
	head, _, _ := strings.Cut(blocks[0], "faults:")
	for name, source := range map[string]string{"first": blocks[0], "whole": head + blocks[1] + blocks[2]} {
		if _, err := Read(name, []byte(source)); err != nil {
			t.Error(err)
		}
	}
}
