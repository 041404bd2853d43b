package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"lockbench/internal/campaign"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/run"
)

func newReportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "report [DIR]",
		Short: "Write the report of a run again, from its results folder alone",
		Long: `report writes report.html, summary.md and junit.xml of a results folder again, from
result.json and the histories. If a run was killed before it wrote result.json, report
judges the histories. In the folder of a matrix it collects the runs again. The default
folder is the newest run, results/latest.`,
		Example: "  lockbench report results/latest",
		Args:    wants(0, 1, "a results folder"),
		RunE: func(c *cobra.Command, args []string) error {
			args, err := orLatest(c, args, "a results folder")
			if err != nil {
				return err
			}
			path, err := rewrite(args[0])
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintln(c.OutOrStdout(), path)
			return nil
		},
	}
}

// rewrite writes the reports of a run or a campaign again, and returns its page.
func rewrite(dir string) (path string, err error) {
	if dir, err = campaign.Inside(dir); err != nil {
		return "", err
	}
	if campaign.Is(dir) {
		c, err := campaign.Read(dir)
		if err != nil {
			return "", err
		}
		t, err := c.Table()
		if err != nil {
			return "", err
		}
		if err := t.Gone(); err != nil {
			return "", err
		}
		return t.Page(), t.Write()
	}
	b, err := report.Load(dir)
	if err != nil {
		return "", err
	}
	if err := b.Gone(); err != nil { // the page that is there may have their drawings
		return "", err
	}
	if b.Result == nil {
		if b.Result, err = run.Rejudge(b); err != nil {
			return "", err
		}
		if err := b.WriteResult(b.Result); err != nil {
			return "", err
		}
	}
	if err := b.WriteSummaries(b.Result); err != nil {
		return "", err
	}
	return filepath.Join(dir, page.File), page.WriteTo(dir)
}
