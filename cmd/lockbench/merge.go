package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lockbench/internal/run"
	"lockbench/scenarios"
)

func newMergeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "merge DIR...",
		Short: "Add up the parts of a search that was split over machines",
		Long: `merge reads what ` + "`lockbench explore --shard I/N --out DIR`" + ` left in each folder and adds
it up. Parts of different searches, or one part twice, are refused; parts that are
missing are named.

Exit codes are those of explore, over all parts; 2 as long as a part is missing.`,
		Example: "  lockbench merge shards/1 shards/2 shards/3",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("merge wants the folders of a search's parts, such as shards/1 shards/2")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
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
			uses, err := scenarios.ParseLocks(sum.Lock, run.Known())
			if err != nil {
				return err
			}
			_, expected, err := scenarios.ParseExpect(uses[0].Name+"="+sum.Expected, uses, run.Known())
			if err != nil {
				// An expectation of more than a verdict; what was found is said above.
				expected = scenarios.Expectation{Judgement: scenarios.Judgement{Verdict: scenarios.Any}}
			}
			code := sum.ExitCode(expected)
			printExit(w, sum, code)
			return exitWith(code)
		},
	}
}
