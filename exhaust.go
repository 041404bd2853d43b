//go:build !wasip1

package lockbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/trial"
	"lockbench/internal/virtual/search"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// SetOptions are the options of [Exhaust].
type SetOptions struct {
	// Lock opens one client of the lock. Required.
	Lock locks.Opener
	// Name, Service, Majority and Claims are those of [Options].
	Name, Service string
	Majority      bool
	Claims        locks.Claims
	// Scenario is a file with a small run without faults. Empty means two clients that compete for one lock.
	Scenario string
	// Faults is the largest number of faults in a set; 0 means 1.
	Faults int
	// Rounds is how often each client is granted the lock before the last fault; 0 means 1.
	Rounds int
	// Budget is how long the search may take; 0 means 30 seconds. The log says what is complete.
	Budget time.Duration
	// Without are the beginnings of faults that are left out of the catalog, such as "clock".
	Without []string
	// Accept are the harms that the lock does not promise to prevent: a class, such as "overstay", or the beginning of a
	// fault, such as "clock" or "kill: redis-1, data: lost".
	Accept []string
	// Out is the folder for the results folders of violations. If it is empty, none are kept.
	Out string
}

// setsVariable is the environment variable that makes a test serve the sets of faults of its own search.
const setsVariable = "LOCKBENCH_SETS"

// Exhaust runs a lock under every set of up to a number of faults, at every step of two clients, in the simulation. It
// draws nothing. It fails the test if a set violates the lock, with the smallest set for each kind of harm as steps of a
// scenario, and logs the number of sets.
//
// The sets run in processes that run this test again, up to the call of Exhaust. A lock that panics or never answers fails
// only its set.
func Exhaust(t T, o SetOptions) {
	t.Helper()
	if os.Getenv(setsVariable) == t.Name() {
		os.Exit(o.serve(t.Context()))
	}
	x, err := o.search(t.Context())
	if err != nil {
		t.Fatalf("%v", err)
		return
	}
	x.Command = []string{os.Args[0], "-test.run=" + testPattern(t.Name()), "-test.count=1", "-test.timeout=0"}
	x.Environment = []string{setsVariable + "=" + t.Name()}
	found, err := x.Run(t.Context())
	if not := (world.Unsupported{}); errors.As(err, &not) {
		err = fmt.Errorf("lockbench.Exhaust searches in the simulation only, and %w", not.Why)
	}
	if err != nil {
		t.Fatalf("lockbench: the lock was not tested: %v", err)
		return
	}
	name := x.Job.Scenario.Locks[0].Name
	t.Logf("%s: %s of faults ran in %v: %s", name, report.Plural(found.Count(), "set"), found.Elapsed.Round(100*time.Millisecond), found.Tried())
	for _, s := range found.Smallest {
		if s.Accepted {
			t.Logf("accepted: %s by %s", s.Shows(), strings.Join(s.Faults, "; "))
		}
	}
	for _, l := range found.Levels {
		for _, n := range l.Not {
			t.Logf("not run: %s: %s", strings.Join(n.Faults, "; "), n.Why)
		}
	}
	switch code, why := found.ExitCode(); {
	case code == report.ExitUnexpected || found.Worst() != nil:
		t.Errorf("%s", strings.Join(o.failure(t.Context(), x, found), "\n"))
	case code == report.ExitHarness, code == report.ExitUnknown && !found.OutOfBudget, found.Undecided() > 0:
		t.Errorf("%s: undecided: %s", name, why)
	}
}

// failure describes the smallest set of each kind of harm.
func (o SetOptions) failure(ctx context.Context, x search.Sets, found *search.SetsFound) (lines []string) {
	shown := map[string]bool{}
	for i := range found.Smallest {
		s := &found.Smallest[i]
		if s.Accepted || shown[s.Shows()] {
			continue
		}
		shown[s.Shows()] = true
		lines = append(lines, fmt.Sprintf("%s: %s by %s: %s", found.Lock, s.Shows(), report.Plural(len(s.Faults), "fault"), s.Text))
		for _, f := range s.Faults {
			lines = append(lines, "  - {"+f+"}")
		}
		if o.Out == "" {
			continue
		}
		if _, err := x.Keep(ctx, s, o.Out); err != nil {
			lines = append(lines, fmt.Sprintf("the results folder could not be made: %v", err))
			continue
		}
		lines = append(lines, "results: "+s.Dir, "again: lockbench.Test with the Scenario "+filepath.Join(s.Dir, report.ScenarioFile)+", the World \"sim\" and the Seed 1")
	}
	return lines
}

// opener returns the lock.
func (o SetOptions) opener() (*trial.Opener, error) {
	if o.Lock == nil {
		return nil, errors.New("lockbench.Exhaust: SetOptions.Lock is nil; give it the function that opens a client of your lock")
	}
	if err := trial.KnownService(o.Service); err != nil {
		return nil, fmt.Errorf("lockbench.Exhaust: SetOptions.Service: %w", err)
	}
	return &trial.Opener{Card: card(o.name(), o.Majority, o.Claims), Service: o.Service, Open: o.Lock}, nil
}

// name returns the name of the lock.
func (o SetOptions) name() string { return cmp.Or(o.Name, "mine") }

// serve runs sets of faults in a process of a search.
func (o SetOptions) serve(ctx context.Context) int {
	own, err := o.opener()
	if err == nil {
		err = search.ServeSets(ctx, os.Stdin, os.Stdout, catalog.Open, own)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return report.ExitHarness
	}
	return 0
}

// search prepares the search.
func (o SetOptions) search(ctx context.Context) (search.Sets, error) {
	if o.Faults < 0 || o.Rounds < 0 || o.Budget < 0 {
		return search.Sets{}, fmt.Errorf("lockbench.Exhaust: SetOptions.Faults is %d, Rounds is %d, Budget is %v; none of them can be negative", o.Faults, o.Rounds, o.Budget)
	}
	x := search.Sets{
		Size: max(o.Faults, 1), Rounds: max(o.Rounds, 1), Budget: cmp.Or(o.Budget, 30*time.Second), Without: o.Without, Accept: o.Accept,
	}
	text, err := search.SmallRun("counter")
	if err != nil {
		return x, err
	}
	s, err := scenarios.Read("small-run", []byte(text))
	if o.Scenario != "" {
		s, err = scenarios.Load(o.Scenario)
	}
	if err != nil {
		return x, err
	}
	if len(s.Faults) > 0 {
		return x, fmt.Errorf("lockbench.Exhaust: %s has faults; Exhaust adds them to a scenario with `faults: none`", s.Name)
	}
	s.Point = "" // a set of faults need not cause it
	own, err := o.opener()
	if err != nil {
		return x, err
	}
	x.Job, err = run.Prepare(ctx, run.Options{
		Scenario: s, Locks: []scenarios.LockUse{{Name: o.name()}}, Opener: own, Seed: 1, WorldName: "sim", InProcess: true,
	})
	return x, err
}
