package main

import (
	"fmt"
	"math"

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
		Short: "Combine the shards of explore or matrix",
		Long: `merge combines the shards of lockbench explore or lockbench matrix. The arguments are the
folders of the shards, or one folder that contains all of them. merge rejects shards of
different runs and duplicates, and lists missing and incomplete shards. It adds up the seeds of explore,
and copies the runs of a matrix into a new folder, --out DIR. It adds up the sets of faults of explore, and
writes sets.json to --out DIR.

Exit codes are those of explore or matrix, over all shards; 2 while a shard is missing
or incomplete.`,
		Example: "  lockbench merge shards/1 shards/2 shards/3\n  lockbench merge results/matrix/nightly --out results/matrix/merged",
		Args:    wants(1, math.MaxInt, "the folders of shards, such as shards/1 shards/2"),
		RunE: func(c *cobra.Command, args []string) error {
			var dirs []string
			for _, dir := range args {
				dirs = append(dirs, campaign.Shards(dir)...)
			}
			if args = dirs; campaign.Is(args[0]) {
				return mergeCampaigns(c, args, out)
			}
			if sets, err := setsParts(args); sets != nil || err != nil {
				if err != nil {
					return err
				}
				return mergeSets(c, sets, out)
			}
			if out != "" {
				return usagef("merge: --out is for the shards of a matrix, and %s is not one", args[0])
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
			for _, e := range parts {
				if !e.Complete() {
					sayTo(w)("incomplete " + e.Incomplete())
				}
			}
			if len(missing) > 0 {
				_, _ = fmt.Fprintf(w, "missing    shards %v\n", missing)
				return exitWith(report.ExitUnknown)
			}
			// The name of the lock is not checked, because it may be defined by its scenario only.
			expected, err := scenarios.ParseExpectation(sum.Expected)
			if err != nil {
				// Expectations beyond a verdict are not compared; the result is printed above.
				expected = scenarios.Expectation{Judgement: scenarios.Judgement{Verdict: scenarios.Unjudged}}
			}
			return exitExplored(w, sum, sum.ExitCode(expected))
		},
	}
	c.Flags().StringVar(&out, "out", "", "the new folder of a matrix, or of the counts of sets")
	return c
}

// setsParts reads the shards of a search through sets of faults. It returns nil if the first folder has another search.
func setsParts(dirs []string) (parts []*search.SetsPart, err error) {
	for i, dir := range dirs {
		p, err := search.ReadSets(dir)
		switch {
		case err != nil:
			return nil, err
		case p == nil && i == 0:
			return nil, nil
		case p == nil:
			return nil, fmt.Errorf("%s has no %s, which %s has", dir, search.JournalFile, dirs[0])
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// mergeCampaigns combines the shards of a matrix.
func mergeCampaigns(c *cobra.Command, dirs []string, out string) error {
	if out == "" {
		return usagef("merge of a matrix wants --out DIR, a new folder")
	}
	say := sayTo(c.OutOrStdout())
	sum, missing, err := campaign.Merge(out, dirs, nil)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		say(fmt.Sprintf("missing    shards %v", missing))
	}
	if err := endCampaign(c, sum, nil); err != nil || len(missing) == 0 {
		return err
	}
	return exitWith(report.ExitUnknown)
}
