package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lockbench/internal/report/index"
)

// writeIndex writes the page of all runs of a results folder. What was run is no less true
// without it, so what goes wrong is only told.
func writeIndex(c *cobra.Command, results string) {
	if err := index.Write(results); err != nil {
		_, _ = fmt.Fprintln(c.ErrOrStderr(), err)
	}
}
