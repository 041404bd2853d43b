package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/world"
	"lockbench/nemesis"
	"lockbench/scenarios"
)

func newPlanCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "plan SCENARIO|FILE.yaml",
		Short: "Print what a run would do, without doing it",
		Long: `plan draws everything that the seed decides beforehand and prints it: each step
of each episode, and which steps cannot concern which lock. What a role means
(the master, the holder) is decided when a step strikes.`,
		Example:           "  lockbench plan failover --seed 7\n  lockbench plan ./mine.yaml --locks redlock/nodes=3 --episodes 2",
		Args:              wants("a scenario"),
		ValidArgsFunction: completeScenarios,
		RunE: func(c *cobra.Command, args []string) error {
			o, err := f.runOptions(c, args[0])
			if err != nil {
				return err
			}
			s, plan, err := run.Prepare(o)
			if err != nil {
				return err
			}
			var in run.WorldOptions
			if err := f.reach(&in); err != nil {
				return err
			}
			w, err := plannedWorld(f.world, in)
			if err != nil {
				return err
			}
			if err := o.Fits(&s, w); err != nil {
				return err
			}
			out := c.OutOrStdout()
			_, _ = fmt.Fprintf(out, "%s   seed %d · %s · %s\n", s.Name, o.Seed, count(s.Episodes, "episode"), count(len(s.Locks), "lock"))
			printPlan(sayTo(c, out), report.TerminalWidth(out), &s, plan, w, f.noFaults)
			if len(plan) == 0 || f.noFaults {
				return nil
			}
			for n := 1; n <= s.Episodes; n++ {
				_, _ = fmt.Fprintf(out, "episode %d\n", n)
				for _, p := range plan.Episode(n) {
					_, _ = fmt.Fprintf(out, "  %2d  %s\n", p.ID, p)
				}
			}
			return nil
		},
	}
	f.addPlanFlags(c)
	return c
}

// plannedWorld is the world whose abilities a plan is checked against. It need not
// be ready: a plan can be read on a machine that cannot run it.
func plannedWorld(name string, o run.WorldOptions) (world.World, error) {
	all := run.Worlds(o)
	for _, w := range all {
		if name == "auto" || name == w.Name() {
			return w, nil
		}
	}
	return nil, usagef("no world is called %q; %s", name, didYouMean(name, append(worldNames(), "auto")))
}

// printHead says what runs where.
func printHead(say func(line string), columns int, s *scenarios.Scenario, in world.World, passed []*run.NotReady, f *runFlags, parallel int) {
	indent := strings.Repeat(" ", len(s.Name)+3)
	side := " side by side"
	switch {
	case len(s.Locks) == 1:
		side = ""
	case parallel == 1:
		side = " one after another"
	}
	say(s.Name + "   " + folded(fmt.Sprintf("seed %d · %s · %s%s · world %s, %s", f.seed,
		count(s.Episodes, "episode"), count(len(s.Locks), "lock"), side, in.Name(), in.About()), len(indent), columns))
	for _, p := range passed {
		say(indent + folded(fmt.Sprintf("(not %s: %v; `lockbench doctor` says more)", p.World, p.Err), len(indent), columns))
	}
}

// printPlan says in a few lines what each episode does, and what is n/a for whom.
func printPlan(say func(line string), columns int, s *scenarios.Scenario, plan nemesis.Plan, in world.World, spared bool) {
	for _, u := range s.Locks {
		if u.Module != "" {
			say("module     " + folded(fmt.Sprintf("%s is %s, SHA-256 %.12s...", u.Name, u.Module, u.Sum), 11, columns))
		}
	}
	switch {
	case len(plan) == 0:
		say("plan       no faults")
		return
	case spared:
		say("plan       faults left out (--no-faults), so nothing can be shown")
		return
	}
	var steps []string
	for _, p := range plan.Episode(1) {
		steps = append(steps, p.Step.Describe(p.Fault))
	}
	of := "each episode: "
	if slices.ContainsFunc(s.Faults, func(step nemesis.Step) bool { return step.Fault == nemesis.RandomFaults }) {
		of = "others in each episode, in the first: "
	}
	say("plan       " + folded(of+strings.Join(steps, "; "), 11, columns))
	for _, line := range run.NotConcerned(s, plan, in) {
		say("           " + folded(line, 11, columns))
	}
}

// folded breaks a text between words so that it fits into the columns beside an
// indent that the caller has written before its first line.
func folded(text string, indent, columns int) string {
	var b strings.Builder
	at := indent
	for i, word := range strings.Fields(text) {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+length > columns:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += length
	}
	return b.String()
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
