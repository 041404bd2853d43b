package main

import (
	"github.com/spf13/cobra"

	"lockbench/internal/compare"
	"lockbench/internal/matrix"
	"lockbench/internal/report"
	"lockbench/internal/run"
)

func newCompareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Say what changed between two runs or two matrices, and whether for the worse",
		Long: `compare takes the folders of two runs or of two matrices and says, for each lock of each
scenario, what changed in verdict, in rate (by Fisher's exact test) and in latency.

Exit codes: 0 nothing became worse, 1 something did, 2 something of the first was not
run in the second, 3 a folder cannot be read, 64 wrong usage.`,
		Example: "  lockbench compare results/failover/20261120-020000-7 results/latest\n  lockbench compare last-night tonight",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("compare wants two folders, of runs or of matrices, the earlier first; got %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			var sides [2][]*report.Result
			for i, dir := range args {
				all, err := resultsOf(dir)
				if err != nil {
					return err
				}
				sides[i] = all
			}
			done := compare.Compare(sides[0], sides[1])
			if err := done.Write(c.OutOrStdout()); err != nil {
				return err
			}
			return exitWith(done.ExitCode())
		},
	}
}

// resultsOf are the results in the folder of a run or of a matrix.
func resultsOf(dir string) ([]*report.Result, error) {
	if matrix.Is(dir) {
		m, err := matrix.Read(dir)
		if err != nil {
			return nil, err
		}
		var all []*report.Result
		for _, r := range m.Rows {
			if r.NotRun == "" {
				all = append(all, r.Result)
			}
		}
		return all, nil
	}
	b, err := report.Load(dir)
	if err != nil {
		return nil, err
	}
	if b.Result == nil {
		if b.Result, err = run.Rejudge(b); err != nil {
			return nil, err
		}
	}
	return []*report.Result{b.Result}, nil
}
