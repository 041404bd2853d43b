package main

import (
	"os"

	"github.com/spf13/cobra"

	"lockbench/internal/trial"
	"lockbench/locks/catalog"
)

// simTrialName is the command of a simulated trial.
const simTrialName = "sim-trial"

// newSimTrialCommand is hidden: run, explore and replay start it for each trial in the
// world sim, and nobody types it.
func newSimTrialCommand() *cobra.Command {
	return &cobra.Command{
		Use:     simTrialName,
		Short:   "Be one trial in virtual time: reads its input on stdin, tells on stdout, writes a history",
		Example: `  echo '{"input": ..., "history": "history.jsonl"}' | lockbench sim-trial`,
		Hidden:  true,
		Args:    nothing,
		RunE: func(c *cobra.Command, _ []string) error {
			return exitWith(trial.Serve(c.Context(), c.InOrStdin(), c.OutOrStdout(), catalog.Open))
		},
	}
}

// simTrial is the command that the world sim runs its trials by: this program. If
// nobody can say where that is, they run in this process.
func simTrial() []string { return itself(simTrialName) }

// itself is this program with a command. Nil: nobody can say where it is.
func itself(command string) []string {
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{path, command}
}
