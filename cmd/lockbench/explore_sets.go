package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/search"
	"lockbench/internal/shellword"
	"lockbench/internal/world"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// simSetsName is the command of a process that runs sets of faults.
const simSetsName = "sim-sets"

// newSimSetsCommand is hidden: explore --faults starts it.
func newSimSetsCommand() *cobra.Command {
	return &cobra.Command{
		Use:     simSetsName,
		Short:   "Run sets of faults in virtual time: read them from stdin, report on stdout",
		Example: `  echo '{"input": ..., "faults": 1}' | lockbench sim-sets`,
		Hidden:  true,
		Args:    wants(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			return search.ServeSets(c.Context(), c.InOrStdin(), c.OutOrStdout(), catalog.Open)
		},
	}
}

// faultsMax and roundsMax bound a search that would take days.
const (
	faultsMax = 3
	roundsMax = 5
)

// sets reads the flags of a search through sets of faults. An error means wrong usage.
func sets(c *cobra.Command, args []string, lock string, size, rounds, parallel int) (search.Sets, error) {
	var x search.Sets
	if lock == "" {
		return x, usagef("explore --faults wants --lock, such as --lock set-nx")
	}
	for _, flag := range []string{"seeds", "shard", "all", "no-shrink"} {
		if c.Flags().Changed(flag) {
			return x, usagef("--%s is about seeds, and --faults draws nothing", flag)
		}
	}
	if err := errors.Join(inRange(c, "faults", size, 1, faultsMax), inRange(c, "rounds", rounds, 1, roundsMax), inRange(c, "parallel", parallel, 1, 1<<10)); err != nil {
		return x, err
	}
	s, err := scenarios.Read("small-run", []byte(search.SmallRun))
	if len(args) > 0 {
		s, err = scenarios.Load(args[0])
	}
	if err != nil {
		return x, err
	}
	if len(s.Faults) > 0 {
		return x, usagef("%s has faults; explore --faults adds them to a scenario with `faults: none`", s.Name)
	}
	s.Point = "" // a set of faults need not cause it
	use, err := scenarios.ParseLock("--lock", lock, s.Locks...)
	if err != nil {
		return x, err
	}
	x = search.Sets{Size: size, Rounds: rounds, Parallel: parallel, Command: itself(simSetsName), Again: again(c, args)}
	x.Job, err = run.Prepare(c.Context(), run.Options{
		Scenario: s, Locks: []scenarios.LockUse{use}, Seed: 1, WorldName: "sim",
		Worlds: run.WorldOptions{SimTrial: itself(simTrialName)}, Program: versionLine(),
	})
	return x, err
}

// exploreSets searches and prints the smallest sets.
func exploreSets(c *cobra.Command, x search.Sets, out string) error {
	w := c.OutOrStdout()
	dir := filepath.Join(out, report.FolderName(x.Job.Scenario.Locks[0].Name)+"-sets")
	if err := report.Writable(dir); err != nil {
		return err
	}
	work := x.Job.Scenario.Workload
	_, _ = fmt.Fprintf(w, "explore   lock %s · %s, %s, lease %v · every set of up to %s · world sim\n", x.Job.Scenario.Locks[0].Name,
		report.Plural(work.Clients, "client"), report.Plural(work.Keys, "key"), work.TTL, report.Plural(x.Size, "fault"))
	last := time.Now()
	x.Tell = func(f search.SetsFound) {
		if now := time.Now(); now.Sub(last) >= time.Second {
			last = now
			l := f.Levels[len(f.Levels)-1]
			_, _ = fmt.Fprintf(c.ErrOrStderr(), " %s: %d of at least %d sets · %d violated\n", report.Plural(l.Faults, "fault"), l.Ran, l.Sets, l.Violated)
		}
	}
	found, err := x.Run(c.Context())
	var not world.Unsupported
	switch {
	case errors.As(err, &not):
		return usagef("explore searches in the simulation only, and %s", not.Why)
	case err != nil:
		return err
	}
	for _, l := range found.Levels {
		printLevel(w, l)
	}
	kept := map[string]bool{}
	for i := range found.Smallest {
		s := &found.Smallest[i]
		if kept[s.Shows()] {
			continue // sets.json has it, and its faults repeat it
		}
		kept[s.Shows()] = true
		story, err := x.Keep(c.Context(), s, dir)
		if err != nil {
			return fmt.Errorf("repeat the set %s: %w", strings.Join(s.Faults, "; "), err)
		}
		_, _ = fmt.Fprintf(w, "\n%s by %s\n", s.Shows(), report.Plural(len(s.Faults), "fault"))
		for _, f := range s.Faults {
			_, _ = fmt.Fprintf(w, "  - {%s}\n", f)
		}
		if story != nil {
			_, _ = fmt.Fprintf(w, "  %s\n", story.Text()[0])
		}
		_, _ = fmt.Fprintf(w, "  lockbench replay %s\n  lockbench run %s --locks %s --world sim --seed 1\n",
			shellword.Quote(s.Dir), shellword.Quote(filepath.Join(s.Dir, report.ScenarioFile)), shellword.Quote(found.Lock))
	}
	file := filepath.Join(dir, search.SetsFile)
	if err := found.Write(file); err != nil {
		return err
	}
	code, outcome := found.ExitCode()
	_, _ = fmt.Fprintf(w, "\nCounts %s\nExit %d: %s.\n", shellword.Quote(file), code, outcome)
	return exitWith(code)
}

// kindsMax bounds the kinds of sets on the screen; sets.json has all.
const kindsMax = 25

// counts returns counts as text: 3 double-grant, 1 overstay.
func counts(of map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprintf("%d %s", of[name], name))
	}
	return strings.Join(all, ", ")
}

func printLevel(w io.Writer, l search.Level) {
	_, _ = fmt.Fprintf(w, "%-9s %s, %d ran, %d violated, %d unknown, %d not run; %d different histories", report.Plural(l.Faults, "fault"), report.Plural(l.Sets, "set"), l.Ran, l.Violated, l.Unknown, l.NotRun, l.Distinct)
	if len(l.Shown) > 0 {
		_, _ = fmt.Fprintf(w, " (%s)", counts(l.Shown))
	}
	if !l.Complete {
		_, _ = fmt.Fprint(w, ", incomplete")
	}
	_, _ = fmt.Fprintln(w)
	for i, kind := range slices.Sorted(maps.Keys(l.Kinds)) {
		if i == kindsMax {
			_, _ = fmt.Fprintf(w, "          and %d more kinds of sets\n", len(l.Kinds)-i)
			break
		}
		_, _ = fmt.Fprintf(w, "          %s: %s\n", kind, counts(l.Kinds[kind]))
	}
	for _, r := range l.Reasons {
		_, _ = fmt.Fprintf(w, "          %s: %.200s\n", report.Plural(r.Seeds, "set"), r.Why)
	}
}
