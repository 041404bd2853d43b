package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lockbench/internal/report/index"
)

// writeIndex writes the page of all runs of a results folder. Errors are only printed, because the results are complete
// without it.
func writeIndex(c *cobra.Command, results string) {
	if err := index.Write(results); err != nil {
		_, _ = fmt.Fprintln(c.ErrOrStderr(), err)
	}
}
