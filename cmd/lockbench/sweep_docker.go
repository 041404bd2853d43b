package main

import (
	"github.com/spf13/cobra"

	"lockbench/internal/run"
)

// newSweepDockerCommand is hidden: world docker starts it next to each cluster.
func newSweepDockerCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "sweep-docker OWNER",
		Short:   "Wait for the end of stdin, then remove the containers and networks of one owner",
		Example: "  lockbench sweep-docker 1a2b3c4d </dev/null",
		Hidden:  true,
		Args:    wants("the owner's name"),
		RunE: func(c *cobra.Command, args []string) error {
			return run.SweepDocker(c.Context(), c.InOrStdin(), args[0])
		},
	}
}

// sweepDocker is the command that removes what a killed run leaves: this program. If its file cannot be found, the next
// run does it.
func sweepDocker() []string { return itself("sweep-docker") }
