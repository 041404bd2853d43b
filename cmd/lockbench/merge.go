package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lockbench/internal/campaign"
	"lockbench/internal/report"
	"lockbench/internal/search"
	"lockbench/scenarios"
)

func newMergeCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Combine the shards of explore, matrix or acceptance",
		Long: `merge reads what ` + "`lockbench explore --shard I/N --out DIR`" + ` left in each folder and adds
it up; or it puts what ` + "`lockbench matrix --shard I/N`" + ` left in each folder together in a
new one, --out DIR; of lockbench campaign the folder that has all of its parts may be named. Parts of different searches or matrices, or one part twice, are
refused; parts that are missing are named. Of acceptances it takes each scenario in
each world from the one in which it ran last, into a new folder, --out DIR.

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
			var dirs []string
			for _, dir := range args {
				dirs = append(dirs, campaign.Parts(dir)...)
			}
			if args = dirs; campaign.Is(args[0]) {
				return mergeCampaigns(c, args, out)
			}
			if out != "" {
				return usagef("merge: --out is for the parts of a matrix or an acceptance, and %s is none", args[0])
			}
			var parts []*search.Explored
			for _, dir := range args {
				e, err := search.ReadExplored(dir)
				if err != nil {
					return err
				}
				parts = append(parts, e)
			}
			sum, missing, err := search.Merge(parts)
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
				expected = scenarios.Expectation{Judgement: scenarios.Judgement{Verdict: scenarios.Unjudged}}
			}
			code := sum.ExitCode(expected)
			printExit(w, sum, code)
			return exitWith(code)
		},
	}
	c.Flags().StringVar(&out, "out", "", "of a matrix or an acceptance: the new folder to put it in")
	return c
}

// mergeCampaigns puts the parts of a matrix or an acceptance together.
func mergeCampaigns(c *cobra.Command, dirs []string, out string) error {
	if out == "" {
		return usagef("merge of a matrix or an acceptance wants --out DIR, the folder to put it in")
	}
	say := sayTo(c.OutOrStdout())
	sum, missing, err := campaign.Merge(out, dirs, nil, say)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		say(fmt.Sprintf("missing    parts %v", missing))
	}
	if err := endCampaign(c, sum, nil); err != nil || len(missing) == 0 {
		return err
	}
	return exitWith(report.ExitUnknown)
}
