package main

import (
	"os"

	"github.com/spf13/cobra"

	"lockbench/internal/virtual/child"
	"lockbench/locks/catalog"
)

// simTrialName is the command of a simulated trial.
const simTrialName = "sim-trial"

// newSimTrialCommand is hidden: run, explore and replay start it for each trial in the world sim.
func newSimTrialCommand() *cobra.Command {
	return &cobra.Command{
		Use:     simTrialName,
		Short:   "Run one trial in virtual time: read its input from stdin, report on stdout, write a history",
		Example: `  echo '{"input": ..., "history": "history.jsonl"}' | lockbench sim-trial`,
		Hidden:  true,
		Args:    wants(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			return exitWith(child.Serve(c.Context(), c.InOrStdin(), c.OutOrStdout(), catalog.Open))
		},
	}
}

// itself returns the command line of this program with a command.
func itself(command string) []string {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0]
	}
	return []string{path, command}
}
