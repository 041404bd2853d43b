package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/internal/campaign"
	"lockbench/internal/report"
	"lockbench/internal/shard"
	"lockbench/internal/shellword"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// matrixFlags are the flags of matrix.
type matrixFlags struct {
	campaignFlags
	locks, shard string
	episodes     int
}

func newMatrixCommand() *cobra.Command {
	var f matrixFlags
	c := &cobra.Command{
		Use:   "matrix",
		Short: "Run many scenarios on many locks, and lay the verdicts side by side",
		Long: `matrix runs the chosen scenarios, each with those of its locks that were chosen, and
writes one page: a heat map of verdicts with rates, each cell a link to a run.

A scenario runs once; with --episodes as often as that needs, each time with the next
seed, and the last run has the episodes that are left; with --budget as long as there is time for. Interrupted, even by kill -9, it goes
on with --resume DIR: what was finished is not done again, but for runs in which the
harness failed.

Exit codes: 0 as expected, 1 not, 2 something was undecided or not run, also if no chosen
lock runs in this world, 3 the harness failed in some run, 64 wrong usage. If several
apply: 3, then 1, then 2.`,
		Example: `  lockbench matrix --world sim
  lockbench matrix --scenarios 'failover*,partition-*' --locks 'set-nx,redlock*' --episodes 20
  lockbench matrix --budget 2h
  lockbench matrix --servers etcd://a:2379,b:2379,c:2379 --hooks hooks.yaml --scenarios steady,leader-kill --locks no-lock,etcd-mutex
  lockbench matrix --resume results/matrix/20261121-114000-7`,
		Args: nothing,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	f.addCampaign(c, campaign.MatrixKind, "")
	fl := c.Flags()
	fl.StringVar(&f.locks, "locks", "", "names or globs of the scenarios' own locks, locks with options, commands, libraries, locks on other services: set-nx,redlock*,mine=cmd:./guest,redsync,pg-row (default: all of their own)")
	completeList(c, "locks", catalog.Names)
	f.addWorld(c, "auto")
	f.addServers(c)
	fl.IntVar(&f.episodes, "episodes", 0, "how many episodes each cell has, in as many runs as that takes (default: one run of each scenario)")
	fl.Uint64Var(&f.seed, "seed", 0, "the seed of the first runs; those after it count up (default: drawn, and printed)")
	fl.StringVar(&f.shard, "shard", "", "I/N: only the I-th of N parts of the scenarios, for lockbench merge")
	return c
}

func (f *matrixFlags) run(c *cobra.Command) error {
	if err := f.check(c, "2h", "episodes"); err != nil {
		return err
	}
	if f.episodes > scenarios.EpisodesMax {
		return usagef("--episodes wants a number of at most %d, not %d", scenarios.EpisodesMax, f.episodes)
	}
	m, err := f.begin(c)
	if err != nil {
		return err
	}
	if err := f.meant(); err != nil {
		return err
	}
	chosen, err := campaign.Choose(m.Settings)
	if err != nil {
		return err
	}
	w, passed, err := f.pick(c, f.world)
	if err != nil {
		return err
	}
	if err := chosen.Fit(w); err != nil {
		return err
	}
	if f.resume == "" {
		m.Again, m.Groups = f.again(w.Name()), chosen.Groups()
		if m, err = campaign.Create(f.out, m.Settings, []campaign.World{chosen.In(w.Name(), w.About(), nil)}); err != nil {
			return err
		}
	}
	say := sayWithin(c)
	for _, p := range passed {
		say(fmt.Sprintf("(not %s: %v)", p.World, p.Err))
	}
	say(fmt.Sprintf("matrix   seed %d · %s · world %s, %s", m.Seed, count(len(chosen), "scenario"), w.Name(), w.About()))
	sayResume(c, m.Resume())
	err = m.Run(c.Context(), campaign.Work{
		Chosen: chosen, Budget: f.budget, Say: say, Columns: report.TerminalWidth(c.OutOrStdout()), Places: map[string]campaign.Place{w.Name(): f.place(w, chosen)},
	})
	return endCampaign(c, m, err)
}

// begin is what was asked for, now or when the matrix was begun.
func (f *matrixFlags) begin(c *cobra.Command) (*campaign.Campaign, error) {
	if f.resume != "" {
		m, err := f.open(c, "a", campaign.MatrixKind, append([]string{"locks", "scenarios", "world", "seed", "episodes", "shard", "out"}, serverFlagNames...)...)
		if err == nil && len(m.Worlds) != 1 {
			err = usagef("--resume: %s is put together of several worlds; go on with its parts", f.resume)
		}
		if err == nil {
			f.world, f.given = m.Worlds[0].World, m.Servers
		}
		return m, err
	}
	if !c.Flags().Changed("seed") {
		f.seed = uint64(rand.Uint32())
	}
	m := &campaign.Campaign{Settings: f.settings(campaign.MatrixKind)}
	m.Locks, m.Episodes = f.locks, f.episodes
	var err error
	if f.shard != "" {
		m.Shard, err = shardOf(f.shard)
	}
	return m, err
}

// shardOf reads --shard I/N.
func shardOf(text string) (shard.Shard, error) {
	s, err := shard.Parse(text)
	if err != nil {
		return s, usagef("--shard: %v", err)
	}
	return s, nil
}

// again is the command that does the same anew.
func (f *matrixFlags) again(world string) string {
	words := []string{"lockbench matrix --world", world, "--seed", strconv.FormatUint(f.seed, 10)}
	for _, flag := range [][2]string{{"--scenarios", f.scenarios}, {"--locks", f.locks}, {"--shard", f.shard}} {
		if flag[1] != "" {
			words = append(words, flag[0], shellword.Quote(flag[1]))
		}
	}
	for _, word := range f.given.Words() {
		words = append(words, shellword.Quote(word))
	}
	words = append(words, f.words()...)
	if f.episodes > 0 {
		words = append(words, "--episodes", strconv.Itoa(f.episodes))
	}
	if f.budget > 0 {
		words = append(words, "--budget", f.budget.String())
	}
	return strings.Join(words, " ")
}
