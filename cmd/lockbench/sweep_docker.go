package main

import (
	"github.com/spf13/cobra"

	"lockbench/internal/run"
)

// sweepDockerName is the command that removes the containers of a killed run.
const sweepDockerName = "sweep-docker"

// newSweepDockerCommand is hidden: world docker starts it next to each cluster.
func newSweepDockerCommand() *cobra.Command {
	return &cobra.Command{
		Use:     sweepDockerName + " OWNER",
		Short:   "Wait for the end of stdin, then remove the containers and networks of one owner",
		Example: "  lockbench sweep-docker 1a2b3c4d </dev/null",
		Hidden:  true,
		Args:    wants(1, 1, "the owner's name"),
		RunE: func(c *cobra.Command, args []string) error {
			return run.SweepDocker(c.Context(), c.InOrStdin(), args[0])
		},
	}
}
