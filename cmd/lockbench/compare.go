package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"lockbench/internal/campaign"
	"lockbench/internal/report"
)

func newCompareCommand() *cobra.Command {
	var kept string
	c := &cobra.Command{
		Use:   "compare [OLD] NEW [--keep DIR]",
		Short: "Show what changed between two runs or two matrices",
		Long: `compare reads the folders of two runs or matrices and prints, for each lock of each
scenario, the changes in verdict, rate (by Fisher's exact test) and latency.

--keep DIR is for a matrix that runs each night. It adds the figures of the night to
DIR/nights.csv. Without OLD, compare takes the last good night in DIR: a night in which
everything was as expected and nothing had become worse. The output is Markdown, with the
changes first.

Exit codes: 0 nothing became worse, 1 a result became worse, 2 a result of the first is
missing in the second, 3 a folder cannot be read, 64 wrong usage. With --keep, a missing
result is not an error, 3 also means that the matrix has no runs, and until DIR has a good
night, 1 also means that a result is not as expected.`,
		Example: "  lockbench compare results/failover/20261120-020000-7 results/latest\n  lockbench compare night --keep kept > summary.md",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 2 || len(args) == 1 && kept != "" {
				return nil
			}
			return usagef("compare wants two folders, of runs or of matrices, the earlier first, or one and --keep DIR; got %d", len(args))
		},
		RunE: func(c *cobra.Command, args []string) error {
			if kept != "" {
				return keep(c, args, kept)
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
			return exitWith(done.ExitCode())
		},
	}
	c.Flags().StringVar(&kept, "keep", "", "the folder with the figures of earlier nights")
	return c
}

// keep compares a matrix with the given one or the last green one, and keeps its figures.
func keep(c *cobra.Command, args []string, kept string) error {
	before := ""
	if len(args) == 2 {
		before = args[0]
	}
	night, err := campaign.Keep(before, args[len(args)-1], kept)
	if err != nil {
		return err
	}
	if err := night.Summary(c.OutOrStdout()); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(c.OutOrStdout(), "Figures of all nights: %s\n", filepath.Join(kept, campaign.NightsFile))
	return exitWith(night.ExitCode())
}
