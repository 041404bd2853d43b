package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lockbench/internal/acceptance"
	"lockbench/internal/matrix"
	"lockbench/internal/run"
	"lockbench/scenarios"
)

func newMergeCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Put the parts of a search, a matrix or an acceptance together that was split over machines",
		Long: `merge reads what ` + "`lockbench explore --shard I/N --out DIR`" + ` left in each folder and adds
it up; or it puts what ` + "`lockbench matrix --shard I/N`" + ` left in each folder together in a
new one, --out DIR. Parts of different searches or matrices, or one part twice, are
refused; parts that are missing are named. Of acceptances it takes each world from the
one in which it ran last, into a new folder, --out DIR.

Exit codes are those of explore, matrix or acceptance, over all parts; 2 as long as a
part is missing.`,
		Example: "  lockbench merge shards/1 shards/2 shards/3\n  lockbench merge parts/1 parts/2 --out results/matrix/tonight\n" +
			"  lockbench merge results/acceptance/* --out results/acceptance/all",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("merge wants the folders of a search's parts, such as shards/1 shards/2")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if matrix.Is(args[0]) {
				return mergeMatrix(c, args, out)
			}
			if acceptance.Is(args[0]) {
				return mergeAcceptance(c, args, out)
			}
			if out != "" {
				return usagef("merge: --out is for the parts of a matrix or an acceptance, and %s is none", args[0])
			}
			var parts []*run.Explored
			for _, dir := range args {
				e, err := run.ReadExplored(dir)
				if err != nil {
					return err
				}
				parts = append(parts, e)
			}
			sum, missing, err := run.Merge(parts)
			if err != nil {
				return err
			}
			w := c.OutOrStdout()
			_, _ = fmt.Fprintf(w, "explore %s   lock %s · seeds %d..%d · %d of %d parts\n", sum.Scenario, sum.Lock, sum.From, sum.To, len(parts), max(1, sum.Shards))
			printExplored(w, sum)
			if len(missing) > 0 {
				_, _ = fmt.Fprintf(w, "missing    parts %v\n", missing)
				return exitWith(2)
			}
			// The lock's name is not asked for: it may be one that only its scenario knows.
			_, expected, err := scenarios.ParseExpect(sum.Expected, nil)
			if err != nil {
				// An expectation of more than a verdict; what was found is said above.
				expected = scenarios.Expectation{Judgement: scenarios.Judgement{Verdict: scenarios.Any}}
			}
			code := sum.ExitCode(expected)
			printExit(w, sum, code)
			return exitWith(code)
		},
	}
	c.Flags().StringVar(&out, "out", "", "of a matrix or an acceptance: the new folder to put it in")
	return c
}
