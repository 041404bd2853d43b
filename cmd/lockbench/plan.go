package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/nemesis"
)

// printDryRun prints each step of each episode with the values that the seed draws. Targets such as the master or the
// holder are resolved when the step is injected.
func printDryRun(out io.Writer, j *run.Job) {
	s := j.Scenario
	_, _ = fmt.Fprintf(out, "%s   seed %d · %s · %s\n", s.Name, j.Options.Seed, report.Plural(s.Episodes, "episode"), report.Plural(len(s.Locks), "lock"))
	say := func(line string) { _, _ = fmt.Fprintln(out, report.Printable(line)) }
	printPlan(say, report.TerminalWidth(out), j)
	if len(j.Plan) == 0 || j.Options.NoFaults {
		return
	}
	for n := 1; n <= s.Episodes; n++ {
		_, _ = fmt.Fprintf(out, "episode %d\n", n)
		for _, p := range j.Plan.Episode(n) {
			_, _ = fmt.Fprintf(out, "  %2d  %s\n", p.ID, p)
		}
	}
}

// printHead prints the first lines: the seed, the amount of work and the world.
func printHead(say func(line string), columns int, j *run.Job) {
	s := j.Scenario
	indent := strings.Repeat(" ", len(s.Name)+3)
	side := " side by side"
	switch {
	case len(s.Locks) == 1:
		side = ""
	case j.Parallel == 1:
		side = " one after another"
	}
	say(s.Name + "   " + report.Wrap(fmt.Sprintf("seed %d · %s · %s%s · world %s, %s", j.Options.Seed,
		report.Plural(s.Episodes, "episode"), report.Plural(len(s.Locks), "lock"), side, j.World.Name(), j.World.About()), len(indent), columns))
	for _, p := range j.Passed {
		say(indent + report.Wrap(fmt.Sprintf("(not %s: %v; `lockbench doctor` says more)", p.World, p.Err), len(indent), columns))
	}
}

// printPlan prints a summary of the episodes, and the steps that do not apply to some locks.
func printPlan(say func(line string), columns int, j *run.Job) {
	s := j.Scenario
	for _, u := range s.Locks {
		if u.Module != "" {
			say("module     " + report.Wrap(fmt.Sprintf("%s is %s, SHA-256 %.12s...", u.Name, u.Module, u.Sum), 11, columns))
		}
	}
	switch {
	case len(j.Plan) == 0:
		say("plan       no faults")
		return
	case j.Options.NoFaults:
		say("plan       faults left out (--no-faults), so nothing can be shown")
		return
	}
	var steps []string
	for _, p := range j.Plan.Episode(1) {
		steps = append(steps, p.Step.Describe(p.Fault))
	}
	of := "each episode: "
	if slices.ContainsFunc(s.Faults, func(step nemesis.Step) bool { return step.Fault == nemesis.RandomFaults }) {
		of = "others in each episode, in the first: "
	}
	say("plan       " + report.Wrap(of+strings.Join(steps, "; "), 11, columns))
	for _, line := range j.NotConcerned() {
		say("           " + report.Wrap(line, 11, columns))
	}
}
