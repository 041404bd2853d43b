package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/internal/campaign"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/shellword"
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
	campaignFlags
	worlds        string
	seeds, steady int
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
	f.addCampaign(c, campaign.AcceptanceKind, ", shared by the worlds")
	fl := c.Flags()
	fl.StringVar(&f.worlds, "worlds", "sim,local,docker", "where, in this order")
	fl.IntVar(&f.seeds, "seeds", 0, fmt.Sprintf("how many runs of each scenario (default: %d in sim, %d in the others)", seedsSim, seedsReal))
	fl.IntVar(&f.steady, "steady", 0, fmt.Sprintf("how many runs of scenario %s (default: %d in sim, %d in the others)", steady, steadySim, steadyReal))
	fl.Uint64Var(&f.seed, "seed", 1, "the seed of the first runs; those after it count up")
	return c
}

func (f *acceptanceFlags) run(c *cobra.Command) error {
	if err := f.check(c, "30m", "seeds", "steady"); err != nil {
		return err
	}
	var a *campaign.Campaign
	var worlds []string
	var err error
	if f.resume != "" {
		a, err = f.open(c, "an", campaign.AcceptanceKind, "worlds", "scenarios", "seed", "seeds", "steady", "out")
	} else if worlds, err = f.names(); err == nil {
		a = &campaign.Campaign{Settings: f.settings(campaign.AcceptanceKind)}
		a.Each, a.Again = true, f.again(c)
	}
	if err != nil {
		return err
	}
	chosen, err := campaign.Choose(a.Settings)
	if err != nil {
		return err
	}
	for _, name := range worlds {
		if w, ok := run.Find(name); ok {
			if err := chosen.Fit(w); err != nil {
				return err
			}
		}
	}
	if f.resume == "" {
		for _, name := range worlds {
			a.Worlds = append(a.Worlds, chosen.In(name, "", f.asked(name)))
		}
		a.Groups = chosen.Groups()
		if a, err = campaign.Create(f.out, a.Settings, a.Worlds); err != nil {
			return err
		}
	}
	say := sayWithin(c)
	say(fmt.Sprintf("acceptance   seed %d · %s", a.Seed, count(len(chosen), "scenario")))
	sayResume(c, a.Resume())
	places := map[string]campaign.Place{}
	for i := range a.Worlds {
		name := a.Worlds[i].World
		w, _, err := f.pick(c, name)
		if err != nil {
			places[name] = campaign.Place{Missing: err.Error()}
			continue
		}
		a.Worlds[i].About, places[name] = w.About(), f.place(w, chosen)
	}
	err = a.Run(c.Context(), campaign.Work{Chosen: chosen, Places: places, Budget: f.budget, Say: say, Columns: report.TerminalWidth(c.OutOrStdout())})
	return endCampaign(c, a, err)
}

// names are the worlds that are asked for.
func (f *acceptanceFlags) names() ([]string, error) {
	var all []string
	for _, name := range strings.Split(f.worlds, ",") {
		name = strings.TrimSpace(name)
		if known := worldNames(); !slices.Contains(known, name) {
			return nil, usagef("--worlds: no world is called %q; %s", name, didYouMean(name, known))
		}
		if slices.Contains(all, name) {
			return nil, usagef("--worlds: %s is there twice", name)
		}
		all = append(all, name)
	}
	return all, nil
}

// asked is how often each scenario is to be run in a world.
func (f *acceptanceFlags) asked(world string) func(scenario string) int {
	seeds, often := seedsReal, steadyReal
	if w, ok := run.Find(world); ok && w.Describe().Virtual {
		seeds, often = seedsSim, steadySim
	}
	return func(scenario string) int {
		if scenario == steady {
			return cmp.Or(f.steady, often)
		}
		return cmp.Or(f.seeds, seeds)
	}
}

// again is the command that does the same anew.
func (f *acceptanceFlags) again(c *cobra.Command) string {
	words := []string{"lockbench acceptance --seed", strconv.FormatUint(f.seed, 10), "--worlds", shellword.Quote(f.worlds)}
	for _, name := range []string{"scenarios", "seeds", "steady"} {
		if flag := c.Flags().Lookup(name); flag.Changed {
			words = append(words, "--"+name, shellword.Quote(flag.Value.String()))
		}
	}
	return strings.Join(append(words, f.words()...), " ")
}
