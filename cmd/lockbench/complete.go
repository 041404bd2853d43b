package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/nemesis"
	"lockbench/service"
	services "lockbench/service/catalog"
)

// completeList completes a flag whose value is a list with commas: the word behind the
// last comma, with what is not in the list yet.
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

// completeTry completes whom a fault strikes, its keys, the service and its topology.
func completeTry(c *cobra.Command, on *tried) {
	of := func(args []string) (nemesis.Entry, bool) {
		if len(args) == 0 {
			return nemesis.Entry{}, false
		}
		return nemesis.Find(args[0])
	}
	_ = c.RegisterFlagCompletionFunc("target", func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		fault, known := of(args)
		return completeTarget(typed, !known || fault.Link), cobra.ShellCompDirectiveNoFileComp
	})
	_ = c.RegisterFlagCompletionFunc("set", func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		fault, _ := of(args)
		name, value, valued := strings.Cut(typed, "=")
		if key, ok := nemesis.KeyOf(fault.Keys, name); ok && valued {
			return prefixed(name+"=", valuesOf(key, value)), cobra.ShellCompDirectiveNoFileComp
		}
		var offered []string
		for _, key := range nemesis.KeyNames(fault.Keys) {
			offered = append(offered, key+"=")
		}
		return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	_ = c.RegisterFlagCompletionFunc("topology", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return topologyNames(on.service), cobra.ShellCompDirectiveNoFileComp
	})
	_ = c.RegisterFlagCompletionFunc("service", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return service.Names(services.All()), cobra.ShellCompDirectiveNoFileComp
	})
}

// valuesOf are the values that a key of a fault can have, as far as they are words.
func valuesOf(key nemesis.Key, typed string) []string {
	words := strings.Split(key.Takes, "|")
	switch {
	case key.Takes == nemesis.TakesRole:
		return completeTarget(typed, false)
	case len(words) > 1:
		return words
	}
	return nil
}

// completeTarget offers the role that comes next: behind what joins it to those before, and
// in front of an arrow if a link has none yet.
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

// begun are the words that begin as what was typed.
func begun(typed string, words []string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, typed) })
}

func prefixed(prefix string, words []string) []string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = prefix + w
	}
	return all
}
