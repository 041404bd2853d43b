package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockbench/internal/claim"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/shellword"
	"lockbench/internal/virtual/search"
	"lockbench/internal/world"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

func newExploreCommand() *cobra.Command {
	var lock, workload, seeds, part, out string
	var all, keep bool
	var parallel, faults, rounds int
	var budget time.Duration
	var resume bool
	c := &cobra.Command{
		Use:   "explore [SCENARIO|FILE.yaml] --lock LOCK --seeds A..B|--faults K",
		Short: "Search the simulation for a violation, and shrink it",
		Long: `explore runs one lock through a scenario in virtual time, once for each seed. Every
seed varies the scenario within its bounds: the times of the plan, the number of clients
and keys, the length of holds, and the network. explore stops at the first violation, or
counts all violations with --all. It shrinks the first one and writes it to a results
folder, which ` + "`lockbench replay`" + ` can run again; results/latest points to it.

With --faults K it draws nothing: it takes a small run with two clients, and tries every
set of up to K faults at every step of a client. It prints the smallest set for each kind
of harm. A second fault starts after the first one took effect, and a set that is violated
gets no further fault. --budget ends the search early and reports what is complete, and
--resume continues a search that ended early or was killed.

Ctrl-C ends the search early. explore then writes explored.json, with how many of its
seeds were tried, and the smallest run of the first violation that it has found by then.

Exit codes: 0 the lock did as the scenario expects, 1 it did not, 2 the verdicts are
unknown or the search was interrupted, 3 the harness failed, which includes a run that
died, 64 wrong usage.`,
		Example: `  lockbench explore failover --lock set-nx --seeds 1..200
  lockbench explore failover --lock redlock --seeds 1..1000 --all
  lockbench explore --faults 1 --lock set-nx
  lockbench explore --faults 2 --lock redlock --budget 1h`,
		Args:              wants(0, 1, "a scenario"),
		ValidArgsFunction: completeScenarios,
		RunE: func(c *cobra.Command, args []string) error {
			if err := writableName(out); err != nil {
				return err
			}
			if c.Flags().Changed("faults") {
				x, err := sets(c, args, setsFlags{lock, workload, part, faults, rounds, parallel, budget, resume})
				if err != nil {
					return err
				}
				return exploreSets(c, x, out)
			}
			if resume || budget != 0 || part != "" || c.Flags().Changed("workload") {
				return usagef("--workload, --resume, --budget and --shard are about sets of faults; give --faults, too. To split seeds over machines, give each its own range")
			}
			if len(args) == 0 {
				return usagef("explore wants a scenario, or --faults")
			}
			x, err := exploration(c, args[0], lock, seeds, parallel)
			if err != nil {
				return err
			}
			x.All = all
			return explore(c, x, out, !keep)
		},
	}
	fl := c.Flags()
	fl.StringVar(&lock, "lock", "", "the lock, with options: redlock/nodes=3 (required)")
	fl.StringVar(&seeds, "seeds", "", "the seeds: one number, or a range with both ends included, such as 1..200 (required)")
	fl.StringVar(&part, "shard", "", "I/N: with --faults: run part I of N of the largest sets; lockbench merge adds up the parts")
	fl.IntVar(&faults, "faults", 0, "K: try every set of up to K faults in place of seeds")
	fl.StringVar(&workload, "workload", "counter", "with --faults: the work of the small run: "+strings.Join(search.SmallWorkloads(), ", "))
	fl.IntVar(&rounds, "rounds", 2, "with --faults: how often each client is granted the lock before the last fault")
	fl.DurationVar(&budget, "budget", 0, "with --faults: how long the search may take, such as 30m")
	fl.BoolVar(&resume, "resume", false, "with --faults: continue the search whose journal, sets.jsonl, is in --out")
	fl.BoolVar(&all, "all", false, "continue after the first violation and count all violations")
	fl.BoolVar(&keep, "no-shrink", false, "do not shrink the violation")
	fl.IntVar(&parallel, "parallel", 0, "how many seeds run at once (default: the number of processors)")
	fl.StringVar(&out, "out", "results", "the folder for results folders")
	completeName(c, "lock", catalog.Names)
	return c
}

// exploration reads the flags. An error means wrong usage.
func exploration(c *cobra.Command, scenario, lock, seeds string, parallel int) (search.Exploration, error) {
	var x search.Exploration
	if lock == "" || seeds == "" {
		return x, usagef("explore wants --lock and --seeds, such as --lock set-nx --seeds 1..200")
	}
	s, err := scenarios.Load(scenario)
	if err != nil {
		return x, err
	}
	s.Point = "" // a search varies the scenario, and looks for violations only
	use, err := scenarios.ParseLock("--lock", lock, s.Locks...)
	if err != nil {
		return x, err
	}
	if err := inRange(c, "parallel", parallel, 1, math.MaxInt); err != nil {
		return x, err
	}
	if x.From, x.To, err = seedRange(seeds); err != nil {
		return x, err
	}
	x.Parallel = parallel
	x.Job, err = run.Prepare(c.Context(), run.Options{
		Scenario: s, Locks: []scenarios.LockUse{use}, Seed: x.From, WorldName: "sim", Worlds: run.WorldOptions{SimTrial: itself(simTrialName)}, Program: versionLine(),
	})
	return x, err
}

// seedRange parses A..B, or one number.
func seedRange(text string) (from, to uint64, err error) {
	a, b, isRange := strings.Cut(text, "..")
	if !isRange {
		b = a
	}
	from, errA := strconv.ParseUint(strings.TrimSpace(a), 10, 63)
	to, errB := strconv.ParseUint(strings.TrimSpace(b), 10, 63)
	if errA != nil || errB != nil || to < from {
		return 0, 0, usagef("--seeds: %q is not a range of seeds; write A..B with whole numbers, the smaller one first, such as 1..200", text)
	}
	return from, to, nil
}

// explore searches, shrinks the first violation, and prints the result.
func explore(c *cobra.Command, x search.Exploration, out string, shrink bool) error {
	w := c.OutOrStdout()
	dir := filepath.Join(out, report.FolderName(x.Job.Scenario.Name)+"-explored") // of the counts
	if err := report.Writable(dir); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(w, "explore %s   lock %s · seeds %d..%d · world sim\n", x.Job.Scenario.Name, x.Job.Scenario.Locks[0].Name, x.From, x.To)
	last, latest := time.Now(), time.Now()
	total := x.Left()
	var pace run.Pace
	x.Tell = func(e search.Explored) {
		now := time.Now()
		pace.Add(now.Sub(latest))
		latest = now
		if now.Sub(last) >= time.Second {
			last = now
			_, _ = fmt.Fprintf(c.ErrOrStderr(), " %d of %d seeds · %.1f seeds/s · %d violated · %d failed · ~%s left\n",
				e.Tried, total, float64(e.Tried)/e.ElapsedS, e.Violated, len(e.Broken), report.Roughly(pace.Left(total-e.Tried)))
		}
	}
	found, err := x.Run(c.Context())
	var not world.Unsupported
	switch {
	case errors.As(err, &not):
		return usagef("explore searches in the simulation only, and %s; real servers may have it: lockbench run --world local", not.Why)
	case err != nil:
		return err
	}
	printExplored(w, found)
	if x.All || found.Interrupted {
		if err := found.Write(dir); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(w, "counts     %s\n", filepath.Join(dir, search.ExploredFile))
	}
	code := found.ExitCode(x.Expectation())
	if shrink && len(found.Found) > 0 {
		whole, err := shrinkFirst(c, x, found.Found[0], out)
		if err != nil {
			return err
		}
		if !whole && found.Complete() {
			_, _ = fmt.Fprintf(w, "Exit %d: interrupted while the violation was shrunk; the same command shrinks it further.\n", report.ExitUnknown)
			return exitWith(report.ExitUnknown)
		}
	}
	return exitExplored(w, found, code)
}

// shrinkFirst shrinks a violation and prints the result. It reports whether the shrinking was not interrupted.
func shrinkFirst(c *cobra.Command, x search.Exploration, first search.FoundSeed, out string) (whole bool, err error) {
	w := c.OutOrStdout()
	temp, err := claim.NewDir("shrink")
	if err != nil {
		return false, err
	}
	defer func() { _ = temp.Remove() }()
	small, err := x.Shrink(c.Context(), first, out, temp.Path, func(text string) {
		_, _ = fmt.Fprintf(c.ErrOrStderr(), " smaller: %s\n", text)
	})
	if err != nil {
		return false, fmt.Errorf("shrink the violation of seed %d: %w", first.Seed, err)
	}
	repeated := fmt.Sprintf("%d of 3 runs of it gave the same history", small.Same)
	if small.Interrupted {
		repeated = "interrupted, so a smaller one may exist"
	}
	_, _ = fmt.Fprintf(w, "smallest   %s, %s; %d runs tried; %s\n\n",
		report.Plural(small.Calls, "client operation"), report.Plural(small.Faults, "fault"), small.Runs, repeated)
	for _, line := range small.Counterexample.Text() {
		_, _ = fmt.Fprintln(w, line)
	}
	sayTo(w)("\nAgain    lockbench replay " + shellword.Quote(small.Dir))
	if small.Same < 3 && !small.Interrupted {
		return false, exitError{report.ExitHarness, fmt.Errorf("the smallest run of seed %d does not repeat itself, so the simulation is at fault", first.Seed)}
	}
	return !small.Interrupted, nil
}

// printExplored prints the result of a search.
func printExplored(w io.Writer, e *search.Explored) {
	tried := report.Plural(e.Tried, "seed")
	if !e.Complete() {
		tried = fmt.Sprintf("%d of %s", e.Tried, report.Plural(e.Seeds, "seed"))
	}
	_, _ = fmt.Fprintf(w, "tried      %s in %.1f s (%.1f seeds/s), different histories: %d, a fault in effect in %d of them\n",
		tried, e.ElapsedS, float64(e.Tried)/max(e.ElapsedS, 0.001), e.Distinct, e.Bitten)
	classes := ""
	if counts, _ := e.Counts(); len(counts) > 0 {
		classes = " (" + strings.Join(counts, ", ") + ")"
	}
	_, _ = fmt.Fprintf(w, "found      %s%s, %d unknown, %d failed\n", report.Plural(e.Violated, "violation"), classes, e.Unknown, len(e.Broken))
	for i, f := range e.Found {
		if i == 3 {
			_, _ = fmt.Fprintf(w, "           and %s\n", report.Plural(len(e.Found)-i, "more seed"))
			break
		}
		_, _ = fmt.Fprintf(w, "           seed %d: %s (%s)\n", f.Seed, f.Text, f.Class)
	}
	for _, r := range e.Reasons {
		_, _ = fmt.Fprintf(w, "unknown    %s, first seed %d: %s\n", report.Plural(r.Seeds, "seed"), r.First, r.Why)
	}
	for i, b := range e.Broken {
		if i == 3 {
			_, _ = fmt.Fprintf(w, "           and %d more that failed\n", len(e.Broken)-i)
			break
		}
		_, _ = fmt.Fprintf(w, "           seed %d failed: %.300s\n", b.Seed, b.Error)
	}
}

// exitExplored prints the outcome of a search and exits with its code.
func exitExplored(w io.Writer, e *search.Explored, code int) error {
	outcome := report.Exits[code].Words
	if code == report.ExitUnknown {
		outcome = "nothing was shown"
	}
	if code == report.ExitUnknown && !e.Complete() {
		outcome = fmt.Sprintf("incomplete, because %d of %s were not tried", e.Seeds-e.Tried, report.Plural(e.Seeds, "seed"))
		if e.Interrupted {
			outcome = "interrupted: " + strings.TrimPrefix(outcome, "incomplete, because ")
		}
	}
	_, _ = fmt.Fprintf(w, "Exit %d: %s; expected of %s: %s.\n", code, outcome, e.Lock, e.Expected)
	return exitWith(code)
}
