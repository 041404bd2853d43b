package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/service"
	services "lockbench/internal/service/catalog"
	"lockbench/internal/world"
	"lockbench/locks/catalog"
)

func newDoctorCommand() *cobra.Command {
	var f worldFlags
	var images []string
	c := &cobra.Command{
		Use:     "doctor",
		Short:   "Show what this machine can run, and what to install for the rest",
		Example: "  lockbench doctor\n  lockbench doctor --images redis\n  lockbench doctor --server redis=/opt/valkey/bin/valkey-server\n  lockbench doctor --servers redis+sentinel://a:26379/mymaster --hooks hooks.yaml",
		Args:    wants(0, 0, "no arguments"),
		RunE:    func(c *cobra.Command, _ []string) error { return doctor(c, &f, images) },
	}
	f.add(c)
	c.Flags().StringSliceVar(&images, "images", nil, "in world docker: make or fetch the images of these services now, such as redis,etcd")
	completeList(c, "images", serviceNames)
	return c
}

func doctor(c *cobra.Command, f *worldFlags, images []string) error {
	o, err := f.options(c)
	if err != nil {
		return err
	}
	if err := makeImages(c, o, images); err != nil {
		return err
	}
	o.NoFetch = true
	if err := f.reach(&o); err != nil {
		return err
	}
	screen := sayTo(c.OutOrStdout())
	say := func(word, text string) { screen(fmt.Sprintf("%-9s %s", word, text)) }
	say("machine", fmt.Sprintf("%s/%s, %s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.Version(), runtime.NumCPU()))
	takes, ready := "", false // what auto takes
	for _, w := range run.Worlds(o) {
		if o.External != nil && w.Name() != f.world {
			continue // only these servers matter
		}
		err := w.Ready(c.Context())
		text, choice := "ready, "+w.About(), w.Name() // About may need Ready
		toFetch := (*world.ToFetch)(nil)
		switch {
		case errors.As(err, &toFetch) && !f.offline:
			text = "will fetch " + toFetch.What + " once, as this machine lacks what it would be made of"
			choice += " if that can be fetched within a minute, else "
		case err != nil:
			text, choice = fmt.Sprintf("not ready: %v", err), ""
		}
		say(w.Name(), text)
		if !ready {
			takes += choice
		}
		ready = ready || err == nil
		for _, line := range details(c.Context(), w) {
			say("", line)
		}
	}
	for _, folder := range catalog.Guests() {
		what := "built"
		if _, err := run.Guest(folder); err != nil {
			what = "not built (make guests)"
		}
		say("guest", folder+" "+what)
	}
	if takes == "" {
		return exitError{report.ExitHarness, errors.New("no world is ready; the lines above give the reasons")}
	}
	if o.External != nil {
		say("next", "lockbench run failover with the same flags")
		return nil
	}
	say("auto", "takes "+takes)
	say("next", "lockbench run failover")
	return nil
}

// details returns lines about the services and properties of a world.
func details(ctx context.Context, w world.World) (lines []string) {
	if has, ok := w.(interface {
		Has(context.Context, *service.Service) (string, error)
	}); ok {
		for _, s := range services.All() {
			what, err := has.Has(ctx, s)
			if err != nil {
				what = err.Error()
			} else {
				what = "ready, " + what
			}
			lines = append(lines, fmt.Sprintf("%-9s %s", s.Name, what))
		}
	}
	if r, ok := w.(interface {
		Report(context.Context) []string
	}); ok {
		lines = append(lines, r.Report(ctx)...)
	}
	return lines
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
