package report

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lockbench/checker"
	"lockbench/internal/stats"
	"lockbench/locks"
)

func screenOf(t *testing.T, s Screen) string {
	t.Helper()
	var b strings.Builder
	if _, err := s.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	// The golden files have the slashes of one system.
	return strings.ReplaceAll(b.String(), string(filepath.Separator), "/")
}

func TestScreen(t *testing.T) {
	for name, make := range map[string]func(*testing.T) *Result{"sample": sample, "troubled": troubled} {
		t.Run(name, func(t *testing.T) {
			r := make(t)
			s := Screen{Result: r, Dir: filepath.Join("results", "failover", "20261121-114000-7"),
				Latest: filepath.Join("results", "latest")}
			plain := screenOf(t, s)
			golden(t, "screen-"+name+".golden", plain)
			for _, line := range strings.Split(plain, "\n") {
				if width(line) > ScreenWidth {
					t.Errorf("%d wide: %s", width(line), line)
				}
			}
			// Without colours the text is the same.
			s.Color = true
			colored := screenOf(t, s)
			if colored == plain {
				t.Error("no colours at all")
			}
			if bare := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(colored, ""); withoutEnds(bare) != withoutEnds(plain) {
				t.Errorf("colours changed the text:\n%s\n%s", bare, plain)
			}
		})
	}
}

// TestScreenAt50Columns keeps the table, the counterexample and all sentences within a narrow
// terminal. Paths and commands stay whole.
func TestScreenAt50Columns(t *testing.T) {
	const columns = 50
	for name, make := range map[string]func(*testing.T) *Result{"sample": sample, "troubled": troubled} {
		t.Run(name, func(t *testing.T) {
			r := make(t)
			s := Screen{Result: r, Dir: "results/failover/7", Latest: "results/latest", Width: columns}
			plain := screenOf(t, s)
			golden(t, "screen-"+name+"-50.golden", plain)
			for _, line := range strings.Split(plain, "\n") {
				words := strings.Fields(line)
				whole := strings.HasPrefix(line, "Again ") || len(words) > 0 && width(words[len(words)-1]) > columns/2
				if width(line) > columns && !whole {
					t.Errorf("%d wide: %s", width(line), line)
				}
			}
			for _, l := range r.Locks {
				if !strings.Contains(plain, l.Found()) && l.Unsupported == "" {
					t.Errorf("%s: %q is not in\n%s", l.Lock, l.Found(), plain)
				}
			}
		})
	}
}

// withoutEnds takes away spaces at the ends of lines, which colours may keep.
func withoutEnds(s string) string { return regexp.MustCompile(`(?m) +$`).ReplaceAllString(s, "") }

// Commands are printed as they can be typed, and the result keeps them as they are.
func TestScreenNamesTheProgramAsTyped(t *testing.T) {
	r := sample(t)
	again := r.Again
	s := screenOf(t, Screen{Result: r, Dir: "results/failover/1", Program: "build/lockbench"})
	for _, want := range []string{"\nAgain    build/lockbench run ", "build/lockbench check results/failover/1\n"} {
		if !strings.Contains(s, want) {
			t.Errorf("%q is not in\n%s", want, s)
		}
	}
	if r.Again != again {
		t.Errorf("the result has %q now", r.Again)
	}
}

// TestFindingsComeBeforeWhatWasExpected has a lock that was violated as the scenario expects.
func TestFindingsComeBeforeWhatWasExpected(t *testing.T) {
	r := &Result{Scenario: "failover", Locks: []Lock{{Lock: "set-nx-fenced", Topology: "single", AsExpected: true, Verdict: checker.Violated, Class: checker.DoubleGrant,
		Figures: stats.Figures{Episodes: 1, ViolatingEpisodes: 1}, Checks: []checker.Result{
			{Name: "exclusion", Verdict: checker.Violated, Violations: 1, Findings: []checker.Finding{{Rule: "two-holders", Class: checker.DoubleGrant}}},
			{Name: "fencing", Verdict: checker.Violated, Violations: 9, Findings: []checker.Finding{{Rule: "token-fell", Event: 7}}}}}}}
	got := screenOf(t, Screen{Result: r, Color: true})
	if want := "set-nx-fenced: also fencing: 9 findings"; !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
	if strings.Contains(got, markExpected+" set-nx-fenced") || strings.Contains(got, green.on(markExpected, true)) {
		t.Errorf("a tick stands before findings, or is green:\n%s", got)
	}
	if got := r.Heading(); got != "1 lock violated, as expected" {
		t.Errorf("the heading is %q", got)
	}
}

func TestLastLineOffersLike(t *testing.T) {
	r := &Result{Locks: []Lock{{Lock: "mine", Topology: "single", Verdict: checker.Violated, Class: checker.Overstay, Like: "set-nx"}}}
	want := "Exit 1: not as expected: mine. The known lock set-nx does the same here; to expect that of mine as well: --like mine=set-nx"
	if got := r.ExitLine(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestScreenQuotesTheFolderInCommands(t *testing.T) {
	r := &Result{Locks: []Lock{{Lock: "mine", AsExpected: true, Figures: stats.Figures{Episodes: 1}}}}
	got := screenOf(t, Screen{Result: r, Dir: "out dir/failover/1", Latest: "out dir/latest"})
	if want := "lockbench check 'out dir/latest'"; !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
}

func TestScreenOfOneLockWithoutFolder(t *testing.T) {
	r := &Result{Locks: []Lock{{Lock: "mine", AsExpected: true, Figures: stats.Figures{Episodes: 40}}}}
	got := screenOf(t, Screen{Result: r})
	for _, want := range []string{"0 of 40", "Nothing found: mine; 0 of 40 episodes still allows a rate of up to 7 % (95 %)", "Exit 0: as expected."} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	for _, not := range []string{"Report", "History", "Again", "First violation", "--expect"} {
		if strings.Contains(got, not) {
			t.Errorf("%q is in\n%s", not, got)
		}
	}
}

func TestExitCode(t *testing.T) {
	expected := Lock{AsExpected: true}
	unexpected := Lock{Verdict: checker.Violated}
	unknown := Lock{Verdict: checker.Unknown}
	knownUnknown := Lock{Verdict: checker.Unknown, AsExpected: true}
	unsupported := Lock{Verdict: checker.Unknown, Unsupported: "why"}
	broken := Lock{Error: "why", AsExpected: true}
	for _, c := range []struct {
		name  string
		locks []Lock
		want  int
	}{
		{"expected", []Lock{expected, knownUnknown, unsupported}, ExitExpected},
		{"valid where violated is expected", []Lock{{Verdict: checker.Valid}}, ExitUnexpected},
		{"unexpected before unknown", []Lock{unknown, unexpected, expected}, ExitUnexpected},
		{"unknown", []Lock{expected, unknown}, ExitUnknown},
		{"harness before all", []Lock{unexpected, unknown, broken}, ExitHarness},
		{"no lock took part", []Lock{unsupported}, ExitUnknown},
		{"no lock", nil, ExitUnknown},
	} {
		if got := (&Result{Locks: c.locks}).ExitCode(); got != c.want {
			t.Errorf("%s: exit %d, want %d", c.name, got, c.want)
		}
	}
}

func TestFirstViolation(t *testing.T) {
	at := func(s float64) *float64 { return &s }
	lock := func(name string, on locks.Topology, c checker.Class, s float64) Lock {
		return Lock{Lock: name, Topology: on, Verdict: checker.Violated, Class: c, AsExpected: true, Figures: stats.Figures{FirstViolationS: at(s)},
			Checks: []checker.Result{{Findings: []checker.Finding{{Class: checker.StaleWrite, Event: 1}, {Class: c, Event: 3}, {Class: c, Event: 2}}}}}
	}
	r := &Result{Locks: []Lock{
		lock("no-lock", locks.None, checker.DoubleGrant, 0.1),
		lock("overstayed", locks.Single, checker.Overstay, 0.2),
		lock("later", locks.Single, checker.DoubleGrant, 0.9),
		lock("earlier", locks.Single, checker.DoubleGrant, 0.8),
	}}
	l := r.FirstViolation()
	if l == nil || l.Lock != "earlier" {
		t.Fatalf("got %v", l)
	}
	if f, _ := l.FirstFinding(); f.Event != 2 {
		t.Errorf("got event %d", f.Event)
	}
	r.Locks[0].AsExpected = false
	if l := r.FirstViolation(); l.Lock != "no-lock" {
		t.Errorf("a control that is not as expected is news; got %s", l.Lock)
	}
	if (&Result{}).FirstViolation() != nil {
		t.Error("found a violation in nothing")
	}
}

// The story of a double grant shows a change of master that no fault ordered.
func TestUnorderedPromotionsAreTold(t *testing.T) {
	r := &Result{Locks: []Lock{{Lock: "set-nx", Servers: "sentinel 1+2", AsExpected: true, Verdict: checker.Violated, Class: checker.DoubleGrant,
		Figures: stats.Figures{Episodes: 9, ViolatingEpisodes: 9, Unordered: stats.Unordered{Promotions: 4, Episodes: 3, ViolatingEpisodes: 2}}}}}
	want := "4 promotions that no fault ordered: this machine was too busy; 2 of 9 violating episodes had one, and enter no rate."
	if got := r.Trouble(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r.Locks[0].Unordered = stats.Unordered{Promotions: 1, Episodes: 1}
	if got, want := r.Trouble(), "1 promotion that no fault ordered: this machine was too busy; no episode with one enters a rate."; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A cell of a campaign has the reason of unknown in its mismatch. The remark has it once.
func TestRemarkSaysTheReasonOnce(t *testing.T) {
	l := Lock{Lock: "a", Verdict: checker.Unknown, Expected: "valid", Why: "harness: too little", Mismatch: "expected valid, found unknown: harness: too little"}
	if got, want := strings.Count(l.Remark(), "too little"), 1; got != want {
		t.Errorf("the remark has the reason %d times: %s", got, l.Remark())
	}
}

// TestScreenOfAnInterruptedSimulation: a run that was stopped early does not repeat itself byte for byte.
func TestScreenOfAnInterruptedSimulation(t *testing.T) {
	r := sample(t)
	r.Virtual = true
	const claim = "byte for byte"
	if s := screenOf(t, Screen{Result: r}); !strings.Contains(s, claim) {
		t.Errorf("a whole run is not said to repeat itself:\n%s", s)
	}
	r.Interrupted = true
	if s := screenOf(t, Screen{Result: r}); strings.Contains(s, claim) || !strings.Contains(s, "this run was stopped early") {
		t.Errorf("an interrupted run says\n%s", s)
	}
}

// A name of Redisson's locks belonged to the Go port before, which notifies holders of a loss.
func TestFormerNamesOfPorts(t *testing.T) {
	for _, c := range []struct {
		lock    string
		watched bool
		want    string
	}{
		{"redisson", true, "redisson-port now"},
		{"redisson-fair/form=F3", true, "redisson-port-fair now"},
		{"redisson", false, ""},
		{"redisson-port", true, ""},
		{"redisson-of-mine", true, ""},
	} {
		l := Lock{Lock: c.lock, AsExpected: true, Claims: locks.Claims{Watched: c.watched}}
		if got := l.Remark(); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s, watched %v: %q, want %q", c.lock, c.watched, got, c.want)
		}
	}
}
