//go:build !wasip1

package lockbench

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"lockbench/internal/report"
)

// T is the part of *testing.T that [Test] uses. This package does not import package
// testing, because guests link it.
type T interface {
	Helper()
	Name() string
	Context() context.Context
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// SeedVariable is the environment variable from which [Test] takes its seed if Options
// have none.
const SeedVariable = "LOCKBENCH_SEED"

// shortEpisodes is the largest number of episodes under go test -short.
const shortEpisodes = 2

// Test runs a scenario on a lock and fails the test if the lock, or another lock of the run, does not meet the
// expectations. The failure contains the counterexample and the command that repeats the test. With go test -short it runs
// a few episodes in the simulation.
func Test(t T, o Options) {
	t.Helper()
	if o.Seed == 0 {
		seed, err := seedFromEnvironment()
		if err != nil {
			t.Fatalf("%v", err)
			return
		}
		o.Seed = seed
	}
	short := isShort()
	if short {
		o = o.shortened()
		t.Logf("-short: world %s, at most %d episodes", o.World, o.Episodes)
	}
	r, err := o.run(t.Context(), (&testLog{t: t}).tick)
	if err != nil {
		t.Fatalf("lockbench: the lock was not tested: %v", err)
		return
	}
	for _, note := range r.Notes {
		t.Logf("note: %s", note)
	}
	if failed := r.failures(o.name(), o.Scenario); len(failed) > 0 {
		again := fmt.Sprintf("again: %s=%d go test -count=1 -run '%s'", SeedVariable, r.Seed, testPattern(t.Name()))
		if short {
			again += " -short"
		}
		t.Errorf("%s", strings.Join(append(failed, again), "\n"))
		return
	}
	t.Logf("%s: %s in %s, world %s, seed %d: as expected", o.name(), found(r.Verdict.String(), r.Class.String()), o.Scenario, r.World, r.Seed)
}

// seedFromEnvironment returns 0 if the variable is not set.
func seedFromEnvironment() (uint64, error) {
	text := os.Getenv(SeedVariable)
	if text == "" {
		return 0, nil
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is %q; give it a whole number, as a failed test printed it", SeedVariable, text)
	}
	return seed, nil
}

// isShort reports whether go test runs with -short.
func isShort() bool {
	f := flag.Lookup("test.short")
	return f != nil && f.Value.String() == "true"
}

// shortened returns the options for -short.
func (o Options) shortened() Options {
	o.World, o.Duration = "sim", 0
	if o.Episodes == 0 || o.Episodes > shortEpisodes {
		o.Episodes = shortEpisodes
	}
	return o
}

// failures returns what differs from the expectations, with the evidence.
func (r *Result) failures(name, scenario string) []string {
	var lines []string
	if !r.AsExpected {
		lines = append(lines, fmt.Sprintf("%s: %s in %d of %d episodes of %s, world %s, seed %d; expected %s",
			name, found(r.Verdict.String(), r.Class.String()), r.Violating, r.Episodes, scenario, r.World, r.Seed, cmp.Or(r.Expected, "valid")))
		if r.Why != "" {
			lines = append(lines, "because: "+r.Why)
		}
		if len(r.story) > 0 {
			lines = append(lines, r.Story())
		}
		if r.Dir != "" {
			lines = append(lines, "results: "+r.Dir)
		}
	}
	for _, other := range r.Others {
		if !other.AsExpected {
			line := fmt.Sprintf("%s: %s; expected %s", other.Name, found(other.Verdict.String(), other.Class.String()), cmp.Or(other.Expected, "valid"))
			if other.Why != "" {
				line += ": " + other.Why
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func found(verdict, class string) string { return strings.TrimSpace(verdict + " " + class) }

// testPattern returns the pattern of a test's name for go test -run.
func testPattern(name string) string { return "^" + strings.ReplaceAll(name, "/", "$/^") + "$" }

// testLog logs the progress of a run: each episode, and the first violation of a lock.
type testLog struct {
	t       T
	episode int
}

func (l *testLog) tick(now report.Tick) {
	for _, n := range now.News {
		switch n.Kind {
		case report.Warning:
			l.t.Logf("%s: warning: %s", n.Lock, n.Text)
		case report.Violation:
			l.t.Logf("%s: violated: %s", n.Lock, n.Text)
		}
	}
	if now.Episode > l.episode {
		l.episode = now.Episode
		l.t.Logf("episode %d of %d, %d grants so far, %v", now.Episode, now.Episodes, now.Grants, now.Elapsed.Round(100*time.Millisecond))
	}
}
