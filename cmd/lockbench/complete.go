package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/campaigns"
	"lockbench/scenarios"
)

// completeList completes the last word of a flag whose value is a list with commas, with names that are not in the list
// yet.
func completeList(c *cobra.Command, flag string, known func() []string) {
	_ = c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		given := strings.Split(typed, ",")
		before := typed[:len(typed)-len(given[len(given)-1])]
		var offered []string
		for _, name := range known() {
			if !slices.Contains(given, name) {
				offered = append(offered, before+name)
			}
		}
		return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// completeName completes a flag whose value is one name.
func completeName(c *cobra.Command, flag string, known func() []string) {
	_ = c.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return known(), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeScenarios offers the embedded scenarios, and files.
func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return scenarios.Names(), cobra.ShellCompDirectiveDefault
}

// completeCampaigns offers the embedded campaigns, and files.
func completeCampaigns(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return campaigns.Names(), cobra.ShellCompDirectiveDefault
}
