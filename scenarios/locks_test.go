package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockbench/locks/catalog"
)

func TestParseLocks(t *testing.T) {
	for arg, want := range map[string][]LockUse{
		"set-nx": {{Name: "set-nx", Use: "set-nx"}},
		"set-nx, set-nx/ttl=2s , redlock/nodes=3": {
			{Name: "set-nx", Use: "set-nx"},
			{Name: "set-nx/ttl=2s", Use: "set-nx", TTL: ref(2 * time.Second)},
			{Name: "redlock/nodes=3", Use: "redlock", Nodes: 3},
		},
		"redlock/drift=0.02/node-timeout=50ms/hold=1ms..3ms/clients=2/wait=0s": {{
			Name: "redlock/drift=0.02/node-timeout=50ms/hold=1ms..3ms/clients=2/wait=0s", Use: "redlock",
			Options: map[string]string{"drift": "0.02", "node-timeout": "50ms"},
			Hold:    ref(span(time.Millisecond, 3*time.Millisecond)), Clients: 2, Wait: ref(time.Duration(0)),
		}},
		"py=cmd:python3 x.py": {{Name: "py", Command: "python3 x.py"}},
		// Slashes, equals signs and quoted commas of a command are part of it.
		"py=cmd:/usr/bin/python3 -O x.py --a=b/c,set-nx": {
			{Name: "py", Command: "/usr/bin/python3 -O x.py --a=b/c"}, {Name: "set-nx", Use: "set-nx"},
		},
		`sh=cmd:sh -c 'a, "b", c',q=cmd:x "1,2" y`: {
			{Name: "sh", Command: `sh -c 'a, "b", c'`}, {Name: "q", Command: `x "1,2" y`},
		},
	} {
		got, err := ParseLocks("--locks", arg)
		if err != nil {
			t.Errorf("%s: %v", arg, err)
		}
		if diff := cmp.Diff(want, unnamed(t, got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", arg, diff)
		}
	}
}

// unnamed removes the mark Named, which all locks must have.
func unnamed(t *testing.T, uses []LockUse) []LockUse {
	t.Helper()
	for i := range uses {
		if !uses[i].Named {
			t.Errorf("%s is not marked as named", uses[i].Name)
		}
		uses[i].Named = false
	}
	return uses
}

// A lock that the scenario defines keeps its definition, even if the catalog has a lock of this name.
func TestParseLocksOfAScenario(t *testing.T) {
	own := []LockUse{{Name: "set-nx", Use: "set-nx", TTL: ref(time.Second)}, {Name: "slow", Use: "set-nx", Clients: 2}}
	got, err := ParseLocks("--locks", "slow, set-nx,redlock", own...)
	if diff := cmp.Diff([]LockUse{own[1], own[0], {Name: "redlock", Use: "redlock"}}, unnamed(t, got)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := ParseLocks("--locks", "slow,slow", own...); err == nil {
		t.Error("one lock twice is taken")
	}
}

func TestParseLocksErrors(t *testing.T) {
	for arg, want := range map[string]string{
		"no-lock,set-xn":      `--locks: no lock is named "set-xn"; did you mean "set-nx"?`,
		"set-nx,,redlock":     `--locks: no lock is named ""; known are ` + strings.Join(sorted(catalog.All(), lockName)[:16], ", ") + `, ...`,
		"set-nx, set-nx":      `--locks: two locks are named "set-nx"; give one of them another name: {use: ..., as: NAME}`,
		"redlock/nodes=three": `--locks: "three" is not a whole number`,
		"redlock/drift=2":     `--locks: option drift of redlock: "2" is not a share between 0 and 1, such as 0.01`,
		"set-nx/hold=1ms..":   `--locks: "1ms.." is not a range; ranges are written 5ms..50ms`,
		"set-nx/ttl":          `--locks: "ttl" is not an option of a lock; options are written /NAME=VALUE`,
		"p y=cmd:x":           `--locks: "p y" cannot be a lock's name; letters, digits and . _ -`,
		"set-nx=cmd:x":        `--locks: "set-nx" is the name of another lock; choose another one`,
		"py=cmd: ":            `--locks: the command or module of the lock is missing; as py=cmd:python3 guest.py or mine=wasm:./guest.wasm`,
		"sét-nx,sēt-nk": `--locks: no lock is named "sét-nx"; did you mean "set-nx"?
--locks: no lock is named "sēt-nk"; did you mean "set-nx"?`,
	} {
		_, err := ParseLocks("--locks", arg)
		if err == nil {
			t.Errorf("%s: no error", arg)
			continue
		}
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", arg, diff)
		}
		if !IsUsage(err) {
			t.Errorf("%T is not an *Error", err)
		}
	}
}

func TestLocksInAFile(t *testing.T) {
	source := `lockbench: scenario/1
locks:
  - set-nx/ttl=2s
  - {use: redlock, as: redlock-3, nodes: 3}
  - {use: redlock, nodes: 7, drift: 0.02}
  - {cmd: python3 guest.py, as: py, ttl: 2s, mode: fast}
  - sh=cmd:sh guest.sh a, b
faults: none
`
	s, err := Read("x.yaml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	want := []LockUse{
		{Name: "set-nx/ttl=2s", Use: "set-nx", TTL: ref(2 * time.Second)},
		{Name: "redlock-3", Use: "redlock", Nodes: 3},
		{Name: "redlock/nodes=7/drift=0.02", Use: "redlock", Nodes: 7, Options: map[string]string{"drift": "0.02"}},
		{Name: "py", Command: "python3 guest.py", TTL: ref(2 * time.Second), Options: map[string]string{"mode": "fast"}},
		{Name: "sh", Command: "sh guest.sh a, b"},
	}
	if diff := cmp.Diff(want, s.Locks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A lock that can only wait has a wait in the catalog, which applies where neither the scenario nor the lock's own settings
// have one.
func TestWaitOfTheCatalog(t *testing.T) {
	entry, _ := catalog.Find("kube-lease")
	if entry.Wait == 0 {
		t.Fatal("kube-lease has no wait in the catalog")
	}
	own := time.Second
	for _, c := range []struct {
		scenario time.Duration
		use      LockUse
		want     time.Duration
	}{
		{0, LockUse{Use: "kube-lease"}, entry.Wait},
		{2 * time.Second, LockUse{Use: "kube-lease"}, 2 * time.Second},
		{2 * time.Second, LockUse{Use: "kube-lease", Wait: &own}, own},
		{0, LockUse{Use: "set-nx"}, 0},
		{0, LockUse{Command: "python3 guest.py"}, 0},
	} {
		s := Scenario{Workload: Workload{Wait: c.scenario}}
		if got := s.WorkFor(c.use).Wait; got != c.want {
			t.Errorf("a scenario with a wait of %v and %+v: it waits %v, want %v", c.scenario, c.use, got, c.want)
		}
	}
}
