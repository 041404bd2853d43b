package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/world"
	"lockbench/locks/catalog"
	"lockbench/service"
	services "lockbench/service/catalog"
)

func newDoctorCommand() *cobra.Command {
	var f worldFlags
	var images []string
	c := &cobra.Command{
		Use:     "doctor",
		Short:   "Show what this machine can run, and what to install for the rest",
		Example: "  lockbench doctor\n  lockbench doctor --images redis\n  lockbench doctor --server redis=/opt/valkey/bin/valkey-server\n  lockbench doctor --servers redis+sentinel://a:26379/mymaster --hooks hooks.yaml",
		Args:    nothing,
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := f.options(c)
			if err != nil {
				return err
			}
			if err := makeImages(c, o, images); err != nil {
				return err
			}
			screen := sayTo(c.OutOrStdout())
			say := func(word, text string) { screen(fmt.Sprintf("%-9s %s", word, text)) }
			screen(fmt.Sprintf("machine   %s/%s, %s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.Version(), runtime.NumCPU()))
			if dir, err := os.MkdirTemp("", "lockbench-doctor-"); err != nil {
				screen(fmt.Sprintf("disk      no folder can be made for servers' data: %v", err))
			} else {
				screen(fmt.Sprintf("disk      servers keep their data under %s", os.TempDir()))
				_ = os.Remove(dir)
			}
			// List the worlds that auto would try and those that it would skip.
			var takes, passed []string
			ready := false
			o.NoFetch = true
			if err := f.reach(&o); err != nil {
				return err
			}
			for _, w := range run.Worlds(o) {
				if o.External != nil && w.Name() != f.world {
					continue // only these servers matter
				}
				err := w.Ready(c.Context())
				toFetch := (*world.ToFetch)(nil)
				switch {
				case errors.As(err, &toFetch) && !f.offline:
					say(w.Name(), "will fetch "+toFetch.What+" once, as this machine lacks what it would be made of")
				case err != nil:
					say(w.Name(), fmt.Sprintf("not ready: %v", err))
				default:
					say(w.Name(), "ready, "+w.About())
				}
				switch {
				case ready:
				case err == nil:
					takes = append(takes, w.Name())
				case toFetch != nil && !f.offline:
					takes = append(takes, w.Name()+" if that can be fetched within a minute")
				default:
					passed = append(passed, w.Name())
				}
				ready = ready || err == nil
				if has, ok := w.(interface {
					Has(context.Context, *service.Service) (string, error)
				}); ok {
					for _, s := range services.All() {
						what, err := has.Has(c.Context(), s)
						if err != nil {
							what = err.Error()
						} else {
							what = "ready, " + what
						}
						say("", fmt.Sprintf("%-9s %s", s.Name, what))
					}
				}
				if r, ok := w.(interface {
					Report(context.Context) []string
				}); ok {
					for _, line := range r.Report(c.Context()) {
						say("", line)
					}
				}
			}
			for i, folder := range catalog.Guests() {
				word, what := "", "built"
				if i == 0 {
					word = "guests"
				}
				if _, err := run.Guest(folder); err != nil {
					what = "not built (make guests)"
				}
				say(word, folder+" "+what)
			}
			if o.External != nil && len(takes) == 0 {
				return exitError{report.ExitHarness, errors.New("these servers cannot be used; the line above gives the reason")}
			}
			if len(takes) == 0 {
				return exitError{report.ExitHarness, errors.New("no world is ready on this machine; the lines above say what to install")}
			}
			if o.External != nil {
				screen("next      lockbench run failover with the same flags")
				return nil
			}
			why := "the first that is ready"
			if len(passed) > 0 {
				why = "since " + strings.Join(passed, " and ") + " cannot be used, as said above"
			}
			if len(takes) > 1 {
				why = "the first that is ready then"
			}
			say("auto", "takes "+strings.Join(takes, ", else ")+": "+why)
			screen("next      lockbench run failover")
			return nil
		},
	}
	f.addServers(c)
	f.add(c)
	c.Flags().StringSliceVar(&images, "images", nil, "in world docker: make or fetch the images of these services now, such as redis,etcd")
	completeList(c, "images", serviceNames)
	return c
}

// makeImages makes or fetches the images from which world docker starts the servers of some services.
// Runs do the same when they need an image.
func makeImages(c *cobra.Command, o run.WorldOptions, names []string) error {
	for _, name := range names {
		if err := knownService(name); err != nil {
			return err
		}
	}
	o.FetchLimit = run.ImageLimit
	for _, name := range names {
		of, _ := services.Find(name) // checked before
		info, err := run.NewDocker(o).Image(c.Context(), of)
		if err != nil {
			return fmt.Errorf("world docker: %w", err)
		}
		how := "exists"
		if info.Built {
			how = "was made"
		}
		sayTo(c.OutOrStdout())(fmt.Sprintf("image     %s %s: %d MB, %s", info.Name, how, info.Bytes>>20, info.From))
	}
	return nil
}
