package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockbench/internal/campaign"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/shard"
	"lockbench/internal/shellword"
	"lockbench/internal/world/external"
	"lockbench/scenarios"
)

func newCampaignCommand() *cobra.Command {
	var f campaignFlags
	var part string
	c := &cobra.Command{
		Use:   "campaign FILE",
		Short: "Run worlds × scenarios × locks × seeds from a file, split over machines",
		Long: `campaign does the runs that a file asks for, or one part of them: --shard 3/8, or what a batch
engine says in the environment (Slurm arrays, indexed jobs of Kubernetes, Swarm jobs, GitLab's
parallel). Of N parts the I-th has each N-th run.

Each part has a folder of its own, OUT/NAME/I-of-N, named after the file. Started again it goes
on where it was, also after kill -9, so an engine may start it as often as it likes.
lockbench merge puts the folders together, says which are missing, and counts no run twice.

Exit codes of a part: 0 all of its runs were done, whatever came out; 2 some were not; 3 the
harness failed in some run; 64 wrong usage. Without parts, and of merge: 0 as expected, 1 not,
2 something was undecided or not run, 3 the harness failed in some run.`,
		Example: "  lockbench campaign nightly.yaml\n  lockbench campaign nightly.yaml --shard 3/8 --out /shared/results\n" +
			"  lockbench merge /shared/results/nightly --out /shared/merged",
		Args: wants("a file that describes a campaign"),
		RunE: func(c *cobra.Command, args []string) error { return f.spread(c, args[0], part) },
	}
	f.add(c)
	fl := c.Flags()
	fl.Uint64Var(&f.seed, "seed", 0, "the seed to begin with (default: as the file says)")
	fl.StringVar(&part, "shard", "", "I/N: only the I-th of N parts of the runs (default: as a batch engine says, or all)")
	fl.IntVar(&f.parallel, "parallel", 0, "how many locks of a scenario run side by side (default: what the machine carries)")
	fl.StringVar(&f.out, "out", "results/campaign", "where the folder is made")
	return c
}

// spread does one part of a campaign, or all of it.
func (f *campaignFlags) spread(c *cobra.Command, file, part string) error {
	if err := f.check(c, ""); err != nil {
		return err
	}
	asking, err := campaign.ReadAsking(file)
	if err != nil {
		return err
	}
	if asking.Budget != "" {
		if f.budget, err = time.ParseDuration(asking.Budget); err != nil || f.budget <= 0 {
			return usagef("%s: budget is %q; want a time, such as 2h", file, asking.Budget)
		}
		if f.budget > scenarios.RunMax {
			return usagef("%s: budget: %v is too long: at most %v", file, f.budget, scenarios.RunMax)
		}
	}
	if c.Flags().Changed("seed") {
		asking.Seed = f.seed
	}
	s := asking.Settings()
	if f.given = s.Servers; f.named() {
		f.world = external.Name
	}
	if err := f.meant(); err != nil {
		return err
	}
	if s.File != "" && !filepath.IsAbs(s.File) {
		s.File = filepath.Join(filepath.Dir(file), s.File)
	}
	if err := s.ReadFile(); err != nil {
		return err
	}
	for i, name := range asking.Worlds {
		if known := worldNames(); !slices.Contains(known, name) {
			return usagef("%s: no world is called %q; %s", file, name, didYouMean(name, known))
		}
		if slices.Contains(asking.Worlds[:i], name) {
			return usagef("%s: world %s is there twice", file, name)
		}
	}
	said := ""
	if part != "" {
		s.Shard, err = shardOf(part)
	} else if s.Shard, said, err = shard.FromEnvironment(os.Getenv); err != nil {
		err = usageError{err.Error()}
	}
	if err != nil {
		return err
	}
	chosen, err := campaign.Choose(s)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	s.Started, s.Program, s.Machine = time.Now().UTC().Truncate(time.Second), strings.TrimSpace(versionLine()), run.Machine()
	s.Groups, s.Again = chosen.Groups(), "lockbench campaign "+shellword.Quote(file)
	if c.Flags().Changed("seed") {
		s.Again += fmt.Sprintf(" --seed %d", f.seed)
	}
	if s.Shard.N > 0 {
		s.Again += " --shard " + s.Shard.String()
	}
	if c.Flags().Changed("out") {
		s.Again += " --out " + shellword.Quote(f.out)
	}
	var worlds []campaign.World
	for _, name := range asking.Worlds {
		if w, ok := run.Find(name); ok {
			if err := chosen.Fit(w); err != nil {
				return err
			}
		}
		worlds = append(worlds, chosen.In(name, "", func(string) int { return asking.Seeds }))
	}
	b, err := campaign.OpenOrCreate(filepath.Join(f.out, name, campaign.PartFolder(s)), s, worlds)
	if err != nil {
		return err
	}
	b.Share()
	say := sayTo(c.OutOrStdout())
	line := fmt.Sprintf("campaign %s   %s × %s × %s", name, count(len(worlds), "world"), count(len(chosen), "scenario"), count(asking.Seeds, "seed"))
	if s.Shard.N > 0 {
		line += ", part " + s.Shard.String()
	}
	if said != "" {
		line += " by " + said
	}
	say(line)
	say("goes on after an interruption with the same command, in " + b.Dir)
	places := map[string]campaign.Place{}
	for i := range b.Worlds {
		name := b.Worlds[i].World
		w, _, err := f.pick(c, name)
		if err != nil {
			places[name] = campaign.Place{Missing: err.Error()}
			continue
		}
		b.Worlds[i].About, places[name] = w.About(), f.place(w, chosen)
	}
	err = b.Run(c.Context(), campaign.Work{Chosen: chosen, Places: places, Budget: f.budget, Say: say})
	if s.Shard.N == 0 || err != nil {
		return endCampaign(c, b, err)
	}
	say(b.Counts())
	code := b.PartExitCode()
	if code == report.ExitExpected {
		say("this part is done; lockbench merge says what came out of all")
	} else {
		say("this part is not done; the same command goes on with it")
	}
	return exitWith(code)
}
