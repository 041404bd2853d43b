package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

func newShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show [KIND] NAME",
		Short: "Print a scenario's YAML, to copy and change, or all that is known of another name",
		Long: `show prints the YAML of a scenario, and of a lock, a fault or any other name of
lockbench list what it is and what it takes. Where several kinds have the name, a
scenario comes first; KIND says which is meant: ` + strings.Join(kindWords(), ", ") + `.`,
		Example: "  lockbench show failover > mine.yaml\n  lockbench run ./mine.yaml\n  lockbench show redlock\n  lockbench show workload handoff\n  lockbench show 'half the clients'",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 2 && slices.Contains(append(kindWords(), wrongLocks.one), args[0]) {
				args = args[1:]
			}
			return wants("a scenario or another name")(c, args)
		},
		ValidArgsFunction: completeShow,
		RunE: func(c *cobra.Command, args []string) error {
			found, n, others, err := lookUp(args)
			if err != nil {
				return err
			}
			for _, k := range others {
				_, _ = fmt.Fprintf(c.ErrOrStderr(), "lockbench: there is also a %s of this name: lockbench show %s %s\n", k.one, k.one, n.Name)
			}
			if source, ok := scenarios.Find(n.Name); ok && found.one == "scenario" {
				_, err := c.OutOrStdout().Write(source)
				return err
			}
			printNamed(c.OutOrStdout(), found, n)
			return nil
		},
	}
}

// lookUp finds what a person named, with or without the kind, and which other kinds have
// the name as well.
func lookUp(args []string) (found kind, n named, others []kind, err error) {
	name, among := args[len(args)-1], append(kinds(), wrongLocks)
	if len(args) > 1 {
		among = slices.DeleteFunc(among, func(k kind) bool { return k.one != args[0] })
	}
	nearest, near := among[0], false
	for _, k := range among {
		all := k.names()
		i := slices.IndexFunc(all, func(n named) bool { return n.Name == name })
		switch {
		case i >= 0 && found.one == "":
			found, n = k, all[i]
		case i >= 0:
			others = append(others, k)
		}
		if _, close := catalog.Nearest(name, namesOf(all)); close && !near {
			nearest, near = k, true
		}
	}
	switch {
	case found.one != "":
		return found, n, others, nil
	case near || len(among) == 1:
		return found, n, nil, usagef("no %s is called %q; %s", nearest.one, name, didYouMean(name, namesOf(nearest.names())))
	}
	return found, n, nil, usagef("nothing is called %q; lockbench list has all names", name)
}

// printNamed prints all that is known of a name.
func printNamed(w io.Writer, k kind, n named) {
	say := func(indent int, text string) {
		_, _ = fmt.Fprintln(w, strings.Repeat(" ", indent)+folded(text, indent, columns))
	}
	say(0, k.one+" "+n.Name)
	say(2, n.About)
	if n.Notes != "" {
		say(2, n.Notes)
	}
	if len(n.Claims) > 0 {
		say(2, "claims: "+strings.Join(n.Claims, ", "))
	}
	prefix := ""
	if k.one == "lock" {
		prefix = "/"
	}
	for _, o := range n.Options {
		say(4, prefix+o)
	}
}

func namesOf(all []named) []string {
	var names []string
	for _, n := range all {
		names = append(names, n.Name)
	}
	return names
}

func kindWords() []string {
	var words []string
	for _, k := range kinds() {
		words = append(words, k.one)
	}
	return words
}

// completeShow offers names, or those of a kind that was named.
func completeShow(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var offered []string
	for _, k := range kinds() {
		if len(args) == 0 || len(args) == 1 && args[0] == k.one {
			offered = append(offered, namesOf(k.names())...)
		}
	}
	slices.Sort(offered)
	return slices.Compact(offered), cobra.ShellCompDirectiveNoFileComp
}

// completeScenarios offers the embedded scenarios, and files beside them.
func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return scenarios.Names(), cobra.ShellCompDirectiveDefault
}
