package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/nemesis"
	services "lockbench/service/catalog"
)

// completeList completes the last word of a flag whose value is a list with commas, with names that are not in the list
// yet.
func completeList(c *cobra.Command, flag string, known func() []string) {
	_ = c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		given := strings.Split(typed, ",")
		before := typed[:len(typed)-len(given[len(given)-1])]
		var offered []string
		for _, name := range known() {
			if !slices.Contains(given[:len(given)-1], name) {
				offered = append(offered, before+name)
			}
		}
		return begun(typed, offered), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// completeName completes a flag whose value is one name.
func completeName(c *cobra.Command, flag string, known func() []string) {
	_ = c.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return known(), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeFault completes a step of --fault: the name of a fault, and then its target.
func completeFault(typed string) []string {
	name, target, named := strings.Cut(typed, ": ")
	if !named {
		var offered []string
		for _, f := range nemesis.All() {
			offered = append(offered, f.Name+": ")
		}
		return begun(typed, offered)
	}
	fault, _ := nemesis.Find(name)
	return prefixed(name+": ", completeTarget(target, fault.Link))
}

// completeTarget offers the next role of a target, and an arrow if a link has none yet.
func completeTarget(typed string, link bool) []string {
	begins, arrow := 0, false
	for _, joint := range []string{"-> ", " and "} {
		if i := strings.LastIndex(typed, joint); i >= 0 {
			begins = max(begins, i+len(joint))
			arrow = arrow || joint == "-> "
		}
	}
	roles := prefixed(typed[:begins], roleNames())
	if !link || arrow {
		return begun(typed, roles)
	}
	var offered []string
	for _, role := range roles {
		offered = append(offered, role+" -> ", role+" <-> ")
	}
	return begun(typed, offered)
}

func roleNames() []string {
	return namesOf(nemesis.RolesOf(services.All()), func(r nemesis.Role) string { return r.Name })
}

// topologyNames returns the topologies of all services.
func topologyNames() []string {
	var names []string
	for _, s := range services.All() {
		for _, t := range s.Topologies {
			if !slices.Contains(names, string(t.Name)) {
				names = append(names, string(t.Name))
			}
		}
	}
	return names
}

// begun returns the words that begin with the typed text.
func begun(typed string, words []string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, typed) })
}

func prefixed(prefix string, words []string) []string {
	return namesOf(words, func(w string) string { return prefix + w })
}
