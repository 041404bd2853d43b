package main

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"lockbench/internal/campaign"
	"lockbench/internal/report"
	"lockbench/internal/virtual/search"
)

func newMergeCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Combine the shards of matrix or of explore --faults",
		Long: `merge combines the shards of lockbench matrix or of lockbench explore --faults. The
arguments are the folders of the shards, or one folder that contains all of them. merge
rejects shards of different runs and duplicates, and lists missing and incomplete shards.
It copies the runs of a matrix into a new folder, --out DIR. It adds up the sets of faults
of explore, and writes sets.json to --out DIR.

Exit codes are those of matrix or explore, over all shards; 2 while a shard is missing
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
			parts, err := setsParts(args)
			if err != nil {
				return err
			}
			return mergeSets(c, parts, out)
		},
	}
	c.Flags().StringVar(&out, "out", "", "the new folder of a matrix, or of the counts of sets")
	return c
}

// setsParts reads the shards of a search through sets of faults.
func setsParts(dirs []string) (parts []*search.SetsPart, err error) {
	for _, dir := range dirs {
		p, err := search.ReadSets(dir)
		if err != nil {
			return nil, err
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
	sum, missing, err := campaign.Merge(out, dirs)
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
