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
	"lockbench/internal/shard"
	"lockbench/internal/shellword"
	"lockbench/internal/virtual/search"
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
			return search.ServeSets(c.Context(), c.InOrStdin(), c.OutOrStdout(), catalog.Open, nil)
		},
	}
}

// faultsMax and roundsMax bound a search that would take days.
const (
	faultsMax = 3
	roundsMax = 5
)

// setsFlags are the flags of a search through sets of faults.
type setsFlags struct {
	lock, workload, shard    string
	faults, rounds, parallel int
	budget                   time.Duration
	resume                   bool
}

// sets reads the flags of a search through sets of faults. An error means wrong usage.
func sets(c *cobra.Command, args []string, f setsFlags) (search.Sets, error) {
	var x search.Sets
	lock, size, rounds, parallel := f.lock, f.faults, f.rounds, f.parallel
	if lock == "" {
		return x, usagef("explore --faults wants --lock, such as --lock set-nx")
	}
	for _, flag := range []string{"seeds", "all", "no-shrink"} {
		if c.Flags().Changed(flag) {
			return x, usagef("--%s is about seeds, and --faults draws nothing", flag)
		}
	}
	if err := errors.Join(inRange(c, "faults", size, 1, faultsMax), inRange(c, "rounds", rounds, 1, roundsMax), inRange(c, "parallel", parallel, 1, 1<<10)); err != nil {
		return x, err
	}
	if f.budget < 0 || f.budget == 0 && c.Flags().Changed("budget") {
		return x, usagef("--budget is %v; give a duration, such as 30m", f.budget)
	}
	var part shard.Shard
	var err error
	if f.shard != "" {
		if part, err = shardOf(f.shard); err != nil {
			return x, err
		}
	}
	s, err := smallRun(c, args, f.workload)
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
	x = search.Sets{
		Size: size, Rounds: rounds, Parallel: parallel, Command: itself(simSetsName), Again: again(c, args),
		Shard: part, Budget: f.budget, Resume: f.resume,
	}
	x.Job, err = run.Prepare(c.Context(), run.Options{
		Scenario: s, Locks: []scenarios.LockUse{use}, Seed: 1, WorldName: "sim",
		Worlds: run.WorldOptions{SimTrial: itself(simTrialName)}, Program: versionLine(),
	})
	return x, err
}

// smallRun returns the scenario of a search: that of the arguments, or the small run with a workload.
func smallRun(c *cobra.Command, args []string, workload string) (*scenarios.Scenario, error) {
	if len(args) > 0 {
		if c.Flags().Changed("workload") {
			return nil, usagef("--workload and a scenario exclude each other: the scenario has a workload")
		}
		return scenarios.Load(args[0])
	}
	text, err := search.SmallRun(workload)
	if err != nil {
		return nil, usagef("--workload: %v", err)
	}
	return scenarios.Read("small-run", []byte(text))
}

// exploreSets searches and prints the smallest sets.
func exploreSets(c *cobra.Command, x search.Sets, out string) error {
	w := c.OutOrStdout()
	dir := out
	if x.Shard.N == 0 {
		dir = filepath.Join(out, report.FolderName(x.Job.Scenario.Locks[0].Name)+"-sets")
	}
	if err := report.Writable(dir); err != nil {
		return err
	}
	x.Journal = filepath.Join(dir, search.JournalFile)
	work := x.Job.Scenario.Workload
	line := fmt.Sprintf("explore   lock %s · %s, %s, lease %v · every set of up to %s · world sim", x.Job.Scenario.Locks[0].Name,
		report.Plural(work.Clients, "client"), report.Plural(work.Keys, "key"), work.TTL, report.Plural(x.Size, "fault"))
	if x.Shard.N > 0 {
		line += " · shard " + x.Shard.String()
	}
	_, _ = fmt.Fprintln(w, line)
	x.Begins = func(e search.Estimate) {
		about := ""
		if e.Guessed {
			about = "about "
		}
		_, _ = fmt.Fprintf(c.ErrOrStderr(), " %s: %s%s or more, ~%s\n", report.Plural(e.Faults, "fault"), about, report.Plural(e.Sets, "set"), report.Roughly(e.Takes))
	}
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
	if sets := found.Count(); found.Processor > 0 {
		_, _ = fmt.Fprintf(w, "speed     %s in %s of processor time, %.0f a second\n", report.Plural(sets, "set"),
			found.Processor.Round(time.Second/10), float64(sets)/found.Processor.Seconds())
	}
	printSets(w, found)
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
	_, _ = fmt.Fprintf(w, "\nCounts %s\n", shellword.Quote(file))
	if !found.Whole() {
		_, _ = fmt.Fprintf(w, "Go on  %s\n", search.Resumed(x.Again))
	}
	return exitSets(w, found)
}

// exitSets prints the outcome of a search through sets and exits with its code.
func exitSets(w io.Writer, found *search.SetsFound) error {
	code, outcome := found.ExitCode()
	_, _ = fmt.Fprintf(w, "Exit %d: %s.\n", code, outcome)
	return exitWith(code)
}

// mergeSets adds up the shards of a search through sets.
func mergeSets(c *cobra.Command, parts []*search.SetsPart, out string) error {
	found, missing, err := search.MergeSets(parts)
	if err != nil {
		return err
	}
	w := c.OutOrStdout()
	_, _ = fmt.Fprintf(w, "explore   lock %s · every set of up to %s · %s\n", found.Lock, report.Plural(found.Size, "fault"), report.Plural(len(parts), "shard"))
	printSets(w, found)
	for _, s := range found.Smallest {
		_, _ = fmt.Fprintf(w, "\n%s by %s\n", s.Shows(), report.Plural(len(s.Faults), "fault"))
		for _, f := range s.Faults {
			_, _ = fmt.Fprintf(w, "  - {%s}\n", f)
		}
	}
	for _, p := range parts {
		if text := p.Incomplete(); text != "" {
			sayTo(w)("incomplete " + text)
		}
	}
	if len(missing) > 0 {
		_, _ = fmt.Fprintf(w, "missing    shards %v\n", missing)
	}
	if out != "" {
		if err := found.Write(filepath.Join(out, search.SetsFile)); err != nil {
			return err
		}
	}
	return exitSets(w, found)
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

// printSets prints the counts of a search through sets.
func printSets(w io.Writer, found *search.SetsFound) {
	for _, l := range found.Levels {
		printLevel(w, l)
	}
}

func printLevel(w io.Writer, l search.Level) {
	_, _ = fmt.Fprintf(w, "%-9s %s, %d ran, %d violated, %d unknown, %d not run; %d different histories", report.Plural(l.Faults, "fault"), report.Plural(l.Sets, "set"), l.Ran, l.Violated, l.Unknown, l.NotRun, l.Distinct)
	if len(l.Shown) > 0 {
		_, _ = fmt.Fprintf(w, " (%s)", counts(l.Shown))
	}
	if !l.Complete {
		_, _ = fmt.Fprintf(w, ", incomplete: %.2g %%", 100*float64(l.Tried)/float64(max(l.Starts, 1)))
	}
	_, _ = fmt.Fprintln(w)
	for i, kind := range slices.Sorted(maps.Keys(l.Kinds)) {
		if i == kindsMax {
			_, _ = fmt.Fprintf(w, "          and %d more kinds of sets\n", len(l.Kinds)-i)
			break
		}
		_, _ = fmt.Fprintf(w, "          %s: %s\n", kind, counts(l.Kinds[kind]))
	}
	for _, n := range l.Not {
		_, _ = fmt.Fprintf(w, "          not run: %s\n", strings.Join(n.Faults, "; "))
	}
	for _, r := range l.Reasons {
		_, _ = fmt.Fprintf(w, "          %s: %.200s\n", report.Plural(r.Seeds, "set"), r.Why)
	}
}
