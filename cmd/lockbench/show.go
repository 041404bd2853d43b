package main

import (
	"github.com/spf13/cobra"

	"lockbench/scenarios"
)

func newShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "show SCENARIO",
		Short:             "Print a scenario's YAML, to copy and change",
		Example:           "  lockbench show failover > mine.yaml\n  lockbench run ./mine.yaml",
		Args:              wants("a scenario"),
		ValidArgsFunction: completeScenarios,
		RunE: func(c *cobra.Command, args []string) error {
			source, ok := scenarios.Find(args[0])
			if !ok {
				return usagef("no scenario is called %q; %s", args[0], didYouMean(args[0], scenarios.Names()))
			}
			_, err := c.OutOrStdout().Write(source)
			return err
		},
	}
}

// completeScenarios offers the embedded scenarios, and files beside them.
func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return scenarios.Names(), cobra.ShellCompDirectiveDefault
}
