package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"lockbench/internal/report"
	"lockbench/internal/run"
)

func newDoctorCommand() *cobra.Command {
	var f worldFlags
	c := &cobra.Command{
		Use:     "doctor",
		Short:   "Say what this machine can run, and what to install for the rest",
		Example: "  lockbench doctor\n  lockbench doctor --redis-server /opt/valkey/bin/valkey-server\n  lockbench doctor --server redis=/opt/valkey/bin/valkey-server",
		Args:    nothing,
		RunE: func(c *cobra.Command, _ []string) error {
			out := c.OutOrStdout()
			_, _ = fmt.Fprintf(out, "machine   %s/%s, %s, %d processors\n", runtime.GOOS, runtime.GOARCH, runtime.Version(), runtime.NumCPU())
			if dir, err := os.MkdirTemp("", "lockbench-doctor-"); err != nil {
				_, _ = fmt.Fprintf(out, "disk      no folder can be made for servers' data: %v\n", err)
			} else {
				_, _ = fmt.Fprintf(out, "disk      servers keep their data under %s\n", os.TempDir())
				_ = os.Remove(dir)
			}
			ready := 0
			o := f.options(c)
			o.NoFetch = true
			for _, w := range run.Worlds(o) {
				if err := w.Ready(c.Context()); err != nil {
					_, _ = fmt.Fprintf(out, "%-9s not ready: %v\n", w.Name(), err)
				} else {
					ready++
					_, _ = fmt.Fprintf(out, "%-9s ready, %s\n", w.Name(), w.About())
				}
				if r, ok := w.(interface {
					Report(context.Context) []string
				}); ok {
					for _, line := range r.Report(c.Context()) {
						_, _ = fmt.Fprintf(out, "%-9s %s\n", "", line)
					}
				}
			}
			if ready == 0 {
				return exitError{report.ExitHarness, errors.New("no world is ready on this machine; the lines above say what to install")}
			}
			_, _ = fmt.Fprintln(out, "next      lockbench run failover")
			return nil
		},
	}
	f.add(c, "the server to look at (default: from PATH)", "in world docker: the image to look at")
	return c
}
