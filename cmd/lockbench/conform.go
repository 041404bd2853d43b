package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/trial"
	"lockbench/internal/wasm"
	"lockbench/internal/world"
	"lockbench/internal/world/external"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/locks/locktest"
	"lockbench/scenarios"
	"lockbench/service"
	services "lockbench/service/catalog"
	"lockbench/service/redis"
)

func newConformCommand() *cobra.Command {
	var f worldFlags
	var topologies []string
	var set map[string]string
	var show conformShow
	c := &cobra.Command{
		Use:   "conform LOCK | conform NAME=cmd:COMMAND | conform -- COMMAND",
		Short: "Test a lock's API guarantees, without faults",
		Long: `conform starts a lock service in each topology on which the lock runs, and checks the
promises of the lock without faults: exclusion, waiting, re-entry, leases, renewal,
tokens, and the errors of wrong calls. It skips the rules for capabilities that the lock
does not claim; --all lists them with the reason. With --servers it uses those servers.

A COMMAND is a guest, a program in any language that speaks docs/guest-protocol.md and
declares its capabilities in its hello message. NAME=cmd:COMMAND and NAME=wasm:MODULE
have the same meaning as in "run --locks".

Exit codes: 0 every rule was kept, 1 a rule was broken, 2 a rule could not be decided (for
example, because an answer was unclear on a busy machine) or a guest refused every
topology, 3 the harness failed or a guest did not start, 64 wrong usage, such as a lock
that does not run in this world. If several apply: 3, then 1, then 2.`,
		Example: "  lockbench conform redisson\n  lockbench conform redisson-fair --topology single,sentinel\n  lockbench conform set-nx --servers redis://a:6379\n  lockbench conform -- python3 examples/python-guest/guest.py\n  lockbench conform 'py=cmd:python3 examples/python-guest/guest.py'",
		Args: func(c *cobra.Command, args []string) error {
			if c.ArgsLenAtDash() >= 0 && len(args) > 0 {
				return nil
			}
			return wants("a lock")(c, args)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return catalog.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.notEmpty(c); err != nil {
				return err
			}
			if err := show.check(); err != nil {
				return err
			}
			s := conformed{out: c.OutOrStdout(), complaints: c.ErrOrStderr(), show: show}
			if err := s.choose(args, c.ArgsLenAtDash() >= 0, set, topologies); err != nil {
				return err // before a world is picked: wrong usage starts nothing
			}
			if f.named() && !c.Flags().Changed("world") {
				f.world = "auto"
			}
			o, err := f.where(c)
			if err != nil {
				return err
			}
			if o.External != nil {
				if topologies != nil {
					return usagef("--topology: --servers says what there is; leave one of them out")
				}
				if topologies, err = s.fits(o.External); err != nil {
					return err
				}
			}
			if s.entry.Service != "" {
				o.Services = []string{s.entry.Service}
			}
			if s.world, _, err = run.Pick(c.Context(), f.world, o); err != nil {
				return err
			}
			if s.entry.Library != nil {
				if err := s.serve(); err != nil {
					return err
				}
			}
			if s.use.Own() {
				if err := s.meet(c.Context()); err != nil {
					return err
				}
				if o.External != nil && s.entry.Library == nil { // a guest does not say where it runs
					s.entry.Service, s.entry.Topologies = o.External.Service.Name, []locks.Topology{o.External.Location.Topology.Name}
				}
				if err := s.runsOn(topologies); err != nil {
					return err
				}
			}
			return s.all(c.Context(), topologies)
		},
	}
	fl := c.Flags()
	f.addWorld(c, "local")
	f.addServers(c)
	f.add(c)
	fl.StringSliceVar(&topologies, "topology", nil, "only these topologies (default: all of the lock that the world has)")
	show.add(fl)
	completeList(c, "topology", topologyNames)
	fl.StringToStringVar(&set, "set", nil, "options of the lock, such as form=F2")
	return c
}

// conformOptions returns the given options on top of those that the suite needs.
func conformOptions(entry catalog.Lock, set map[string]string) (map[string]string, error) {
	options := entry.Conform()
	maps.Copy(options, set)
	_, err := entry.New(options)
	if entry.Library != nil && errors.Is(err, locks.ErrUnsupported) {
		err = nil // a guest process opens it
	}
	return options, err
}

// conformed is a lock under test.
type conformed struct {
	world world.World
	out   io.Writer
	// complaints receives the first warning about a guest at once.
	complaints io.Writer
	warned     sync.Once
	show       conformShow
	entry      catalog.Lock      // the card of a guest comes from its hello
	use        scenarios.LockUse // the name of a guest may be empty; it is in its hello
	seed       uint64            // distinguishes the keys of several runs on the same servers; 0: there is only one

	missteps trial.Missteps
	report   conformReport
	answered atomic.Bool             // the guest has answered a request of the suite
	silent   atomic.Bool             // it has not answered the first request
	silence  context.CancelCauseFunc // ends the suite of a guest that never answers
}

// choose finds the lock: the words of a command after a dash, a guest as in `run --locks` (py=cmd:COMMAND or
// mine=wasm:MODULE), or a lock of the catalog. An error means wrong usage.
func (s *conformed) choose(args []string, dash bool, set map[string]string, only []string) error {
	switch {
	case dash && len(args) == 1 && wasm.IsFile(args[0]):
		s.use.Module = args[0]
	case dash:
		s.use.Command = strings.Join(args, " ")
	case strings.Contains(args[0], "=cmd:") || strings.Contains(args[0], "=wasm:"):
		uses, err := scenarios.ParseLock(args[0])
		if err != nil {
			return err
		}
		if len(uses) != 1 || !uses[0].Own() {
			return usagef("conform wants one lock, and %q names %d", args[0], len(uses))
		}
		s.use = uses[0]
	default:
		entry, ok := catalog.Find(args[0])
		if !ok {
			return usageError{catalog.NotFound(args[0]).Error()}
		}
		options, err := conformOptions(entry, set)
		if err != nil {
			return usageError{err.Error()}
		}
		s.entry, s.use = entry, scenarios.LockUse{Name: entry.Name, Use: entry.Name, Options: options}
		return s.runsOn(only)
	}
	s.use.Options = set
	if s.use.Module != "" {
		if _, err := wasm.Sum(s.use.Module); err != nil {
			return usageError{err.Error()}
		}
	}
	return nil
}

// fits checks that a catalog lock runs on the external servers, and returns their topology.
func (s *conformed) fits(there *external.Options) ([]string, error) {
	s.seed = uint64(rand.Uint32())
	topology := there.Location.Topology.Name
	of := cmp.Or(s.entry.Service, services.All()[0].Name)
	switch {
	case s.entry.Name == "": // a guest, whose hello is not known yet
	case of != there.Service.Name:
		return nil, usagef("%s is a lock on %s, and --servers names %s", s.entry.Name, of, there.Service.Name)
	case !slices.Contains(s.entry.Topologies, topology):
		return nil, usagef("%s does not run on the topology %s, which --servers names", s.entry.Name, topology)
	}
	return []string{string(topology)}, nil
}

// runsOn checks that the lock runs on the topologies.
func (s *conformed) runsOn(only []string) error {
	for _, name := range only {
		if !slices.Contains(s.entry.Topologies, locks.Topology(name)) {
			var known []string
			for _, t := range s.entry.Topologies {
				known = append(known, string(t))
			}
			return usagef("--topology: %s does not run on %q; %s", s.entry.Name, name, didYouMean(name, known))
		}
	}
	return nil
}

// serve finds the guest that serves a stock library.
func (s *conformed) serve() error {
	served, err := run.Serve([]scenarios.LockUse{s.use}, s.world)
	if err == nil {
		s.use = served[0]
	}
	return err
}

// meet requests the hello of a guest.
func (s *conformed) meet(ctx context.Context) error {
	met, err := trial.Meet(ctx, s.world, world.ClientSpec{Command: s.use.Command, Module: s.use.Module, Args: s.use.Args})
	switch {
	case errors.Is(err, world.ErrUnsupportedHere):
		return exitError{report.ExitHarness, err}
	case err != nil:
		return err
	}
	s.missteps.Hello(met.Hello)
	if s.entry.Library != nil {
		s.entry.Card = met.Card()
		return nil // the catalog knows where it runs
	}
	s.entry = catalog.Lock{Card: met.Card()}
	s.entry.Name = cmp.Or(s.use.Name, s.entry.Name)
	switch s.entry.Family {
	case locks.Control:
		s.entry.Topologies = []locks.Topology{locks.None}
	case locks.Majority:
		s.entry.Topologies = []locks.Topology{locks.Independent}
	default:
		s.entry.Topologies = []locks.Topology{locks.Single, locks.Replicated}
		if met.SourceAddress {
			s.entry.Topologies = append(s.entry.Topologies, redis.Sentinel)
		}
	}
	return nil
}

// all runs the suite on each topology, and exits with 1 if a rule was broken.
func (s *conformed) all(ctx context.Context, only []string) error {
	s.report.Schema, s.report.Lock, s.report.World = conformSchema, s.entry.Name, s.world.Name()
	ran := 0
	for _, t := range s.entry.Topologies {
		if len(only) > 0 && !slices.Contains(only, string(t)) {
			continue
		}
		started := time.Now()
		results, err := s.on(ctx, t)
		on := conformOn{Topology: string(t)}
		if noSuch := (*noTopology)(nil); errors.As(err, &noSuch) {
			on.LeftOut = noSuch.why.Error()
		} else if err != nil {
			return err
		} else {
			ran++
			on.count(results)
		}
		on.took = time.Since(started)
		s.report.Topologies = append(s.report.Topologies, on)
		if err := s.show.topology(s.out, &s.report, &on); err != nil {
			return err
		}
	}
	s.report.Notes = s.missteps.Notes()
	if err := s.show.end(s.out, &s.report); err != nil {
		return err
	}
	code := s.report.exitCode()
	switch {
	case code != report.ExitExpected || ran > 0:
		return exitWith(code)
	case s.use.Own() && s.entry.Library == nil: // it says so itself
		_, _ = fmt.Fprintf(s.complaints, "no rules were run: %s runs on no topology of world %s\n", s.entry.Name, s.world.Name())
		return exitWith(report.ExitUnknown)
	}
	return usagef("world %s has none of the topologies that %s runs on; name another one with --world", s.world.Name(), s.entry.Name)
}

// noTopology is the error for a topology that the world does not have.
type noTopology struct{ why error }

func (e *noTopology) Error() string { return e.why.Error() }

func (s *conformed) on(ctx context.Context, t locks.Topology) (results []locktest.Result, err error) {
	entered := false
	spec := world.Spec{Topology: service.None, Clients: 200, Seed: s.seed}
	if t != locks.None {
		// A user's guest that names no service uses the first one.
		var known bool
		if spec.Service, known = services.Find(s.entry.Service); !known {
			spec.Service = services.All()[0]
		}
		spec.Topology, _ = service.Find(spec.Service, t)
	}
	err = s.world.Run(ctx, spec, func(ctx context.Context, c world.Cluster) error {
		entered = true
		if err := s.tryOpen(ctx, c); err != nil {
			return err
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		s.silence = cancel
		subject, err := s.subject(c, t)
		if err != nil {
			return err
		}
		results = locktest.Run(ctx, subject)
		return context.Cause(ctx)
	})
	if !entered && errors.Is(err, world.ErrUnsupportedHere) || errors.Is(err, locks.ErrUnsupported) {
		return nil, &noTopology{err}
	}
	return results, err
}

// tryOpen opens and closes a client of a guest, so that a guest that cannot be opened causes one error instead of one for
// each rule.
func (s *conformed) tryOpen(ctx context.Context, c world.Cluster) error {
	if !s.use.Own() {
		return nil
	}
	client, err := c.Open(ctx, s.spec(0))
	if err != nil {
		return err
	}
	l := &guestLocker{client: client, of: s}
	_ = l.Close() // the rules also ignore the result
	return nil
}

// spec returns the world's description of a client of the guest.
func (s *conformed) spec(id int) world.ClientSpec {
	warn := func(text string) {
		s.warned.Do(func() { _, _ = fmt.Fprintf(s.complaints, "warning: client %d: %s\n", id, text) })
	}
	return world.ClientSpec{ID: id, Command: s.use.Command, Module: s.use.Module, Args: s.use.Args, Options: s.use.Options, Warn: warn}
}
