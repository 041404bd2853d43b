package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"lockbench/internal/matrix"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/run"
)

func newReportCommand() *cobra.Command {
	var open bool
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "Write the report of a run again, from its results folder alone",
		Long: `report writes report.html, summary.md and junit.xml of a results folder again, from its
result.json and its histories. Of a run that was killed before it could write a
result, it judges the histories first. Of a matrix it puts the runs together again.`,
		Example: "  lockbench report results/latest\n  lockbench report results/latest --open",
		Args:    wants("a results folder"),
		RunE: func(c *cobra.Command, args []string) error {
			again := rewrite
			if matrix.Is(args[0]) {
				again = rewriteMatrix
			}
			if err := again(args[0]); err != nil {
				return err
			}
			path := filepath.Join(args[0], page.File)
			_, _ = fmt.Fprintln(c.OutOrStdout(), path)
			if open {
				return openPage(path)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&open, "open", false, "show it in the browser")
	return c
}

// rewrite writes the reports of a run anew.
func rewrite(dir string) error {
	b, err := report.Load(dir)
	if err != nil {
		return err
	}
	if b.Result == nil {
		if b.Result, err = run.Rejudge(b); err != nil {
			return err
		}
		if err := b.WriteResult(b.Result); err != nil {
			return err
		}
	}
	stories := report.Stories{}
	for _, h := range b.Histories {
		for i := range b.Result.Locks {
			if l := &b.Result.Locks[i]; l.Lock == h.Lock {
				if story := run.StoryOf(h.Path, l); story != nil {
					stories[l.Lock] = story
				}
			}
		}
	}
	if err := b.WriteSummaries(b.Result, stories); err != nil {
		return err
	}
	return page.WriteTo(dir)
}

// rewriteMatrix writes what is made from the runs of a matrix anew.
func rewriteMatrix(dir string) error {
	_, err := matrix.Finish(dir, expectsOf(nil, run.Expects), "")
	return err
}

// openPage shows a file in the browser of whoever sits here.
func openPage(path string) error {
	command := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if command == nil {
		command = []string{"xdg-open"}
	}
	program, err := exec.LookPath(command[0])
	if err != nil {
		return fmt.Errorf("open %s: no %s here; open the file by hand", path, command[0])
	}
	show := exec.Command(program, append(command[1:], path)...)
	show.Stderr = os.Stderr
	if err := show.Run(); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	return nil
}
