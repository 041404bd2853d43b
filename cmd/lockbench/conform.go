package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/service"
	services "lockbench/internal/service/catalog"
	"lockbench/internal/trial"
	"lockbench/internal/wasm"
	"lockbench/internal/world"
	"lockbench/internal/world/external"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/locks/locktest"
	"lockbench/scenarios"
)

// conformFlags are the flags of conform.
type conformFlags struct {
	worldFlags
	topologies []string
	allCalls   bool
	json       bool
	junit      string // a file; empty: none
}

func newConformCommand() *cobra.Command {
	var f conformFlags
	c := &cobra.Command{
		Use:   "conform LOCK | conform -- COMMAND",
		Short: "Test a lock's API guarantees, without faults",
		Long: `conform starts a lock service in each topology on which the lock runs, and checks the
promises of the lock without faults: exclusion, waiting, re-entry, leases, renewal,
tokens, and the errors of wrong calls. It skips the rules for capabilities that the lock
does not claim. With --servers it uses those servers. It prints each rule on stderr when
the rule is decided, and the table of a topology on stdout.

A LOCK is written as in "run --locks": a name with options, NAME=cmd:COMMAND or
NAME=wasm:MODULE. A COMMAND is a guest, a program in any language that speaks
docs/guest-protocol.md and declares its capabilities in its hello message.

Exit codes: 0 every rule was kept, 1 a rule was broken, 2 a rule could not be decided (for
example, because an answer was unclear on a busy machine) or a guest refused every
topology, 3 the harness failed or a guest did not start, 64 wrong usage, such as a lock
that does not run in this world. If several apply: 3, then 1, then 2.`,
		Example: `  lockbench conform redisson-port
  lockbench conform redisson-port-fair/form=F3 --topology single,sentinel
  lockbench conform redisson --all-calls
  lockbench conform set-nx --servers redis://a:6379
  lockbench conform -- python3 examples/python-guest/guest.py
  lockbench conform 'py=cmd:python3 examples/python-guest/guest.py'`,
		Args: func(c *cobra.Command, args []string) error {
			if c.ArgsLenAtDash() >= 0 && len(args) > 0 {
				return nil
			}
			return wants(1, 1, "a lock")(c, args)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return catalog.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			if f.allCalls {
				return f.each(c, args)
			}
			return f.run(c, args)
		},
	}
	fl := c.Flags()
	f.addWorld(c, "local")
	f.add(c)
	fl.StringSliceVar(&f.topologies, "topology", nil, "only these topologies (default: all of the lock that the world has)")
	fl.BoolVar(&f.allCalls, "all-calls", false, "run the suite once for each value of the option call of a library")
	fl.BoolVar(&f.json, "json", false, "print the results as JSON on stdout")
	fl.StringVar(&f.junit, "junit", "", "write the results to this file, too, as JUnit XML: one case for each rule")
	return c
}

// each runs the suite with each call of a library. With --json it prints one object for each of them.
func (f *conformFlags) each(c *cobra.Command, args []string) error {
	use, err := conformUse(args, c.ArgsLenAtDash() >= 0)
	if err != nil {
		return err
	}
	entry, _ := use.Entry()
	calls := entry.Calls()
	switch {
	case len(calls) == 0:
		return usagef("%s has no option call, so it has one way to acquire; leave --all-calls out", args[0])
	case use.Options["call"] != "":
		return usagef("%s names a call, and --all-calls runs all: %s", args[0], strings.Join(calls, ", "))
	case f.junit != "":
		return usagef("--junit takes the results of one call; name it, such as %s/call=%s", args[0], calls[0])
	}
	worst := 0
	for _, call := range calls {
		if !f.json {
			_, _ = fmt.Fprintf(c.OutOrStdout(), "call=%s\n", call)
		}
		err := f.run(c, []string{args[0] + "/call=" + call})
		var code exitError
		switch {
		case err == nil:
			continue
		case !errors.As(err, &code) || code.code == report.ExitUsage || c.Context().Err() != nil:
			return err
		}
		worst = report.Worst(worst, code.code)
	}
	return exitWith(worst)
}

func (f *conformFlags) run(c *cobra.Command, args []string) error {
	s, err := f.prepare(c, args)
	if err != nil {
		return err
	}
	r := conformReport{Schema: conformSchema, Lock: s.entry.Name, Call: s.call, Version: s.version, World: s.world.Name()}
	for _, t := range s.entry.Topologies {
		on, err := s.on(c.Context(), t)
		if err != nil {
			return err
		}
		r.Topologies = append(r.Topologies, on)
		if !f.json {
			r.print(c.OutOrStdout(), &on)
		}
	}
	r.Notes = s.missteps.Notes()
	if err := f.write(c.OutOrStdout(), &r); err != nil {
		return err
	}
	switch {
	case slices.ContainsFunc(r.Topologies, func(on conformOn) bool { return on.LeftOut == "" }):
		return exitWith(r.exitCode())
	case s.use.Own() && s.entry.Library == nil: // a guest says so itself
		s.warn(fmt.Sprintf("no rules were run: %s runs on no topology of world %s", r.Lock, r.World))
		return exitWith(report.ExitUnknown)
	}
	return usagef("world %s has none of the topologies that %s runs on; name another one with --world", r.World, r.Lock)
}

// prepare finds the lock, its world and its topologies.
func (f *conformFlags) prepare(c *cobra.Command, args []string) (*conformed, error) {
	if dir := filepath.Dir(f.junit); f.junit != "" {
		if _, err := os.Stat(dir); err != nil {
			return nil, usagef("--junit %s: there is no folder %s; make it first", f.junit, dir)
		}
	}
	use, err := conformUse(args, c.ArgsLenAtDash() >= 0)
	if err != nil {
		return nil, err
	}
	s := &conformed{use: use, call: use.Options["call"], warn: sayTo(c.ErrOrStderr())}
	if f.named() && !c.Flags().Changed("world") {
		f.world = "auto"
	}
	o, err := f.where(c)
	if err != nil {
		return nil, err
	}
	if o.External != nil {
		s.seed = uint64(rand.Uint32())
	}
	guest := use.Own()
	if !guest {
		s.entry, _ = use.Entry() // ParseLock has found it
		if s.entry.Service != "" {
			o.Services = []string{s.entry.Service}
		}
		s.use.Options = s.entry.Conform()
		maps.Copy(s.use.Options, use.Options)
		if err := s.place(f.topologies, o.External); err != nil {
			return nil, err // before a world is picked: wrong usage starts nothing
		}
	}
	if s.world, _, err = run.Pick(c.Context(), f.world, o); err != nil {
		return nil, err
	}
	served, err := run.Serve([]scenarios.LockUse{s.use}, s.world)
	if err != nil {
		return nil, err
	}
	if s.use = served[0]; s.use.Own() {
		if err := s.meet(c.Context()); err != nil {
			return nil, err
		}
	}
	if guest {
		err = s.place(f.topologies, o.External)
	}
	return s, err
}

// conformUse returns the lock: the words of a command after a dash, or a lock as in `run --locks`.
func conformUse(args []string, dash bool) (use scenarios.LockUse, err error) {
	switch {
	case dash && len(args) == 1 && wasm.IsFile(args[0]):
		use.Module = args[0]
	case dash:
		use.Command = strings.Join(args, " ")
	default:
		if use, err = scenarios.ParseLock("conform", args[0]); err != nil {
			return use, err
		}
		if use.TTL != nil || use.Wait != nil || use.Hold != nil || use.Clients+use.Nodes > 0 {
			return use, usagef("conform: %s has options of a scenario, and conform takes only options of the lock itself", args[0])
		}
	}
	pinned, err := trial.Pin([]scenarios.LockUse{use})
	if err != nil {
		return use, err
	}
	return pinned[0], nil
}

// conformed is a lock under test.
type conformed struct {
	world world.World
	warn  func(line string) // prints to stderr
	// warned limits the warnings about a guest during the run to the first one.
	warned   sync.Once
	entry    catalog.Lock // the card of a guest comes from its hello
	use      scenarios.LockUse
	call     string // the option call, if it was given
	version  string // of a guest's library
	seed     uint64 // distinguishes the keys of several runs on the same servers; 0: there is only one
	missteps trial.Missteps
}

// decided adds a result and prints a line, because all rules together can take minutes. Rules that do not apply take no time.
func (s *conformed) decided(on *conformOn, r locktest.Result) {
	rule := on.add(r)
	if rule.Result != ruleNA {
		s.warn(fmt.Sprintf("%s, rule %d of %d: %s %s, %s", on.Topology, len(on.Rules), len(locktest.Rules()), rule.Rule, rule.Result, seconds(rule.TookS)))
	}
}

// place limits the topologies of the lock to that of external servers or those of --topology.
func (s *conformed) place(only []string, there *external.Options) error {
	all := &s.entry.Topologies
	if there != nil {
		if only != nil {
			return usagef("--topology: --servers says what there is; leave one of them out")
		}
		name, topology := there.Service.Name, there.Location.Topology.Name
		if s.use.Own() && s.entry.Library == nil { // a guest does not say where it runs
			s.entry.Service, *all = name, []locks.Topology{topology}
		}
		if s.entry.Service != name {
			return usagef("%s is a lock on %s, and --servers names %s", s.entry.Name, s.entry.Service, name)
		}
		if !slices.Contains(*all, topology) {
			return usagef("%s does not run on the topology %s, which --servers names", s.entry.Name, topology)
		}
		*all = []locks.Topology{topology}
	}
	known := mapped(*all, topologyName)
	for _, name := range only {
		if !slices.Contains(known, name) {
			return usagef("--topology: %s does not run on %q; %s", s.entry.Name, name, didYouMean(name, known))
		}
	}
	if only != nil {
		*all = slices.DeleteFunc(slices.Clone(*all), func(t locks.Topology) bool { return !slices.Contains(only, string(t)) })
	}
	return nil
}

// meet requests the hello of a guest.
func (s *conformed) meet(ctx context.Context) error {
	met, err := trial.Meet(ctx, s.world, s.client(0))
	if errors.As(err, new(world.Unsupported)) {
		return exitError{report.ExitHarness, err}
	}
	if err != nil {
		return err
	}
	s.missteps.Hello(met.Hello)
	s.version = met.Version
	s.entry.Card = met.Card()
	if s.entry.Library != nil {
		return nil // the catalog knows where it runs
	}
	s.entry.Name = cmp.Or(s.use.Name, s.entry.Name)
	s.entry.Service = s.use.Service(met.Service)
	on, _ := services.Find(s.entry.Service) // Meet knows it
	s.entry.Topologies = scenarios.GuestTopologies(s.entry.Card, on, met.SourceAddress)
	return nil
}

// client returns the world's description of a client of a guest.
func (s *conformed) client(id int) world.ClientSpec {
	warn := func(text string) {
		s.warned.Do(func() { s.warn(fmt.Sprintf("warning: client %d: %s", id, text)) })
	}
	return world.ClientSpec{ID: id, Command: s.use.Command, Module: s.use.Module, Args: s.use.Args, Options: s.use.Options, Warn: warn}
}

// conformClients is the maximum number of clients of the suite on one topology.
const conformClients = 200

// on runs the suite on one topology.
func (s *conformed) on(ctx context.Context, t locks.Topology) (conformOn, error) {
	spec := world.Spec{Topology: service.None, Clients: conformClients, Seed: s.seed}
	if t != locks.None {
		spec.Service, _ = services.Find(s.entry.Service)
		spec.Topology, _ = service.Find(spec.Service, t)
	}
	entered := false
	on := conformOn{Topology: string(t)}
	err := s.world.Run(ctx, spec, func(ctx context.Context, c world.Cluster) error {
		entered = true
		if s.use.Own() {
			if err := s.probe(ctx, c); err != nil {
				return err
			}
		}
		subject, err := s.subject(c, t)
		if err != nil {
			return err
		}
		subject.Decided = func(r locktest.Result) { s.decided(&on, r) }
		locktest.Run(ctx, subject)
		return context.Cause(ctx)
	})
	if !entered && errors.As(err, new(world.Unsupported)) || errors.Is(err, locks.ErrUnsupported) {
		on.LeftOut = err.Error()
		return on, nil
	}
	return on, err
}
