package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"lockbench/internal/report"
)

func newCleanCommand() *cobra.Command {
	var out string
	keep := 20
	c := &cobra.Command{
		Use:   "clean",
		Short: "Remove the results of older runs",
		Long: `clean removes all runs and campaigns from a results folder but the newest. A run takes
some ten megabytes, most of it histories. The run that results/latest leads to stays, a run
that may still be going on stays, and so does whatever is not the folder of a run.`,
		Example: "  lockbench clean --keep 10\n  lockbench clean --keep 0 --out /tmp/results",
		Args:    nothing,
		RunE: func(c *cobra.Command, _ []string) error {
			if keep < 0 {
				return usagef("--keep wants a number from 0 up, not %d", keep)
			}
			removed, bytes, err := report.Prune(out, keep, time.Now())
			say := sayTo(c, c.OutOrStdout())
			for _, dir := range removed {
				say("removed " + dir)
			}
			say(fmt.Sprintf("%s removed, %d MB", count(len(removed), "run"), bytes>>20))
			if len(removed) > 0 {
				writeIndex(c, out)
			}
			return err
		},
	}
	c.Flags().IntVar(&keep, "keep", keep, "how many of the newest stay")
	c.Flags().StringVar(&out, "out", "results", "the results folder")
	return c
}
