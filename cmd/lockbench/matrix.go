package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/campaigns"
	"lockbench/internal/campaign"
	"lockbench/internal/regular"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/shard"
	"lockbench/internal/world/external"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// matrixFlags are the flags of matrix.
type matrixFlags struct {
	worldFlags
	asked                                                     scenarios.Asked
	file, worlds, scenarios, locks, seeds, shard, out, resume string

	seed                       uint64
	episodes, enough, parallel int
	budget                     time.Duration
}

func newMatrixCommand() *cobra.Command {
	var f matrixFlags
	c := &cobra.Command{
		Use:   "matrix",
		Short: "Run many scenarios, worlds and seeds, and show the verdicts in one table",
		Long: `matrix runs the chosen scenarios in each world with the chosen locks, and writes one page:
a heat map of verdicts with rates, in which each cell links to a run. It compares each run
with the verdicts that its scenario expects, and the rates over all seeds with the bounds
in the scenario.

By default, each scenario runs once. --seeds sets the number of runs, each with the next
seed. --episodes repeats each scenario until it has that many episodes. --budget limits
the time. --file reads the flags from a file. --shard does a part of the runs, and
lockbench merge combines the parts.

An interrupted or killed matrix continues with --resume DIR. With --file, the same command
continues it. Finished runs are not repeated unless the harness failed in them.

Exit codes: 0 as expected, 1 not as expected, 2 a verdict is unknown, a run is missing, or
no chosen lock runs in these worlds, 3 the harness failed in a run, 64 wrong usage. If
several apply: 3, then 1, then 2. A shard exits with 0 when all of its runs are done,
whatever their verdicts, because batch systems repeat a failed task; merge reports the
verdicts.`,
		Example: `  lockbench matrix --world sim
  lockbench matrix --scenarios 'failover*,partition-*' --locks 'set-nx,redlock*' --episodes 20
  lockbench matrix --worlds sim,local --seeds 3,sim=10 --budget 2h
  lockbench matrix --file recommended --locks 'no-lock,mine=cmd:./myguest' --like mine=set-nx
  lockbench matrix --file nightly.yaml --shard 3/8 --out /shared/results
  lockbench matrix --servers etcd://a:2379,b:2379,c:2379 --hooks hooks.yaml --scenarios steady,leader-kill --locks no-lock,etcd-mutex
  lockbench matrix --resume results/matrix/20261121-114000-7`,
		Args: wants(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	fl := c.Flags()
	fl.StringVar(&f.file, "file", "", "a YAML file with these flags, such as worlds: [sim], or the name of a campaign of lockbench: "+strings.Join(campaigns.Names(), ", ")+"; the command line overrides it")
	fl.StringVar(&f.worlds, "worlds", "auto", "auto, or the worlds in their order (lockbench list worlds); --world is the same flag")
	fl.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "world" {
			name = "worlds"
		}
		return pflag.NormalizedName(name)
	})
	fl.StringVar(&f.scenarios, "scenarios", "", "names, globs, or .yaml files (default: all)")
	fl.StringVar(&f.locks, "locks", "", "names or globs of the locks of the scenarios, and other locks, libraries and commands, for example set-nx,redlock*,mine=cmd:./guest,redsync,pg-row (default: all locks of each scenario)")
	fl.Uint64Var(&f.seed, "seed", 0, "the seed of the first run; further runs take the next numbers (default: drawn and printed; 1 with --file or --shard)")
	fl.StringVar(&f.seeds, "seeds", "", "the number of runs of each scenario: 3, or 3,sim=10,steady=20,sim/steady=100")
	fl.IntVar(&f.episodes, "episodes", 0, "the number of episodes of each cell, in as many runs as necessary")
	fl.IntVar(&f.enough, "enough", 0, "a lock leaves the further runs of a scenario when at least so many of its episodes count and all are violated (default: never)")
	fl.StringVar(&f.shard, "shard", "", "I/N: do part I of N of the runs, for lockbench merge")
	fl.DurationVar(&f.budget, "budget", 0, "the time limit, shared by the worlds; no run starts that is not expected to fit")
	fl.IntVar(&f.parallel, "parallel", 0, "how many locks of a scenario run at once (default: as many as this machine can run)")
	fl.StringVar(&f.out, "out", "results", "the folder for the matrix's folder")
	fl.StringVar(&f.resume, "resume", "", "continue the matrix in this folder with its own flags")
	f.add(c)
	addAsked(c, &f.asked)
	_ = c.RegisterFlagCompletionFunc("file", completeCampaigns)
	completeList(c, "scenarios", scenarios.Names)
	completeList(c, "locks", catalog.Names)
	completeList(c, "worlds", worldNames)
	return c
}

// check rejects invalid flags.
func (f *matrixFlags) check(c *cobra.Command) error {
	if err := notEmpty(c); err != nil {
		return err
	}
	if f.seeds != "" && f.episodes > 0 {
		return usagef("--seeds and --episodes: give one of them; both determine the number of runs")
	}
	return errors.Join(writableName(f.out), inRange(c, "episodes", f.episodes, 1, scenarios.EpisodesMax), inRange(c, "enough", f.enough, 1, scenarios.EpisodesMax), inRange(c, "parallel", f.parallel, 1, math.MaxInt),
		inRange(c, "budget", f.budget, time.Millisecond, scenarios.RunMax))
}

// how are the flags that do not change the runs.
var how = []string{"resume", "budget", "parallel", "server", "image", "offline"}

func (f *matrixFlags) run(c *cobra.Command) error {
	m, err := f.begin(c)
	if err != nil {
		return err
	}
	if err := f.check(c); err != nil {
		return err
	}
	worlds, err := f.names()
	if err != nil {
		return err
	}
	if f.world = f.worlds; slices.Contains(worlds, external.Name) {
		f.world = external.Name
	}
	o, err := f.where(c)
	if err != nil {
		return err
	}
	if f.worlds == "auto" && o.External != nil {
		worlds = []string{external.Name}
	}
	if f.resume == "" {
		m.Asked = f.asked
		m.Servers = f.given
	}
	chosen, err := campaign.Choose(m.Settings)
	if err != nil {
		return err
	}
	planned, err := chosen.In(worlds, m.Settings)
	if err != nil {
		return err
	}
	runners, err := f.runners(c, o, chosen, planned)
	if err != nil {
		return err
	}
	if m, err = f.create(c, m, planned); err != nil {
		return err
	}
	say := sayTo(c.OutOrStdout())
	line := fmt.Sprintf("matrix   seed %d · %s · world %s", m.Seed, report.Plural(len(chosen), "scenario"), strings.Join(mapped(planned, worldName), ", "))
	if len(planned) == 1 {
		line += ", " + planned[0].About
	}
	if m.Shard.N > 0 {
		line += " · shard " + m.Shard.String()
	}
	say(line)
	say("continue after an interruption with: " + m.Resume())
	t, failed := m.Run(c.Context(), campaign.Work{Worlds: runners, Budget: f.budget, Say: say})
	if m.Shard.N == 0 || failed != nil {
		return endCampaign(c, t, failed)
	}
	return endShard(c, t)
}

// begin returns the matrix to continue, or a new one with the settings of the flags and of the file.
func (f *matrixFlags) begin(c *cobra.Command) (m *campaign.Campaign, err error) {
	if f.resume != "" {
		return f.open(c)
	}
	m = &campaign.Campaign{}
	command := ""
	if f.file != "" {
		command = again(c, nil) // before the file sets flags
		if err := f.readFile(c); err != nil {
			return nil, err
		}
	}
	m.Settings, err = f.settings(c)
	m.Again = command
	return m, err
}

// create makes the folder of a new matrix. That of a file may exist, and is continued.
func (f *matrixFlags) create(c *cobra.Command, m *campaign.Campaign, planned []campaign.World) (*campaign.Campaign, error) {
	switch {
	case f.resume != "":
		return m, nil
	case f.file != "":
		name := strings.TrimSuffix(filepath.Base(f.file), filepath.Ext(f.file))
		return campaign.OpenOrCreate(f.out, name, m.Settings, planned)
	}
	worlds := strings.Join(mapped(planned, worldName), ",")
	m.Again = again(c, nil, put{"worlds", worlds}, put{"seed", strconv.FormatUint(f.seed, 10)})
	return campaign.Create(f.out, m.Settings, planned)
}

// endShard prints how much of a shard was done.
func endShard(c *cobra.Command, t *campaign.Table) error {
	say := sayTo(c.OutOrStdout())
	say(t.Counts())
	code := t.ShardExitCode()
	if code == report.ExitExpected {
		say("this shard is done; lockbench merge combines the results")
	} else {
		say("this shard is not done; the same command continues it")
	}
	return exitWith(code)
}

// open reads the matrix to continue. Flags that would change it are an error.
func (f *matrixFlags) open(c *cobra.Command) (m *campaign.Campaign, err error) {
	c.Flags().Visit(func(flag *pflag.Flag) {
		if err == nil && !slices.Contains(how, flag.Name) {
			err = usagef("--resume continues a matrix as it was begun, and --%s would change it; leave it out", flag.Name)
		}
	})
	if err != nil {
		return nil, err
	}
	if m, err = campaign.Read(f.resume); err != nil {
		return nil, exitError{report.ExitUsage, err}
	}
	f.worlds, f.given = strings.Join(mapped(m.Worlds, worldName), ","), m.Servers
	return m, nil
}

func worldName(w campaign.World) string { return w.World }

// settings returns the settings of a new matrix.
func (f *matrixFlags) settings(c *cobra.Command) (s campaign.Settings, err error) {
	by := ""
	if f.shard != "" {
		s.Shard, err = shardOf(f.shard)
	} else if s.Shard, by, err = shard.FromEnvironment(os.Getenv); err != nil {
		err = exitError{report.ExitUsage, err}
	}
	if err != nil {
		return s, err
	}
	if by != "" {
		sayTo(c.ErrOrStderr())(fmt.Sprintf("shard %s by %s", s.Shard, by))
	}
	switch {
	case c.Flags().Changed("seed"):
	case f.file != "" || s.Shard.N > 0:
		f.seed = 1 // the same for all shards
	default:
		f.seed = uint64(rand.Uint32())
	}
	s.Scenarios, s.Locks, s.Seed, s.Seeds, s.Episodes, s.Enough = f.scenarios, f.locks, f.seed, f.seeds, f.episodes, f.enough
	s.Started, s.Program, s.Machine = time.Now().UTC().Truncate(time.Second), versionLine(), run.Machine()
	return s, nil
}

// fileVersion is the first line of a file for --file.
const fileVersion = "campaign/1"

// The flags that a file may set, and those that are paths, which are relative to the file.
var (
	fileKeys = append([]string{"worlds", "scenarios", "locks", "seed", "seeds", "episodes", "enough", "budget", "expect", "like"}, serverFlags...)
	filePath = []string{"hooks", "tls-ca", "tls-cert", "tls-key"}
)

// fileText returns the text of the file, or of the campaign that lockbench brings along under this name.
func (f *matrixFlags) fileText() ([]byte, error) {
	if !scenarios.IsFile(f.file) {
		if text, ok := campaigns.Find(f.file); ok {
			return text, nil
		}
		return nil, usagef("--file: no campaign is named %q; %s; a file of your own ends in .yaml", f.file, didYouMean(f.file, campaigns.Names()))
	}
	text, err := regular.ReadFile(f.file)
	if err != nil {
		return nil, usagef("%s: it cannot be read: %v", f.file, err)
	}
	return text, nil
}

// readFile sets the flags that are in the file and not on the command line.
func (f *matrixFlags) readFile(c *cobra.Command) error {
	text, err := f.fileText()
	if err != nil {
		return err
	}
	var keys yaml.MapSlice
	if err := yaml.Unmarshal(text, &keys); err != nil {
		return usagef("%s: %s", f.file, report.OneLine(err.Error()))
	}
	if version := keys.ToMap()["lockbench"]; version != fileVersion {
		return usagef("%s: it says lockbench: %v; the first line is lockbench: %s", f.file, version, fileVersion)
	}
	for _, item := range keys {
		key := fmt.Sprint(item.Key)
		switch {
		case key == "lockbench" || c.Flags().Changed(key):
			continue
		case !slices.Contains(fileKeys, key):
			return usagef("%s: a campaign has no key %q; %s", f.file, key, didYouMean(key, fileKeys))
		}
		values, list := item.Value.([]any)
		if !list {
			values = []any{item.Value}
		}
		var words []string
		for _, v := range values {
			word := fmt.Sprint(v)
			if slices.Contains(filePath, key) && !filepath.IsAbs(word) {
				word = filepath.Join(filepath.Dir(f.file), word)
			}
			words = append(words, word)
		}
		flag := c.Flags().Lookup(key)
		if _, repeated := flag.Value.(pflag.SliceValue); !repeated {
			words = []string{strings.Join(words, ",")}
		}
		for _, word := range words {
			if err := c.Flags().Set(key, word); err != nil {
				return usagef("%s: %v", f.file, flagError(c, err))
			}
		}
	}
	return nil
}

// names returns the worlds.
func (f *matrixFlags) names() ([]string, error) {
	var all []string
	for name := range strings.SplitSeq(f.worlds, ",") {
		name = strings.TrimSpace(name)
		if known := append(worldNames(), "auto"); !slices.Contains(known, name) {
			return nil, usagef("--worlds: no world is called %q; %s", name, didYouMean(name, known))
		}
		if slices.Contains(all, name) {
			return nil, usagef("--worlds: %s is there twice", name)
		}
		all = append(all, name)
	}
	if len(all) > 1 && slices.Contains(all, "auto") {
		return nil, usagef("--worlds: auto is one world; name it alone, or name the worlds")
	}
	return all, nil
}

// runners finds the worlds, and puts their names and descriptions into the plan, where a world may be called auto. A world
// that cannot be used is reported as missing, unless it is the only one.
func (f *matrixFlags) runners(
	c *cobra.Command, o run.WorldOptions, chosen campaign.Choices, planned []campaign.World,
) (map[string]campaign.Runner, error) {
	runners := map[string]campaign.Runner{}
	for i := range planned {
		p := &planned[i]
		w, passed, err := run.Pick(c.Context(), p.World, o)
		switch {
		case err != nil && len(planned) == 1:
			return nil, err
		case err != nil:
			runners[p.World] = campaign.Runner{Missing: err.Error()}
			w, _ = run.Find(p.World)
		default:
			for _, not := range passed {
				sayTo(c.OutOrStdout())(fmt.Sprintf("(not %s: %v)", not.World, not.Err))
			}
			p.World, p.About = w.Name(), w.About()
			runners[p.World] = campaign.Runner{Do: chosen.Doing(w, f.given, f.parallel, versionLine())}
		}
		if err := chosen.Fit(w); err != nil {
			return nil, err
		}
	}
	return runners, nil
}

// shardOf parses --shard I/N.
func shardOf(text string) (shard.Shard, error) {
	s, err := shard.Parse(text)
	if err != nil {
		return s, usagef("--shard: %v", err)
	}
	return s, nil
}

// endCampaign prints the result of a campaign, also if a part failed. There is no table if the results cannot be read.
func endCampaign(c *cobra.Command, m *campaign.Table, failed error) error {
	if m == nil {
		return failed
	}
	say := sayTo(c.OutOrStdout())
	say("")
	for _, line := range m.Screen(report.TerminalWidth(c.OutOrStdout())) {
		say(line)
	}
	say("Report   " + m.Page())
	if failed != nil {
		return failed
	}
	say(m.ExitLine())
	return exitWith(m.ExitCode())
}
