package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"lockbench/internal/campaign"
)

func newNightlyCommand() *cobra.Command {
	var kept, summary string
	c := &cobra.Command{
		Use:   "nightly DIR",
		Short: "Compare a campaign with the last green night, and keep its figures",
		Long: `nightly takes the folder of a campaign, a matrix or what merge has put together, and a folder
that is kept from night to night, --keep DIR. It compares with the last night that was green: all
was as expected and nothing had become worse. It says what changed first, and then what came
out. Of each night it keeps the figures, a year of them, and draws them in DIR/trends.html.

Exit codes: 1 something became worse; 3 nothing was run at all; else 0. As long as no night was
green, 1 also if something is not as expected. 64 wrong usage.`,
		Example: "  lockbench merge parts/nightly --out night\n  lockbench nightly night --keep kept --summary summary.md",
		Args:    wants("the folder of a campaign"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := notEmpty(c, "keep", "summary"); err != nil {
				return err
			}
			night, err := campaign.Nightly(args[0], kept)
			if err != nil {
				return err
			}
			if err := night.Summary(c.OutOrStdout()); err != nil {
				return err
			}
			if summary != "" {
				// What else wrote to the page of a workflow stands there already.
				f, err := os.OpenFile(summary, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
				if err != nil {
					return fmt.Errorf("write the summary: %w", err)
				}
				err = night.Summary(f)
				if closeErr := f.Close(); err == nil {
					err = closeErr
				}
				if err != nil {
					return fmt.Errorf("write the summary: %w", err)
				}
			}
			_, _ = fmt.Fprintf(c.OutOrStdout(), "Trends   %s\n", filepath.Join(kept, campaign.TrendsFile))
			return exitWith(night.ExitCode())
		},
	}
	c.Flags().StringVar(&kept, "keep", "results/nightly", "the folder that is kept from night to night")
	c.Flags().StringVar(&summary, "summary", "", "add what is said to this file, too")
	return c
}
