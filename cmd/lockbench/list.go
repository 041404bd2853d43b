package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// columns is how wide a line of a list is at most.
const columns = 100

func newListCommand() *cobra.Command {
	var asJSON, mutants bool
	all := kindsListed()
	c := &cobra.Command{
		Use:       "list [" + strings.Join(all, "|") + "]",
		Short:     "List what can be named in a scenario or on the command line",
		Long:      "list prints a line for each name. lockbench show NAME says more of one.",
		Example:   "  lockbench list\n  lockbench list locks\n  lockbench list roles\n  lockbench list faults --json",
		ValidArgs: all,
		Args: func(_ *cobra.Command, args []string) error {
			for _, a := range args {
				if _, ok := kindOfList(a); !ok {
					return usagef("there is no list of %q; %s", a, didYouMean(a, all))
				}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			chosen := kinds()
			if len(args) > 0 {
				chosen = nil
				for _, a := range args {
					k, _ := kindOfList(a)
					chosen = append(chosen, k)
				}
			}
			if mutants && !slices.Contains(args, wrongLocks.list) {
				chosen = append(chosen, wrongLocks)
			}
			if asJSON {
				lists := make(map[string][]named)
				for _, k := range chosen {
					lists[k.list] = k.names()
				}
				e := json.NewEncoder(c.OutOrStdout())
				e.SetIndent("", " ")
				return e.Encode(lists)
			}
			return printLists(c.OutOrStdout(), chosen, len(args) == 0)
		},
	}
	c.Flags().BoolVar(&mutants, "mutants", false, "also the locks that are wrong on purpose")
	c.Flags().BoolVar(&asJSON, "json", false, "as one JSON object, with all that lockbench show says")
	return c
}

// kindsListed are the words for lists.
func kindsListed() []string {
	var all []string
	for _, k := range kinds() {
		all = append(all, k.list)
	}
	return all
}

// kindOfList finds the kind of a list. That of the mutants is not offered unasked, and can be named.
func kindOfList(word string) (kind, bool) {
	all := append(kinds(), wrongLocks)
	i := slices.IndexFunc(all, func(k kind) bool { return k.list == word })
	if i < 0 {
		return kind{}, false
	}
	return all[i], true
}

// printLists prints a line a name. Of all lists together, a long one of words that few
// scenarios need is only counted.
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

// short is the first sentence of a text, and of one that is too wide the clauses that fit.
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
