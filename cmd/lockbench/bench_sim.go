package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/spf13/cobra"

	"lockbench/internal/run"
)

// simGoals are what the simulation was to reach.
const (
	simCommandsGoal = 50_000 // Redis commands a second through unmodified go-redis
	simRatioGoal    = 15     // virtual seconds a real second, with 5 clients that never wait
)

// newBenchSimCommand measures the simulation. Each line is measured in a process of
// its own, since a process should run one simulation only.
func newBenchSimCommand() *cobra.Command {
	var clients, commands int
	var asJSON bool
	c := &cobra.Command{
		Use:   "sim",
		Short: "How fast the simulation is, in commands and in virtual time, against the goals",
		Long: `sim lets 5, 30 and 100 clients send commands through go-redis to one simulated Redis,
one after the other and without a pause, and prints commands and virtual seconds for
each real second. Clients that sleep or wait make the second figure larger. Run it on
a machine that does nothing else.`,
		Example: "  lockbench bench sim\n  lockbench bench sim --clients 30",
		Args:    nothing,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("clients") {
				s, err := run.MeasureSim(c.Context(), clients, commands)
				if err != nil {
					return err
				}
				if asJSON {
					return json.NewEncoder(c.OutOrStdout()).Encode(s)
				}
				printSimSpeed(c, s)
				return nil
			}
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			for _, n := range []int{5, 30, 100} {
				cmd := exec.CommandContext(c.Context(), self, "bench", "sim", "--json",
					"--clients", strconv.Itoa(n), "--commands", strconv.Itoa(100_000/n))
				cmd.Env = append(os.Environ(), "GOGC=800")
				cmd.Stderr = c.ErrOrStderr()
				out, err := cmd.Output()
				if err != nil {
					return fmt.Errorf("measure %d clients: %w", n, err)
				}
				var s run.SimSpeed
				if err := json.Unmarshal(out, &s); err != nil {
					return fmt.Errorf("measure %d clients: %w", n, err)
				}
				printSimSpeed(c, s)
			}
			return nil
		},
	}
	c.Flags().IntVar(&clients, "clients", 5, "measure this many clients only, in this process")
	c.Flags().IntVar(&commands, "commands", 10_000, "how many commands each of them sends")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return c
}

func printSimSpeed(c *cobra.Command, s run.SimSpeed) {
	mark := func(reached bool) string {
		if reached {
			return "✓"
		}
		return "✗"
	}
	ratio := fmt.Sprintf("%.1f virtual seconds a second", s.Ratio())
	if s.Clients == 5 {
		ratio += fmt.Sprintf(" (goal %d %s)", simRatioGoal, mark(s.Ratio() >= simRatioGoal))
	}
	_, _ = fmt.Fprintf(c.OutOrStdout(), "%3d clients   %7.0f commands/s (goal %d %s)   %s\n",
		s.Clients, s.PerSecond(), simCommandsGoal, mark(s.PerSecond() >= simCommandsGoal), ratio)
}
