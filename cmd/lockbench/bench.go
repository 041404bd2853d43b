package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime/pprof"
	"time"

	"github.com/spf13/cobra"

	"lockbench/internal/bench"
)

func newBenchCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "bench",
		Short:   "Measure lockbench itself",
		Long:    "bench measures how fast lockbench is, beside what it was to be. It starts no server.",
		Example: "  lockbench bench checker\n  lockbench bench checker --quick\n  lockbench bench sim",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("bench cannot measure %q; %s", args[0], didYouMean(args[0], []string{"checker", "sim"}))
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newBenchCheckerCommand(), newBenchSimCommand(), newBenchPorcupineCommand())
	return c
}

func newBenchCheckerCommand() *cobra.Command {
	var quick, asJSON bool
	var profile string
	var limit time.Duration
	var seed uint64
	c := &cobra.Command{
		Use:   "checker",
		Short: "How fast histories are judged, against the goals and against porcupine",
		Long: `checker judges histories of up to ten million operations, made from a seed, and
prints a table of goals and of what was reached. Ratios are taken within this one run:
porcupine judges the same histories, each lock by itself, in a process of its own,
within a limit of time and of half the memory that is free. What it has not finished
by then counts as the limit.

Takes about five minutes and 2 GB; --quick takes half a minute. Run it on a machine that
does nothing else.`,
		Example: "  lockbench bench checker\n  lockbench bench checker --quick --json\n  lockbench bench checker --profile cpu.out && go tool pprof -top cpu.out",
		Args:    nothing,
		RunE: func(c *cobra.Command, _ []string) error {
			if limit <= 0 {
				return usagef("--limit: porcupine needs a limit of time above 0, such as 60s")
			}
			if quick && !c.Flags().Changed("limit") {
				limit = 5 * time.Second
			}
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			if profile != "" {
				f, err := os.Create(profile)
				if err != nil {
					return fmt.Errorf("write the profile: %w", err)
				}
				defer f.Close()
				if err := pprof.StartCPUProfile(f); err != nil {
					return fmt.Errorf("write the profile: %w", err)
				}
				defer pprof.StopCPUProfile()
			}
			const porcupineNeeds = 12 << 30
			rows, err := bench.Checker(c.Context(), bench.Options{
				Quick: quick, Seed: seed,
				Porcupine: bench.InChild(func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, self, "bench", "porcupine") },
					bench.Limit{Time: limit, Memory: bench.MemoryFor(porcupineNeeds)}),
				Say: func(what string) { _, _ = fmt.Fprintln(c.ErrOrStderr(), "measuring", what) },
			})
			if err != nil {
				return err
			}
			if asJSON {
				e := json.NewEncoder(c.OutOrStdout())
				e.SetEscapeHTML(false)
				e.SetIndent("", " ")
				return e.Encode(map[string]any{"schema": 1, "machine": bench.Machine(), "quick": quick, "rows": rows})
			}
			if _, err := fmt.Fprintf(c.OutOrStdout(), "%s\n\n", bench.Machine()); err != nil {
				return err
			}
			return bench.Print(c.OutOrStdout(), rows)
		},
	}
	c.Flags().BoolVar(&quick, "quick", false, "a tenth of everything, and 5 s for porcupine")
	c.Flags().BoolVar(&asJSON, "json", false, "as one JSON object")
	c.Flags().DurationVar(&limit, "limit", time.Minute, "how long porcupine may take for a history")
	c.Flags().Uint64Var(&seed, "seed", 7, "from which the histories are made")
	c.Flags().StringVar(&profile, "profile", "", "write a CPU profile of this process into a file")
	return c
}

// newBenchPorcupineCommand is the other side of a comparison, in a process of its own.
func newBenchPorcupineCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "porcupine",
		Short:   "The other side of a comparison: reads a case, runs porcupine on it",
		Hidden:  true,
		Args:    nothing,
		Example: "  lockbench bench porcupine < case.json",
		RunE:    func(c *cobra.Command, _ []string) error { return bench.ServePorcupine(c.InOrStdin(), c.OutOrStdout()) },
	}
}
