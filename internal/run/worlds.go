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
	"lockbench/internal/wasm"
	"lockbench/internal/world"
	"lockbench/internal/world/docker"
	"lockbench/internal/world/external"
	"lockbench/internal/world/local"
	"lockbench/internal/world/sim"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
	services "lockbench/service/catalog"
)

// WorldOptions are what worlds need to know before they can say whether they are ready.
type WorldOptions struct {
	// Programs are what nodes run and Images what docker starts them from, by the names of
	// services. One that is not there is found on PATH, or made of what is found there.
	Programs, Images map[string]string
	// Bases are what docker fetches, by the names of services, where this machine lacks the
	// programs; one that is not there is that of the service. FetchLimit is how long that may
	// take; 0: a minute.
	Bases      map[string]string
	FetchLimit time.Duration
	NoFetch    bool // nothing is fetched from a registry
	Again      bool // but what could not be fetched a while ago is tried again
	// Say hears of what takes long before anything runs. Nil: nobody does.
	Say func(line string)
	// Guest is a lock that is a guest of somebody's own. Empty: there is none. `auto` takes
	// no world that cannot run it, or has no use for the programs or images above.
	Guest string
	// Services are those that will be started, by name: their programs must be there, and
	// `auto` takes no world that cannot start one of them. Nil: the first of the catalog.
	Services []string
	// Module is one that is a module of WebAssembly. Empty: there is none.
	Module string
	// Self is the command that serves Go guests; empty: this program.
	Self []string
	// SweepDocker is the command that removes the containers of a run of this process should
	// that be killed. Empty: the next run does.
	SweepDocker []string
	// External are servers that somebody else runs. Nil: none were named.
	External *external.Options
	// SimTrial is the command that runs one trial of the world sim in a process of
	// its own; empty: trials run in this process, one after the other.
	SimTrial []string
}

// Worlds are all that there are, in the order in which `auto` tries them.
func Worlds(o WorldOptions) []world.World {
	all := services.All()
	var elsewhere external.Options
	if o.External != nil {
		elsewhere = *o.External
		elsewhere.Self = o.Self
	}
	return []world.World{
		NewDocker(o),
		local.New(local.Options{Services: all, Wanted: o.Services, Programs: o.Programs, Self: o.Self}),
		sim.New(sim.Options{Models: services.Models(), Open: catalog.Open, Enclosure: o.SimTrial, ModuleCache: wasm.CacheDir()}),
		external.New(elsewhere),
	}
}

// NewDocker is the world of containers.
func NewDocker(o WorldOptions) *docker.World {
	return docker.New(docker.Options{
		Services: services.All(), Wanted: o.Services, Images: o.Images, Programs: o.Programs,
		Self: o.Self, Sweep: o.SweepDocker, Say: o.Say, Bases: o.Bases, FetchLimit: o.FetchLimit, NoFetch: o.NoFetch, Again: o.Again,
	})
}

// SweepDocker waits for the end of life, and removes what an owner of containers has left.
func SweepDocker(ctx context.Context, life io.Reader, owner string) error {
	return docker.SweepAfter(ctx, life, owner)
}

// NotReady is a world that cannot be used on this machine, and why.
type NotReady struct {
	World string
	Err   error
}

func (e *NotReady) Error() string { return fmt.Sprintf("world %s: %v", e.World, e.Err) }

func (e *NotReady) Unwrap() error { return e.Err }

// Pick returns the world called name, if it is ready, or for "auto" the first that
// is and can run what was asked for, and then also why those before it are not.
func Pick(ctx context.Context, name string, o WorldOptions) (w world.World, passed []*NotReady, err error) {
	all := Worlds(o)
	for _, w := range all {
		if name != "auto" && name != "" && name != w.Name() {
			continue
		}
		err := w.Ready(ctx)
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
	return nil, passed, fmt.Errorf("no world is ready on this machine: %s", strings.Join(reasons, "; "))
}

// named is the world called name, or for "auto" the first that can run what was asked for.
// It need not be ready.
func named(name string, o WorldOptions) (world.World, error) {
	all := Worlds(o)
	i := slices.IndexFunc(all, func(w world.World) bool {
		return name == w.Name() || (name == "auto" || name == "") && o.Unfit(w) == nil
	})
	switch {
	case i >= 0:
		return all[i], nil
	case name == "auto", name == "":
		return all[0], nil
	}
	return nil, noWorld(name, all)
}

func noWorld(name string, all []world.World) error {
	var names []string
	for _, w := range all {
		names = append(names, w.Name())
	}
	hint := "known are auto, " + strings.Join(names, ", ")
	if near, ok := catalog.Nearest(name, append(names, "auto")); ok {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return &scenarios.Error{File: "--world", Text: fmt.Sprintf("no world is called %q", name), Hint: hint}
}

// servicesOf are those that locks are for, by name; own is that of a lock of the caller's
// own, and empty for the first. A guest of somebody's own says which only when it runs, and
// is taken for one of the first service's. Nil: there is none.
func servicesOf(uses []scenarios.LockUse, own string) []string {
	first := services.All()[0].Name()
	var names []string
	for _, u := range uses {
		name := first
		if entry, known := catalog.Find(u.Use); known {
			name = entry.Service
		} else if !u.Own() {
			name = cmp.Or(own, first)
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Unfit says why a world cannot honour what was asked for.
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
			return fmt.Errorf("it runs no programs, as %s is one; build it as a module (in Go: GOOS=wasip1 GOARCH=wasm go build -o guest.wasm ./guest) and name it %s=wasm:./guest.wasm", o.Guest, o.Guest)
		}
		return fmt.Errorf("it cannot run guests, as %s is one", o.Guest)
	case o.Module != "" && !d.Modules:
		return fmt.Errorf("it cannot run modules, as %s is one", o.Module)
	case len(o.Images) > 0 && !d.Images:
		return errors.New("it runs no images")
	case len(o.Programs) > 0 && !d.Programs:
		return errors.New("it runs no programs of servers")
	}
	return nil
}

// Simulation is the world in virtual time.
func Simulation() world.World {
	all := Worlds(WorldOptions{})
	return all[slices.IndexFunc(all, func(w world.World) bool { return w.Describe().Virtual })]
}

// Find is the world of a name. It may not be ready.
func Find(name string) (world.World, bool) {
	all := Worlds(WorldOptions{})
	i := slices.IndexFunc(all, func(w world.World) bool { return w.Name() == name })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}

// NoteWorld puts into a result what its reports must know of its world and its servers,
// so that they can be written again without any.
func NoteWorld(r *report.Result, w world.World) {
	d := w.Describe()
	r.World, r.WorldCaveat, r.Virtual = w.Name(), d.Caveat, d.Virtual
	var caveats []string
	for _, s := range services.All() {
		for _, t := range s.Topologies() {
			if t.Caveat != "" {
				caveats = append(caveats, t.Caveat)
			}
		}
	}
	r.ServersCaveat = strings.Join(caveats, " ")
}
