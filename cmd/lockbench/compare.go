package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lockbench/internal/campaign"
	"lockbench/internal/report"
)

func newCompareCommand() *cobra.Command {
	var html string
	c := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Say what changed between two runs or two matrices, and whether for the worse",
		Long: `compare takes the folders of two runs, matrices or acceptances and says, for each lock of each
scenario, what changed in verdict, in rate (by Fisher's exact test) and in latency. With
--html FILE it writes the same as a page, too.

Exit codes: 0 nothing became worse, 1 something did, 2 something of the first was not
run in the second, 3 a folder cannot be read, 64 wrong usage.`,
		Example: "  lockbench compare results/failover/20261120-020000-7 results/latest\n  lockbench compare last-night tonight --html changes.html",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("compare wants two folders, of runs or of matrices, the earlier first; got %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := notEmpty(c, "html"); err != nil {
				return err
			}
			var sides [2][]*report.Result
			for i, dir := range args {
				all, err := campaign.Results(dir)
				if err != nil {
					return err
				}
				sides[i] = all
			}
			done := campaign.Compare(sides[0], sides[1])
			if err := done.Write(c.OutOrStdout()); err != nil {
				return err
			}
			if html != "" {
				if err := done.SavePage(html, args[0], args[1]); err != nil {
					return err
				}
				_, _ = fmt.Fprintf(c.OutOrStdout(), "Page     %s\n", html)
			}
			return exitWith(done.ExitCode())
		},
	}
	c.Flags().StringVar(&html, "html", "", "write what changed to this file as a page, too")
	return c
}
