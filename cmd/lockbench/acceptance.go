package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockbench/internal/acceptance"
	"lockbench/internal/matrix"
	"lockbench/internal/run"
	"lockbench/internal/world"
	"lockbench/scenarios"
)

// steady is the scenario in which nothing breaks, which is run more often than others.
const steady = "steady"

// How often each scenario is run, if nothing else is said: what takes no time is tried
// with more seeds.
const (
	seedsSim, seedsReal   = 10, 3
	steadySim, steadyReal = 100, 20
)

// acceptanceFlags are the flags of acceptance.
type acceptanceFlags struct {
	matrixFlags
	worlds string
	seeds  int
	steady int
}

func newAcceptanceCommand() *cobra.Command {
	var f acceptanceFlags
	c := &cobra.Command{
		Use:   "acceptance",
		Short: "Run every scenario in every world, and see whether each does what it says",
		Long: fmt.Sprintf(`acceptance runs each scenario with all of its locks in each world that can: with %d seeds
in the simulation and %d in the real worlds, and %s, in which nothing breaks, %d and
%d times. Each run must have the verdicts that its scenario expects; rates must lie within
their bounds over all seeds together.

It writes acceptance.md: how many runs were as expected of how many, the command that
repeats each that was not, and what was not run. Interrupted, even by kill -9, or out of
budget, it goes on with --resume DIR: what was finished is not done again, but for runs in
which the harness failed.

Exit codes: 0 all that was asked for was run and is as expected, 1 something is not,
2 something was undecided or not run, 3 the harness failed in some run, 64 wrong usage.`, seedsSim, seedsReal, steady, steadySim, steadyReal),
		Example: `  lockbench acceptance --budget 30m
  lockbench acceptance --worlds sim --scenarios 'failover*,steady'
  lockbench acceptance --resume results/acceptance/20261121-114000-1 --budget 30m`,
		Args: nothing,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	fl := c.Flags()
	fl.StringVar(&f.worlds, "worlds", "sim,local,docker", "where, in this order")
	fl.StringVar(&f.scenarios, "scenarios", "", "names or globs, or files that end in .yaml (default: all)")
	fl.IntVar(&f.seeds, "seeds", 0, fmt.Sprintf("how many runs of each scenario (default: %d in sim, %d in the others)", seedsSim, seedsReal))
	fl.IntVar(&f.steady, "steady", 0, fmt.Sprintf("how many runs of scenario %s (default: %d in sim, %d in the others)", steady, steadySim, steadyReal))
	fl.Uint64Var(&f.seed, "seed", 1, "the seed of the first runs; those after it count up")
	fl.DurationVar(&f.budget, "budget", 0, "how long it may take, shared by the worlds; no run is begun that is not expected to fit")
	fl.IntVar(&f.parallel, "parallel", 0, "how many locks of a scenario run side by side (default: what the machine carries)")
	fl.StringVar(&f.redisServer, "redis-server", "", "the server to start (default: from PATH)")
	fl.StringVar(&f.redisImage, "redis-image", "", "in world docker: the image to start servers from")
	fl.StringVar(&f.out, "out", "results", "where the folder is made")
	fl.StringVar(&f.resume, "resume", "", "go on with the acceptance in this folder, as it was begun")
	_ = c.RegisterFlagCompletionFunc("scenarios", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return scenarios.Names(), cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

func (f *acceptanceFlags) run(c *cobra.Command) error {
	if err := notEmpty(c, "worlds", "scenarios", "redis-server", "redis-image", "out", "resume"); err != nil {
		return err
	}
	if f.budget < 0 || c.Flags().Changed("budget") && f.budget == 0 {
		return usagef("--budget wants more than nothing, such as 30m")
	}
	for name, n := range map[string]int{"seeds": f.seeds, "steady": f.steady} {
		if c.Flags().Changed(name) && n < 1 {
			return usagef("--%s wants a number of at least 1, not %d", name, n)
		}
	}
	settings := acceptance.Settings{
		Scenarios: f.scenarios, Seed: f.seed, Started: time.Now().UTC().Truncate(time.Second),
		Program: strings.TrimSpace(versionLine()), Machine: run.Machine(),
	}
	var err error
	if f.resume != "" {
		for _, name := range []string{"worlds", "scenarios", "seed", "seeds", "steady", "out"} {
			if c.Flags().Changed(name) {
				return usagef("--resume goes on with an acceptance as it was begun, and --%s would change it; leave it out", name)
			}
		}
		if settings, err = acceptance.ReadSettings(f.resume); err != nil {
			return usageError{err.Error()}
		}
		f.scenarios = settings.Scenarios
	} else if settings.Asked, err = f.asked(); err != nil {
		return err
	}
	parts, err := f.parts()
	if err != nil {
		return err
	}
	dir := f.resume
	if dir == "" {
		settings.Again = f.again(c)
		if dir, err = acceptance.Create(f.out, settings); err != nil {
			return err
		}
	}
	say := sayTo(c.OutOrStdout())
	say(fmt.Sprintf("acceptance   seed %d · %s", settings.Seed, count(len(parts), "scenario")))
	say("goes on after an interruption with: lockbench acceptance --resume " + quote(dir))
	var places []acceptance.Place
	for _, asked := range settings.Asked {
		places = append(places, f.place(c, parts, asked))
	}
	a, err := acceptance.Run(c.Context(), dir, places, acceptance.Work{Expect: expectOf(parts), Budget: f.budget, Say: say})
	return endAcceptance(a, err, say)
}

func mergeAcceptance(c *cobra.Command, dirs []string, out string) error {
	if out == "" {
		return usagef("merge of acceptances wants --out DIR, the folder to put them in")
	}
	say := sayTo(c.OutOrStdout())
	a, err := acceptance.Merge(out, dirs, say)
	return endAcceptance(a, err, say)
}

// endAcceptance tells what came out, which there may be also if something failed.
func endAcceptance(a *acceptance.Acceptance, failed error, say func(string)) error {
	if a == nil {
		return failed
	}
	say(a.Counts())
	say("Summary  " + filepath.Join(a.Dir, acceptance.SummaryFile))
	if failed != nil {
		return failed
	}
	code := a.ExitCode()
	say(fmt.Sprintf("Exit %d: %s.", code, a.Outcome()))
	return exitWith(code)
}

// asked is what the flags ask of each world.
func (f *acceptanceFlags) asked() ([]acceptance.Asked, error) {
	var known []string
	for _, w := range run.Worlds(run.WorldOptions{}) {
		known = append(known, w.Name())
	}
	var all []acceptance.Asked
	for _, name := range strings.Split(f.worlds, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			return nil, usagef("--worlds: no world is called %q; %s", name, didYouMean(name, known))
		}
		if slices.ContainsFunc(all, func(a acceptance.Asked) bool { return a.World == name }) {
			return nil, usagef("--worlds: %s is there twice", name)
		}
		a := acceptance.Asked{World: name, Seeds: seedsReal, Steady: steadyReal}
		if name == "sim" {
			a.Seeds, a.Steady = seedsSim, steadySim
		}
		if f.seeds > 0 {
			a.Seeds = f.seeds
		}
		if f.steady > 0 {
			a.Steady = f.steady
		}
		all = append(all, a)
	}
	return all, nil
}

// again is the command that does the same anew.
func (f *acceptanceFlags) again(c *cobra.Command) string {
	words := []string{"lockbench acceptance --seed", strconv.FormatUint(f.seed, 10), "--worlds", quote(f.worlds)}
	for _, name := range []string{"scenarios", "seeds", "steady"} {
		if flag := c.Flags().Lookup(name); flag.Changed {
			words = append(words, "--"+name, quote(flag.Value.String()))
		}
	}
	return strings.Join(words, " ")
}

// place is a world with what is to be run in it.
func (f *acceptanceFlags) place(c *cobra.Command, parts []matrixPart, asked acceptance.Asked) acceptance.Place {
	p := acceptance.Place{World: asked.World}
	for _, part := range parts {
		m := part.Part
		m.Runs = asked.Seeds
		if m.Scenario == steady {
			m.Runs = asked.Steady
		}
		p.Plan = append(p.Plan, m)
	}
	w, _, err := run.Pick(c.Context(), asked.World, run.WorldOptions{
		RedisServer: f.redisServer, RedisImage: f.redisImage, SimTrial: simTrial(), Say: sayTo(c.ErrOrStderr()),
	})
	if err != nil {
		p.Missing = err.Error()
		return p
	}
	p.About = w.About()
	p.Do = f.doing(parts, w)
	return p
}

func (f *acceptanceFlags) doing(parts []matrixPart, w world.World) matrix.Do {
	return func(ctx context.Context, p matrix.Part, seed uint64, into string) error {
		return f.one(ctx, parts, p, w, seed, into)
	}
}

// expectOf judges by the scenarios' own words, whole and taken apart.
func expectOf(parts []matrixPart) acceptance.Expect {
	return acceptance.Expect{Whole: expectsOf(parts, run.Expects), Verdict: expectsOf(parts, run.ExpectsVerdict), Rate: expectsOf(parts, run.ExpectsRate)}
}
