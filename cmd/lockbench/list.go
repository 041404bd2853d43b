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
	// Claims and Options are those of a lock.
	Claims  []string `json:"claims,omitempty"`
	Options []string `json:"options,omitempty"`
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
			var options []string
			for _, o := range l.Options {
				options = append(options, fmt.Sprintf("%s=%s: %s", o.Name, o.Default, o.About))
			}
			out = append(out, listed{l.Name, l.About, note, claimed(l.Claims), options})
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
			out = append(out, listed{Name: f.Name, About: f.About, Notes: note})
		}
	case "workloads":
		for _, w := range workloads.All() {
			out = append(out, listed{Name: w.Name, About: w.About})
		}
	case "checkers":
		for _, c := range checker.All() {
			out = append(out, listed{Name: c.Name(), About: c.About()})
		}
	case "scenarios":
		known := scenarios.AllCatalogs()
		for _, name := range scenarios.Names() {
			about := ""
			if s, err := scenarios.Load(name, known); err == nil {
				about = strings.Join(strings.Fields(s.About), " ")
			}
			out = append(out, listed{Name: name, About: about})
		}
	case "worlds":
		for _, w := range run.Worlds(run.WorldOptions{}) {
			out = append(out, listed{Name: w.Name(), About: w.Describe().What})
		}
	}
	return out
}

// claimed says in words what a lock claims.
func claimed(c locks.Claims) []string {
	var words []string
	for _, claim := range []struct {
		made bool
		word string
	}{
		{c.Bounded, "leases end by themselves"}, {c.Renewed, "keeps leases alive"}, {c.Watched, "tells of a loss"},
		{c.Fenced, "fencing tokens"}, {c.Waits, "waits"}, {c.Fair, "fair"}, {c.Reentrant, "re-entrant"},
		{c.Shared, "can be shared"}, {c.Several, "several names at once"}, {c.Strict, "refuses only what is held"},
	} {
		if claim.made {
			words = append(words, claim.word)
		}
	}
	return words
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
			if len(l.Claims) > 0 {
				_, _ = fmt.Fprintf(t, "\t  claims: %s\n", strings.Join(l.Claims, ", "))
			}
			for _, o := range l.Options {
				_, _ = fmt.Fprintf(t, "\t  /%s\n", o)
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
