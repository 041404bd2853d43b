package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lockbench/checker"
	"lockbench/internal/run"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/nemesis"
	"lockbench/scenarios"
	"lockbench/workloads"
)

// listed is one thing that can be named.
type listed struct {
	Name  string `json:"name"`
	About string `json:"about"`
	Notes string `json:"notes,omitempty"`
}

// kinds are what list can list, in this order.
var kinds = []string{"scenarios", "locks", "faults", "workloads", "checkers", "worlds"}

func newListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:       "list [locks|faults|workloads|checkers|scenarios|worlds]",
		Short:     "List what can be named in a scenario or on the command line",
		Example:   "  lockbench list\n  lockbench list locks\n  lockbench list faults --json",
		ValidArgs: kinds,
		Args: func(_ *cobra.Command, args []string) error {
			for _, a := range args {
				if !slices.Contains(kinds, a) {
					return usagef("there is no list of %q; %s", a, didYouMean(a, kinds))
				}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = kinds
			}
			all := make(map[string][]listed)
			for _, kind := range args {
				all[kind] = list(kind)
			}
			if asJSON {
				e := json.NewEncoder(c.OutOrStdout())
				e.SetIndent("", " ")
				return e.Encode(all)
			}
			return printLists(c.OutOrStdout(), args, all)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as one JSON object")
	return c
}

func list(kind string) []listed {
	var out []listed
	switch kind {
	case "locks":
		for _, l := range catalog.All() {
			var notes []string
			for _, t := range l.Topologies {
				notes = append(notes, string(t))
			}
			note := "on " + strings.Join(notes, ", ")
			if slices.Equal(l.Topologies, []locks.Topology{locks.None}) {
				note = "needs no server"
			}
			for _, o := range l.Options {
				note += fmt.Sprintf("; %s=%s: %s", o.Name, o.Default, o.About)
			}
			out = append(out, listed{l.Name, l.About, note})
		}
	case "faults":
		for _, f := range nemesis.All() {
			note := "strikes a role"
			if f.Link {
				note = "strikes links"
			}
			if len(f.Options) > 0 {
				note += "; keys " + strings.Join(f.Options, ", ")
			}
			out = append(out, listed{f.Name, f.About, note})
		}
	case "workloads":
		for _, w := range workloads.All() {
			out = append(out, listed{w.Name, w.About, ""})
		}
	case "checkers":
		for _, c := range checker.All() {
			out = append(out, listed{c.Name(), c.About(), ""})
		}
	case "scenarios":
		known := run.Known()
		for _, name := range scenarios.Names() {
			about := ""
			if s, err := scenarios.Load(name, known); err == nil {
				about = strings.Join(strings.Fields(s.About), " ")
			}
			out = append(out, listed{name, about, ""})
		}
	case "worlds":
		for _, w := range run.Worlds(run.WorldOptions{}) {
			out = append(out, listed{w.Name(), run.WorldAbout(w.Name()), ""})
		}
	}
	return out
}

func printLists(w io.Writer, order []string, all map[string][]listed) error {
	for i, kind := range order {
		if len(order) > 1 {
			if i > 0 {
				_, _ = fmt.Fprintln(w)
			}
			_, _ = fmt.Fprintln(w, strings.ToUpper(kind))
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, l := range all[kind] {
			_, _ = fmt.Fprintf(t, "%s\t%s\n", l.Name, l.About)
			if l.Notes != "" {
				_, _ = fmt.Fprintf(t, "\t  %s\n", l.Notes)
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
