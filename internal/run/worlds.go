package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lockbench/internal/report"
	services "lockbench/internal/service/catalog"
	"lockbench/internal/virtual/child"
	"lockbench/internal/world"
	"lockbench/internal/world/docker"
	"lockbench/internal/world/external"
	"lockbench/internal/world/local"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// WorldOptions are the options of all worlds.
type WorldOptions struct {
	// Programs are the server programs and Images the images of docker, by service. A missing program is looked up on
	// PATH. A missing image is built from the program.
	Programs, Images map[string]string
	// Bases are the images that docker fetches if a program is missing on this machine, by service. The default is the
	// image that the service names. FetchLimit limits the time for fetching; 0: one minute.
	Bases      map[string]string
	FetchLimit time.Duration
	NoFetch    bool // do not fetch images from a registry
	// Say receives messages about slow preparations. It may be nil.
	Say func(line string)
	// Guest is the name of a lock of the user that is a program, or empty. `auto` skips worlds that cannot run it, and
	// worlds that cannot use Programs or Images.
	Guest string
	// Services are the names of the services to start. Their programs must exist, and `auto` skips worlds that cannot
	// start them. The default is the first service of the catalog.
	Services []string
	// Module is the name of a lock that is a WASM guest, or empty.
	Module string
	// Self is the command that serves Go guests; the default is this program.
	Self []string
	// SweepDocker is the command that removes the containers of this run if this process is killed. If it is empty, the
	// next run removes them.
	SweepDocker []string
	// External are servers that lockbench does not start, or nil.
	External *external.Options
	// DryRun picks a world that need not be ready.
	DryRun bool
	// SimTrial is the command that runs one simulated trial in a separate process. If it is empty, trials run in this
	// process, one after the other.
	SimTrial []string
}

// Worlds returns all worlds in the order in which `auto` tries them.
func Worlds(o WorldOptions) []world.World {
	all := services.All()
	var elsewhere external.Options
	if o.External != nil {
		elsewhere = *o.External
		elsewhere.Self, elsewhere.Say = o.Self, o.Say
	}
	return []world.World{
		NewDocker(o),
		local.New(local.Options{Services: all, Wanted: o.Services, Programs: o.Programs, Self: o.Self}),
		child.NewWorld(catalog.Open, o.SimTrial),
		external.New(elsewhere),
	}
}

// ImageLimit is the FetchLimit for users who asked for an image.
const ImageLimit = docker.AskedLimit

// NewDocker returns the world of containers.
func NewDocker(o WorldOptions) *docker.World {
	return docker.New(docker.Options{
		Services: services.All(), Wanted: o.Services, Images: o.Images, Programs: o.Programs,
		Self: o.Self, Sweep: o.SweepDocker, Say: o.Say, Bases: o.Bases, FetchLimit: o.FetchLimit, NoFetch: o.NoFetch,
	})
}

// SweepDocker waits until life ends, and then removes the containers that owner has left.
func SweepDocker(ctx context.Context, life io.Reader, owner string) error {
	return docker.SweepAfter(ctx, life, owner)
}

// NotReady is the error for a world that cannot be used on this machine.
type NotReady struct {
	World string
	Err   error
}

func (e *NotReady) Error() string { return fmt.Sprintf("world %s: %v", e.World, e.Err) }

func (e *NotReady) Unwrap() error { return e.Err }

// Pick returns the world called name if it is ready. For "auto" it returns the first world that is ready and can run the
// locks, and the reasons why it passed over others.
func Pick(ctx context.Context, name string, o WorldOptions) (w world.World, passed []*NotReady, err error) {
	all := Worlds(o)
	for _, w := range all {
		if name != "auto" && name != "" && name != w.Name() {
			continue
		}
		var err error
		if !o.DryRun {
			err = w.Ready(ctx)
		}
		if name != w.Name() {
			err = cmp.Or(err, o.Unfit(w))
		}
		if err == nil {
			return w, passed, nil
		}
		passed = append(passed, &NotReady{w.Name(), err})
	}
	if len(passed) == 0 {
		return nil, nil, noWorld(name, all)
	}
	if len(passed) == 1 {
		return nil, passed, passed[0]
	}
	reasons := make([]string, len(passed))
	for i, p := range passed {
		reasons[i] = p.Error()
	}
	return nil, passed, fmt.Errorf("no world is ready on this machine:\n  %s", strings.Join(reasons, "\n  "))
}

func noWorld(name string, all []world.World) error {
	names := []string{"auto"}
	for _, w := range all {
		names = append(names, w.Name())
	}
	return &scenarios.Error{File: "--world", Text: fmt.Sprintf("no world is called %q", name), Hint: catalog.DidYouMean(name, names)}
}

// servicesOf returns the services of the locks. own is the service of the caller's own lock. The result is nil if no lock
// needs a service.
func servicesOf(uses []scenarios.LockUse, own string) []string {
	var names []string
	for _, u := range uses {
		if name := u.Service(own); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Unfit returns an error if a world cannot run the locks or use the programs and images.
func (o WorldOptions) Unfit(w world.World) error {
	d := w.Describe()
	for _, name := range o.Services {
		if !slices.Contains(d.Services, name) {
			return fmt.Errorf("it cannot start %s", name)
		}
	}
	switch {
	case o.Guest != "" && !d.Commands:
		if d.Modules {
			return fmt.Errorf("it cannot run programs, and %s is a program; build it as a WASM guest (in Go: GOOS=wasip1 GOARCH=wasm go build -o guest.wasm ./guest) and name it %s=wasm:./guest.wasm", o.Guest, o.Guest)
		}
		return fmt.Errorf("it cannot run guests, and %s is a guest", o.Guest)
	case o.Module != "" && !d.Modules:
		return fmt.Errorf("it cannot run WASM guests, and %s is a WASM guest", o.Module)
	case len(o.Images) > 0 && !d.Images:
		return errors.New("it cannot use images")
	case len(o.Programs) > 0 && !d.Programs:
		return errors.New("it cannot use server programs")
	}
	return nil
}

// Find returns the world with the given name, which may not be ready.
func Find(name string) (world.World, bool) {
	all := Worlds(WorldOptions{})
	i := slices.IndexFunc(all, func(w world.World) bool { return w.Name() == name })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}

// NoteWorld copies the properties of the world and its servers that reports need into the result.
func NoteWorld(r *report.Result, w world.World) {
	d := w.Describe()
	r.World, r.WorldCaveat, r.Virtual = w.Name(), d.Caveat, d.Virtual
	var caveats []string
	for _, s := range services.All() {
		for _, t := range s.Topologies {
			if t.Caveat != "" {
				caveats = append(caveats, t.Caveat)
			}
		}
	}
	r.ServersCaveat = strings.Join(caveats, " ")
}
