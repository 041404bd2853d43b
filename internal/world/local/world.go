//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"lockbench/internal/world"
	"lockbench/internal/world/shim"
	"lockbench/service"
)

var _ world.World = (*World)(nil)

// startLimit bounds the start of a cluster. The slowest topology takes a second
// or two; the rest is for a machine that is busy with other things.
const startLimit = 30 * time.Second

// portTries is how many ports a cluster tries.
const portTries = 3

// Ready looks for the programs of the services.
func (w *World) Ready(ctx context.Context) error {
	var about []string
	for _, s := range w.options.Services {
		version, err := w.version(ctx, s)
		if err != nil {
			return err
		}
		about = append(about, s.Needs().Program()+" "+version)
	}
	w.about.Store(strings.Join(about, ", "))
	return nil
}

// version asks the program of a service for its version.
func (w *World) version(ctx context.Context, s service.Service) (string, error) {
	program, err := w.program(s)
	if err != nil {
		return "", err
	}
	needs := s.Needs()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, needs.VersionArgs...).Output()
	if err != nil {
		return "", fmt.Errorf("run %s %s: %w; %s", program, strings.Join(needs.VersionArgs, " "), err, needs.Install)
	}
	version, enough, err := needs.Version(string(out))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s %w; %s", program, err, needs.Install)
	case !enough:
		return "", fmt.Errorf("%s is version %s, but the local world needs %s or later; %s", program, version, needs.Least, needs.Install)
	}
	return version, nil
}

// Sketch is the cluster that Run would start.
func (w *World) Sketch(s world.Spec) world.Cluster {
	sketch := world.NewSketch(s)
	sketch.Clocks = shim.Ready()
	sketch.ClientClocks = world.ErrClientClock
	return sketch
}

// program is the path of what a service's nodes run.
func (w *World) program(s service.Service) (string, error) {
	needs := s.Needs()
	name := w.options.Programs[s.Name()]
	if name == "" {
		name = needs.Program()
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("no %s found: %s", name, needs.Install)
	}
	return filepath.Abs(path)
}

// Run starts the cluster, calls body, and ends all processes before it returns,
// whatever body does.
func (w *World) Run(ctx context.Context, s world.Spec, body func(context.Context, world.Cluster) error) (err error) {
	c, err := w.up(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }() // also while a panic passes through
	return body(ctx, c)
}

// up returns a healthy cluster. The port that it found free may be taken by the time that
// its servers listen, by a program that knows nothing of us: then all is set up anew,
// with another.
func (w *World) up(ctx context.Context, s world.Spec) (*cluster, error) {
	for tries := 1; ; tries++ {
		c, err := w.setUp(ctx, s)
		if err == nil || tries == portTries || !errors.Is(err, syscall.EADDRINUSE) {
			return c, err
		}
	}
}

func (w *World) setUp(ctx context.Context, s world.Spec) (_ *cluster, err error) {
	c, err := w.newCluster(s)
	if err != nil {
		return nil, fmt.Errorf("set up a local %s cluster: %w", s.Topology.Name, err)
	}
	healthy := false
	defer func() { // also while a panic passes through
		if !healthy {
			err = errors.Join(err, c.stop())
		}
	}()
	starting, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %v", startLimit))
	defer cancel()
	if err := c.start(starting); err != nil {
		return nil, fmt.Errorf("start a local %s cluster: %w", s.Topology.Name, err)
	}
	healthy = true
	return c, nil
}
