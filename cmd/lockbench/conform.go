package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/internal/conform"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/virtual/child"
	"lockbench/internal/virtual/wasm"
	"lockbench/internal/world"
	"lockbench/locks/catalog"
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
	r, err := s.Run(c.Context(), func(r *conform.Report, on *conform.On) {
		if !f.json {
			r.Print(c.OutOrStdout(), on, columns)
		}
	})
	if err != nil {
		return err
	}
	if err := f.write(c.OutOrStdout(), r); err != nil {
		return err
	}
	switch {
	case slices.ContainsFunc(r.Topologies, func(on conform.On) bool { return on.LeftOut == "" }):
		return exitWith(r.ExitCode())
	case s.SaysItself():
		sayTo(c.ErrOrStderr())(fmt.Sprintf("no rules were run: %s runs on no topology of world %s", r.Lock, r.World))
		return exitWith(report.ExitUnknown)
	}
	return usagef("world %s has none of the topologies that %s runs on; name another one with --world", r.World, r.Lock)
}

// write writes the output that needs all results.
func (f *conformFlags) write(w io.Writer, r *conform.Report) error {
	if f.junit != "" {
		var b bytes.Buffer
		if err := r.JUnit(&b); err != nil {
			return err
		}
		if err := os.WriteFile(f.junit, b.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write --junit: %w", err)
		}
	}
	if f.json {
		return r.JSON(w)
	}
	for _, note := range r.Notes {
		_, _ = fmt.Fprintf(w, "! %s: %s\n", r.Lock, note)
	}
	return nil
}

// prepare finds the lock, its world and its topologies.
func (f *conformFlags) prepare(c *cobra.Command, args []string) (*conform.Suite, error) {
	if dir := filepath.Dir(f.junit); f.junit != "" {
		if _, err := os.Stat(dir); err != nil {
			return nil, usagef("--junit %s: there is no folder %s; make it first", f.junit, dir)
		}
	}
	use, err := conformUse(args, c.ArgsLenAtDash() >= 0)
	if err != nil {
		return nil, err
	}
	if f.named() && !c.Flags().Changed("world") {
		f.world = "auto"
	}
	o, err := f.where(c)
	if err != nil {
		return nil, err
	}
	s := conform.New(use, sayTo(c.ErrOrStderr()))
	if service := s.Service(); service != "" {
		o.Services = []string{service}
	}
	// Before a world is picked: wrong usage starts nothing. A guest says its topologies in its hello.
	guest := use.Own()
	if !guest {
		if err := s.Limit(f.topologies, o.External); err != nil {
			return nil, exitError{report.ExitUsage, err}
		}
	}
	w, _, err := run.Pick(c.Context(), f.world, o)
	if err != nil {
		return nil, err
	}
	switch err := s.In(c.Context(), w); {
	case errors.As(err, new(world.Unsupported)):
		return nil, exitError{report.ExitHarness, err}
	case err != nil:
		return nil, err
	}
	if guest {
		if err := s.Limit(f.topologies, o.External); err != nil {
			return nil, exitError{report.ExitUsage, err}
		}
	}
	return s, nil
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
	pinned, err := child.Pin([]scenarios.LockUse{use})
	if err != nil {
		return use, err
	}
	return pinned[0], nil
}
