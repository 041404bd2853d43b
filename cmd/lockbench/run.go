package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/run"
	"lockbench/internal/world"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// runFlags are the flags of run.
type runFlags struct {
	worldFlags
	asked    scenarios.Asked
	locks    string
	seed     uint64
	episodes int
	duration time.Duration
	clients  int
	keys     int
	parallel int
	noFaults bool
	until    bool
	out      string
	json     bool
	dryRun   bool
	faults   []string
}

func newRunCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run SCENARIO|FILE.yaml",
		Short: "Run a scenario on some locks, and judge each lock",
		Long: `run starts the servers of a scenario, one cluster for each lock, lets clients compete
for the lock, injects faults from a plan that the seed generates, heals them, and judges
the recorded history. Everything is written to a results folder.

Exit codes: 0 every lock did as expected, 1 a lock did not, 2 a verdict is unknown or a
lock of --locks did not run, 3 the harness failed, 64 wrong usage.`,
		Example: `  lockbench run failover
  lockbench run pause-client --locks set-nx,redlock/nodes=3 --seed 7 --episodes 10
  lockbench run failover --seed 7 --dry-run
  lockbench run ./mine.yaml --locks 'set-nx,py=cmd:python3 examples/python-guest/guest.py'
  lockbench run failover --locks redlock --expect valid
  lockbench run steady --fault 'kill: master' --locks set-nx,redlock
  lockbench run failover --servers redis+sentinel://a:26379,b:26379/mymaster --hooks hooks.yaml`,
		Args:              wants(1, 1, "a scenario"),
		ValidArgsFunction: completeScenarios,
		RunE: func(c *cobra.Command, args []string) error {
			return doRun(c, args[0], &f)
		},
	}
	f.register(c)
	return c
}

// register adds the flags to the command.
func (f *runFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.BoolVar(&f.dryRun, "dry-run", false, "print what the run would do, without starting anything")
	fl.DurationVar(&f.duration, "duration", 0, "run episodes for this long (instead of --episodes)")
	fl.IntVar(&f.parallel, "parallel", 0, "how many locks run at once (default: as many as this machine can run)")
	addAsked(c, &f.asked)
	fl.BoolVar(&f.until, "until-violation", false, "judge each lock with servers after each episode, and end the run after a violation; the other locks finish their episode")
	fl.StringVar(&f.out, "out", "results", "the folder for results folders")
	fl.BoolVar(&f.json, "json", false, "print result.json instead of the table")
	fl.StringVar(&f.locks, "locks", "", "the locks to run, with options: a,b/ttl=2s,name=cmd:COMMAND,name=wasm:MODULE (default: the scenario's)")
	f.addWorld(c, "auto")
	f.add(c)
	fl.Uint64Var(&f.seed, "seed", 0, "the seed of all random decisions (default: drawn and printed)")
	fl.IntVar(&f.episodes, "episodes", 0, "the number of episodes (default: from the scenario)")
	fl.IntVar(&f.clients, "clients", 0, "the number of clients that compete for each lock")
	fl.IntVar(&f.keys, "keys", 0, "the number of keys for which they compete")
	fl.String("ttl", "", "the length of the lease that clients request, such as 2s")
	fl.String("wait", "", "how long an acquire may wait, such as 500ms")
	fl.String("hold", "", "how long a lock is held, such as 5ms..50ms")
	fl.StringArrayVar(&f.faults, "fault", nil, "inject this fault instead of the faults of the scenario, for example 'kill: master, for: 2s', and report when it took effect and healed; locks are expected to be valid; may be repeated")
	fl.BoolVar(&f.noFaults, "no-faults", false, "inject no faults: shows how the locks behave without them")
	completeList(c, "locks", catalog.Names)
}

// runOptions returns the options of the run without its world.
func (f *runFlags) runOptions(c *cobra.Command, scenario string) (run.Options, error) {
	if err := writableName(f.out); err != nil {
		return run.Options{}, err
	}
	s, err := scenarios.Load(scenario)
	if err != nil {
		return run.Options{}, err
	}
	if len(f.faults) > 0 {
		if f.noFaults {
			return run.Options{}, usagef("--fault and --no-faults: give one of them")
		}
		if s, err = s.WithFaults(f.faults); err != nil {
			return run.Options{}, err
		}
	}
	if err := errors.Join(inRange(c, "episodes", f.episodes, 1, scenarios.EpisodesMax), inRange(c, "keys", f.keys, 1, scenarios.KeysMax),
		inRange(c, "clients", f.clients, 1, math.MaxInt), inRange(c, "parallel", f.parallel, 1, math.MaxInt),
		inRange(c, "duration", f.duration, time.Millisecond, scenarios.RunMax)); err != nil {
		return run.Options{}, err
	}
	if c.Flags().Changed("duration") && c.Flags().Changed("episodes") {
		return run.Options{}, usagef("--duration and --episodes: give one of them; both determine when the run ends")
	}
	if !c.Flags().Changed("seed") {
		f.seed = uint64(rand.Uint32())
	}
	o := run.Options{
		Scenario: s, Seed: f.seed, Episodes: f.episodes, Duration: f.duration, Clients: f.clients, Keys: f.keys,
		Parallel: f.parallel, NoFaults: f.noFaults, UntilViolation: f.until, Out: f.out,
	}
	var errs [3]error
	o.TTL, errs[0] = parsed(c, "ttl", scenarios.ParseDuration)
	o.Wait, errs[1] = parsed(c, "wait", scenarios.ParseDuration)
	o.Hold, errs[2] = parsed(c, "hold", scenarios.ParseRange)
	if err := errors.Join(errs[:]...); err != nil {
		return o, err
	}
	if f.locks != "" {
		if o.Locks, err = scenarios.ParseLocks("--locks", f.locks, s.Locks...); err != nil {
			return o, err
		}
	}
	uses := o.Locks
	if len(uses) == 0 {
		uses = s.Locks
	}
	if err := f.asked.Check([]*scenarios.Scenario{s}, uses); err != nil {
		return o, err
	}
	asked := f.asked
	if f.noFaults || len(f.faults) > 0 { // the scenario's expectations apply to its own faults
		asked.Expect = append([]string{scenarios.Valid}, asked.Expect...)
	}
	o.Scenario, err = asked.Apply(s, uses)
	return o, err
}

func doRun(c *cobra.Command, scenario string, f *runFlags) error {
	o, err := f.runOptions(c, scenario)
	if err != nil {
		return err
	}
	if o.Worlds, err = f.where(c); err != nil {
		return err
	}
	o.WorldName, o.Program, o.DryRun = f.world, versionLine(), f.dryRun
	job, err := run.Prepare(c.Context(), o)
	if err != nil {
		return err
	}
	if f.dryRun {
		printDryRun(c.OutOrStdout(), job)
		return nil
	}
	job.Options.Again = again(c, []string{scenario}, put{"world", job.World.Name()}, put{"seed", strconv.FormatUint(f.seed, 10)})
	head := c.OutOrStdout()
	if f.json {
		head = c.ErrOrStderr()
	}
	width := report.TerminalWidth(head)
	printHead(sayTo(head), width, job)
	printPlan(sayTo(head), width, job)
	out, err := job.Run(c.Context(), report.NewProgress(head, report.IsTerminal(head), width).Tick)
	if out == nil {
		return err
	}
	if out.LinkError != nil {
		sayTo(c.ErrOrStderr())(out.LinkError.Error())
	}
	if f.json {
		text, readErr := os.ReadFile(filepath.Join(out.Bundle.Dir, report.ResultFile))
		if readErr == nil {
			_, readErr = c.OutOrStdout().Write(text)
		}
		err = errors.Join(err, readErr)
	} else {
		_, _ = fmt.Fprintln(head)
		if len(f.faults) > 0 {
			printFaults(sayTo(head), width, out.Result)
			_, _ = fmt.Fprintln(head)
		}
		screen := report.Screen{
			Result: out.Result, Dir: out.Bundle.Dir, Latest: out.Latest, Report: filepath.Join(out.Bundle.Dir, page.File), Color: report.UseColor(head), Width: width,
			Program: typedName(os.Args[0]),
		}
		if _, screenErr := screen.WriteTo(head); screenErr != nil {
			err = errors.Join(err, screenErr)
		}
	}
	if err != nil {
		return err
	}
	return exitWith(out.Result.ExitCode())
}

func worldNames() []string { return mapped(run.Worlds(run.WorldOptions{}), world.World.Name) }
