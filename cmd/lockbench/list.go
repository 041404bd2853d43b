package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lockbench/internal/report"
	"lockbench/scenarios"
)

// columns is the maximal width of a line.
const columns = 100

func newListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list [KIND [NAME]]",
		Short: "List scenarios, locks, faults and other names, or print one in full",
		Long: `list prints the kinds of names that a scenario or a command line can use. With a KIND
it prints one line for each name of that kind:
` + "  " + report.Wrap(strings.Join(kindNames(), ", "), 2, 85) + `.
With a NAME it prints the YAML of a scenario, and the description, options and
capabilities of anything else.`,
		Example: `  lockbench list locks
  lockbench list locks redlock
  lockbench list scenarios failover > mine.yaml
  lockbench list roles 'half the clients'
  lockbench list faults --json`,
		Args:              wants(0, 2, "one kind and one name"),
		ValidArgsFunction: completeNames,
		RunE: func(c *cobra.Command, args []string) error {
			chosen, err := chooseKinds(args)
			if err != nil {
				return err
			}
			out := c.OutOrStdout()
			switch {
			case asJSON:
				lists := make(map[string][]named)
				for _, k := range chosen {
					lists[k.list] = k.names()
				}
				e := json.NewEncoder(out)
				e.SetIndent("", " ")
				return e.Encode(lists)
			case len(args) == 0:
				return printTable(out, mapped(chosen, func(k kind) named {
					return named{Name: k.list, About: fmt.Sprintf("%d names: lockbench list %s", len(k.names()), k.list)}
				}))
			case len(args) == 1:
				return printTable(out, chosen[0].names())
			}
			return printNamed(out, chosen[0])
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, with everything that is known of each name")
	return c
}

// chooseKinds returns all kinds, the kind that args name, or that kind with one name.
func chooseKinds(args []string) ([]kind, error) {
	all := kinds()
	if len(args) == 0 {
		return all, nil
	}
	i := slices.Index(kindNames(), args[0])
	if i < 0 {
		return nil, usagef("there is no list of %q; %s", args[0], didYouMean(args[0], kindNames()))
	}
	k := all[i]
	if len(args) == 2 {
		names := k.names()
		known := mapped(names, func(n named) string { return n.Name })
		i := slices.Index(known, args[1])
		if i < 0 {
			return nil, usagef("no %s is called %q; %s", k.one, args[1], didYouMean(args[1], known))
		}
		k.names = func() []named { return names[i : i+1] }
	}
	return []kind{k}, nil
}

// completeNames completes a kind, and a name of that kind.
func completeNames(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return kindNames(), cobra.ShellCompDirectiveNoFileComp
	}
	chosen, err := chooseKinds(args)
	if err != nil || len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return mapped(chosen[0].names(), func(n named) string { return n.Name }), cobra.ShellCompDirectiveNoFileComp
}

// printNamed prints one name in full.
func printNamed(w io.Writer, k kind) error {
	n := k.names()[0]
	if k.list == "scenarios" {
		source, _ := scenarios.Find(n.Name)
		_, err := w.Write(source)
		return err
	}
	lines := []string{k.one + " " + n.Name}
	add := func(indent int, text string) {
		if text != "" {
			lines = append(lines, strings.Repeat(" ", indent)+report.Wrap(text, indent, columns))
		}
	}
	add(2, n.About)
	add(2, n.Notes)
	if len(n.Claims) > 0 {
		add(2, "claims: "+strings.Join(n.Claims, ", "))
	}
	if len(n.Calls) > 0 {
		add(2, "calls: "+strings.Join(n.Calls, ", "))
	}
	prefix := ""
	if k.one == "lock" {
		prefix = "/"
	}
	for _, o := range n.Options {
		add(4, prefix+o)
	}
	for _, e := range n.Examples {
		add(2, "example: "+e)
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

// printTable prints one line for each name, with as much of the first sentence about it as fits.
func printTable(w io.Writer, all []named) error {
	widest := 0
	for _, n := range all {
		widest = max(widest, len(n.Name))
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, n := range all {
		about, _, _ := strings.Cut(n.About, ". ")
		if text := []rune(about); len(text) > columns-widest-2 {
			about = string(text[:columns-widest-3]) + "…"
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\n", n.Name, about)
	}
	return t.Flush()
}
