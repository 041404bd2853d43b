package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/run"
)

func newCheckCommand() *cobra.Command {
	var release string
	var asJSON bool
	c := &cobra.Command{
		Use:   "check FILE|DIR...",
		Short: "Judge histories again: the right half of lockbench, alone",
		Long: `check reads histories and judges them. A directory is a run's results folder, all
of whose histories are judged. Nothing but the history decides, so a history from
anywhere gets the verdict that a run with it would have given.

Exit codes: 0 valid, 1 violated, 2 unknown, 3 a file could not be read or is no
history, 64 wrong usage.`,
		Example: "  lockbench check results/latest\n  lockbench check results/latest/set-nx/history.jsonl --json\n  lockbench check mine.jsonl --release strict",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("check wants a history or a results folder, such as results/latest")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			readings := []string{string(checker.Ended), string(checker.Strict)}
			if !slices.Contains(readings, release) {
				return usagef("--release: %q is no reading of a failed release; %s", release, didYouMean(release, readings))
			}
			return check(c.OutOrStdout(), args, checker.Options{Release: checker.Release(release)}, asJSON)
		},
	}
	c.Flags().StringVar(&release, "release", string(checker.Ended), "how a failed release is read: ended (the claim is over) or strict (nothing ended)")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return c
}

// checked is what check --json prints for one history.
type checked struct {
	Schema  int              `json:"schema"`
	File    string           `json:"file"`
	Lock    string           `json:"lock,omitempty"`
	Verdict checker.Verdict  `json:"verdict"`
	Class   checker.Class    `json:"class,omitzero"`
	Why     string           `json:"why,omitempty"`
	Checks  []checker.Result `json:"checks"`
}

// check judges every history that can be read, whatever is wrong with the others:
// a lock whose cluster never came up must not hide what the rest of a run showed.
// Its exit code is the harness's failure before violated before unknown.
func check(w io.Writer, args []string, o checker.Options, asJSON bool) error {
	files, failed := histories(args)
	worst := checker.Valid
	for _, file := range files {
		l, story, err := run.Judge(file, o)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		worst = max(worst, l.Verdict)
		if asJSON {
			line := checked{report.SchemaVersion, file, l.Lock, l.Verdict, l.Class, l.Why, l.Checks}
			if err := json.NewEncoder(w).Encode(line); err != nil {
				return err
			}
			continue
		}
		if err := report.Checked(w, file, &l, story); err != nil {
			return err
		}
	}
	switch {
	case len(failed) > 0:
		return errors.Join(failed...)
	case worst == checker.Violated:
		return exitWith(report.ExitUnexpected)
	case worst == checker.Unknown:
		return exitWith(report.ExitUnknown)
	}
	return nil
}

// histories turns directories into the histories in them, and says which
// arguments are neither.
func histories(args []string) (files []string, failed []error) {
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			failed = append(failed, fmt.Errorf("read the history: %w", err))
			continue
		}
		if !info.IsDir() {
			files = append(files, arg)
			continue
		}
		b, err := report.Load(arg)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if len(b.Histories) == 0 {
			failed = append(failed, fmt.Errorf("%s holds no history; a results folder has LOCK/%s in it", arg, report.HistoryFile))
		}
		for _, h := range b.Histories {
			files = append(files, h.Path)
		}
	}
	return files, failed
}
