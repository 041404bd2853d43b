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
	"lockbench/internal/shellword"
	"lockbench/scenarios"
)

// columns is the maximal width of a line.
const columns = 100

func newListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list [KIND [NAME]]",
		Short: "List scenarios, locks, faults and other names, or print one in full",
		Long: `list prints one line for each name that a scenario or a command line can use. With a
KIND it prints the names of that kind:
` + "  " + report.Wrap(strings.Join(kindNames(), ", "), 2, 85) + `.
With a NAME it prints the YAML of a scenario, and the description, options and
capabilities of anything else.`,
		Example: `  lockbench list locks
  lockbench list locks redlock
  lockbench list scenarios failover > mine.yaml
  lockbench list roles 'half the clients'
  lockbench list faults --json`,
		Args:              listArgs,
		ValidArgsFunction: completeNames,
		RunE: func(c *cobra.Command, args []string) error {
			out := c.OutOrStdout()
			chosen := kinds()
			if len(args) > 0 {
				k, _ := findKind(args[0]) // checked by listArgs
				chosen = []kind{k}
			}
			if len(args) == 2 {
				n, _ := chosen[0].find(args[1]) // also checked by listArgs
				chosen[0].names = func() []named { return []named{n} }
			}
			switch {
			case asJSON:
				lists := make(map[string][]named)
				for _, k := range chosen {
					lists[k.list] = k.names()
				}
				e := json.NewEncoder(out)
				e.SetIndent("", " ")
				return e.Encode(lists)
			case len(args) == 2:
				return printNamed(out, chosen[0])
			}
			return printLists(out, chosen, len(args) == 0)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, with everything that is known of each name")
	return c
}

// listArgs accepts a kind, and a name of that kind.
func listArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	k, known := findKind(args[0])
	switch {
	case !known:
		if calls := listCalls(args[0]); len(calls) > 0 {
			return usagef("there is no list of %q; use: %s", args[0], strings.Join(calls, ", or: "))
		}
		return usagef("there is no list of %q; %s", args[0], didYouMean(args[0], kindNames()))
	case len(args) > 2:
		return usagef("list takes one kind and one name and got %d arguments: %s; see lockbench list --help", len(args), strings.Join(args, " "))
	case len(args) == 1:
		return nil
	}
	if _, found := k.find(args[1]); !found {
		if calls := listCalls(args[1]); len(calls) > 0 {
			return usagef("no %s is called %q; use: %s", k.one, args[1], strings.Join(calls, ", or: "))
		}
		return usagef("no %s is called %q; %s", k.one, args[1], didYouMean(args[1], k.all()))
	}
	return nil
}

// listCalls returns the command lines that print a name, one for each kind that has it.
func listCalls(name string) []string {
	var calls []string
	for _, k := range kinds() {
		if _, found := k.find(name); found {
			calls = append(calls, "lockbench list "+k.list+" "+shellword.Quote(name))
		}
	}
	return calls
}

// completeNames completes a kind, and a name of that kind.
func completeNames(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return kindNames(), cobra.ShellCompDirectiveNoFileComp
	}
	k, known := findKind(args[0])
	if !known || len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return k.all(), cobra.ShellCompDirectiveNoFileComp
}

// completeScenarios offers the embedded scenarios, and files.
func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return scenarios.Names(), cobra.ShellCompDirectiveDefault
}

// printNamed prints one name in full.
func printNamed(w io.Writer, k kind) error {
	n := k.names()[0]
	if source, ok := scenarios.Find(n.Name); ok && k.list == "scenarios" {
		_, err := w.Write(source)
		return err
	}
	lines := []string{k.one + " " + n.Name}
	add := func(indent int, text string) {
		lines = append(lines, strings.Repeat(" ", indent)+report.Wrap(text, indent, columns))
	}
	add(2, n.About)
	if n.Notes != "" {
		add(2, n.Notes)
	}
	if len(n.Claims) > 0 {
		add(2, "claims: "+strings.Join(n.Claims, ", "))
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

// printLists prints one line for each name. If it prints all lists together, it only counts the names of long lists.
func printLists(w io.Writer, chosen []kind, together bool) error {
	for i, k := range chosen {
		all := k.names()
		if len(chosen) > 1 {
			if i > 0 {
				_, _ = fmt.Fprintln(w)
			}
			_, _ = fmt.Fprintln(w, strings.ToUpper(k.list))
		}
		if together && k.many {
			_, _ = fmt.Fprintf(w, "%d names; lockbench list %s prints them\n", len(all), k.list)
			continue
		}
		widest := 0
		for _, n := range all {
			widest = max(widest, len(n.Name))
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, n := range all {
			_, _ = fmt.Fprintf(t, "%s\t%s\n", n.Name, short(n.About, columns-widest-2))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// short returns the first sentence of a text, or as many of its clauses as fit.
func short(text string, width int) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, end := range []string{". ", "? "} {
		if i := strings.Index(text, end); i >= 0 {
			text = text[:i+1]
		}
	}
	if len([]rune(text)) <= width {
		return text
	}
	for _, ends := range [][]string{{"; "}, {": ", ", "}} {
		fits := ""
		for i := range text {
			ended := slices.ContainsFunc(ends, func(end string) bool { return strings.HasPrefix(text[i:], end) })
			if ended && len([]rune(text[:i])) <= width {
				fits = text[:i]
			}
		}
		if fits != "" {
			return fits
		}
	}
	return string([]rune(text)[:width-1]) + "…"
}
