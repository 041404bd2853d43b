package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/trial"
	"lockbench/internal/world"
	"lockbench/internal/world/external"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/nemesis"
	"lockbench/scenarios"
	"lockbench/service"
	services "lockbench/service/catalog"
)

func newTryCommand() *cobra.Command {
	var f worldFlags
	var on tried
	var target string
	var all bool
	var set map[string]string
	c := &cobra.Command{
		Use:   "try FAULT",
		Short: "Inject one fault; report when it took effect and when it healed",
		Long: `try starts a small cluster with a few clients at work, does one fault, sees by a
probe on the path of those concerned that it bites, undoes it, and sees that it is
gone. With --servers it does so on those, and what they are need not be said.

--all does so for every fault in its usual form and in others that it has, on each topology of
the service, and prints a table for people and for Markdown. In world docker this takes a quarter of an hour.

Exit codes: 0 bitten and healed, 1 not, 2 it cannot concern this topology (n/a),
3 the harness failed, 64 wrong usage.`,
		Example: "  lockbench try kill --topology sentinel\n  lockbench try isolate --target 'a replica' --topology replicated\n  lockbench try lag --target 'master -> replicas' --set by=2s --topology sentinel\n  lockbench try kill --service etcd --topology quorum\n  lockbench try --all --world local",
		Args: func(c *cobra.Command, args []string) error {
			if all {
				return nothing(c, args)
			}
			return wants("a fault, or --all")(c, args)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return faultNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.notEmpty(c, "target", "service"); err != nil {
				return err
			}
			if err := on.check(); err != nil {
				return err
			}
			pick := func() error {
				o := f.options(c)
				err := f.reach(&o)
				if err != nil {
					return err
				}
				if there := o.External; there != nil {
					if !c.Flags().Changed("service") {
						on.service = there.Service.Name()
					}
					on.topology = string(there.Location.Topology.Name)
				}
				o.Services = []string{on.service}
				on.world, _, err = f.pick(c.Context(), o)
				return err
			}
			if all {
				if target != "" || len(set) > 0 {
					return usagef("--all does each fault in its usual form: --target and --set go with one fault")
				}
				if err := pick(); err != nil {
					return err
				}
				topologies := topologyNames(on.service)
				if c.Flags().Changed("topology") || on.world.Name() == external.Name {
					topologies = []string{on.topology}
				}
				return tryAll(c.Context(), c.OutOrStdout(), on, topologies)
			}
			entry, ok := nemesis.Find(args[0])
			if !ok {
				return usagef("no fault is called %q; %s", args[0], didYouMean(args[0], faultNames()))
			}
			step, err := tryStep(entry, target, set)
			if err != nil {
				return err
			}
			if err := pick(); err != nil {
				return err
			}
			got, err := on.try(c.Context(), on.topology, step)
			if err != nil {
				return err
			}
			out := c.OutOrStdout()
			head := fmt.Sprintf("%s, %s of %s in world %s", got.Fault, on.topology, on.service, on.world.Name())
			switch {
			case got.NA != "":
				_, _ = fmt.Fprintf(out, "%s: n/a, %s\n", head, got.NA)
				return exitWith(report.ExitUnknown)
			case got.Failed != "":
				_, _ = fmt.Fprintf(out, "%s: did not take effect or did not heal: %s\n", head, got.Failed)
				return exitWith(report.ExitUnexpected)
			default:
				_, _ = fmt.Fprintf(out, "%s: in effect after %s, healed %s after the call to heal\n", head,
					got.ToBite.Round(100*time.Microsecond), got.ToHeal.Round(100*time.Microsecond))
			}
			return nil
		},
	}
	fl := c.Flags()
	fl.BoolVar(&all, "all", false, "every fault, on each topology or on the one of --topology")
	fl.StringVar(&on.service, "service", services.All()[0].Name(), "the lock service: "+strings.Join(service.Names(services.All()), ", "))
	fl.StringVar(&on.topology, "topology", string(locks.Single), "one of the service's, see lockbench list services")
	f.addWorld(c, "auto")
	f.addServers(c)
	f.add(c)
	fl.StringVar(&target, "target", "", "the role or link to strike (default: the fault's usual one)")
	fl.StringToStringVar(&set, "set", nil, "keys of the fault, such as by=2s")
	completeTry(c, &on)
	return c
}

// tried is on what a fault is tried.
type tried struct {
	service, topology string
	world             world.World
}

// check refuses what there is not. Its errors are wrong usage.
func (on *tried) check() error {
	if err := knownService(on.service); err != nil {
		return err
	}
	if known := topologyNames(on.service); !slices.Contains(known, on.topology) {
		return usagef("--topology: no topology of %s is called %q; %s", on.service, on.topology, didYouMean(on.topology, known))
	}
	return nil
}

// try does one fault, with the lock of the service that is for this.
func (on *tried) try(ctx context.Context, topology string, step nemesis.Step) (trial.Tried, error) {
	lock, ok := catalog.TriedOn(on.service, locks.Topology(topology))
	if !ok {
		return trial.Tried{}, fmt.Errorf("no lock is for trying faults on the topology %s of %s", topology, on.service)
	}
	served, err := run.Serve([]scenarios.LockUse{{Name: lock.Name, Use: lock.Name}}, on.world)
	if err != nil {
		return trial.Tried{}, err
	}
	return trial.Try(ctx, on.world, on.service, locks.Topology(topology), served[0], step, 1)
}

// tryStep is the step that try does: the fault's usual one, changed as the flags say.
// A word that no scenario could say is wrong usage here too.
func tryStep(entry nemesis.Entry, target string, set map[string]string) (nemesis.Step, error) {
	step := entry.Try
	step.Fault, step.Options = entry.Name, maps.Clone(entry.Try.Options)
	if step.Options == nil {
		step.Options = make(map[string]string)
	}
	if target != "" {
		step.Target = target
	}
	ends := []string{step.Target}
	if entry.Link {
		from, to, linked := strings.Cut(strings.Replace(step.Target, "<->", "->", 1), "->")
		if !linked {
			return step, usagef("--target: %s strikes links, and %q is none; write master -> replicas, or <-> for both directions", entry.Name, step.Target)
		}
		ends = []string{from, to}
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		own, known := nemesis.KeyOf(entry.Keys, key)
		switch {
		case len(entry.Keys) == 0:
			return step, usagef("--set: %s has no keys of its own, so no %q", entry.Name, key)
		case !known:
			return step, usagef("--set: %s has no key %q; %s", entry.Name, key, didYouMean(key, nemesis.KeyNames(entry.Keys)))
		case own.Takes == nemesis.TakesRole:
			ends = append(ends, set[key])
		}
		step.Options[key] = set[key]
	}
	for _, end := range ends {
		if !knownRole(end) {
			return step, usagef("no role is called %q; %s; or a node's or client's own name, such as redis-2", end, didYouMean(end, roleNames()))
		}
	}
	if _, err := entry.New(step); err != nil {
		return step, usagef("%s: %v", entry.Name, err)
	}
	return step, nil
}

func knownRole(target string) bool {
	return !slices.ContainsFunc(nemesis.Ends(target), func(end string) bool {
		return !slices.Contains(roleNames(), end) && !nemesis.IsMember(end, services.All())
	})
}

func roleNames() []string {
	var names []string
	for _, r := range nemesis.RolesOf(services.All()) {
		names = append(names, r.Name)
	}
	return names
}

// topologyNames are those of a service, and of all services if it is none.
func topologyNames(of string) []string {
	var names []string
	for _, s := range services.All() {
		if _, known := services.Find(of); known && s.Name() != of {
			continue
		}
		for _, t := range s.Topologies() {
			if !slices.Contains(names, string(t.Name)) {
				names = append(names, string(t.Name))
			}
		}
	}
	return names
}

func faultNames() []string {
	var names []string
	for _, f := range nemesis.All() {
		names = append(names, f.Name)
	}
	return names
}
