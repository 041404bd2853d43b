package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lockbench/internal/report"
	"lockbench/internal/virtual/search"
)

func newReplayCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "replay [DIR|FILE]",
		Short: "Repeat a simulated run, and compare its history byte for byte",
		Long: `replay repeats a run of world sim in a separate process and compares the histories byte
by byte. The argument is the results folder, or the sim.json or history.jsonl of one lock
in it; the default is the newest run, results/latest.

Exit codes: 0 the histories are identical, 1 they differ, 3 they cannot be compared
(another version, an edited history, no sim.json), 64 wrong usage.`,
		Example: "  lockbench replay results/latest\n  lockbench replay results/latest/set-nx/sim.json",
		Args:    wants(0, 1, "a results folder or a sim.json"),
		RunE: func(c *cobra.Command, args []string) error {
			args, err := orLatest(c, args, "a results folder or a sim.json")
			if err != nil {
				return err
			}
			out := c.OutOrStdout()
			same, err := search.Replay(c.Context(), itself(simTrialName), args[0], func(r search.Replayed) {
				if r.Identical {
					_, _ = fmt.Fprintf(out, "%s  seed %d  identical: %s  %s\n", r.Lock, r.Seed, report.Plural(r.Events, "event"), r.File)
					return
				}
				_, _ = fmt.Fprintf(out, "%s  seed %d  differs from line %d on  %s\n  was  %.200s\n  is   %.200s\n", r.Lock, r.Seed, r.Line, r.File, r.Was, r.Is)
				if r.Interrupted {
					_, _ = fmt.Fprintf(out, "  The run was interrupted, and its end is not repeated; before line %d the histories are identical.\n", r.Line)
				}
			})
			switch {
			case err != nil:
				return err
			case !same:
				return exitWith(report.ExitUnexpected)
			}
			return nil
		},
	}
}
