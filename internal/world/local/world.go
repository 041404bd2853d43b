//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"lockbench/internal/world"
	"lockbench/internal/world/shim"
)

var _ world.World = (*World)(nil)

// startLimit bounds the start of a cluster. The slowest, sentinel, takes a second
// or two; the rest is for a machine that is busy with other things.
const startLimit = 30 * time.Second

// portTries is how many ports a cluster tries.
const portTries = 3

// majorMin is the first Redis with the settings that we need: bind-source-addr
// (who is talking to whom) and SENTINEL DEBUG.
const majorMin = 7

// install is what to do without a server.
const install = "install one (on Debian or Ubuntu: apt-get install redis-server), or name it with --redis-server PATH"

var versionPattern = regexp.MustCompile(`\bv=(\d+)\.(\d+\.\d+)`)

// Ready looks for a redis-server of a version that will do.
func (w *World) Ready(ctx context.Context) error {
	server, err := w.server()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, server, "--version").Output()
	if err != nil {
		return fmt.Errorf("run %s --version: %w; %s", server, err, install)
	}
	version := versionPattern.FindSubmatch(out)
	if version == nil {
		return fmt.Errorf("%s does not look like a redis-server: --version says %.80q; %s", server, out, install)
	}
	text := string(version[1]) + "." + string(version[2])
	if major, _ := strconv.Atoi(string(version[1])); major < majorMin {
		return fmt.Errorf("%s is version %s, but the local world needs %d or later; %s", server, text, majorMin, install)
	}
	w.about.Store("redis-server " + text)
	return nil
}

// Sketch is the cluster that Run would start.
func (w *World) Sketch(s world.Spec) world.Cluster {
	sketch := world.NewSketch(s)
	sketch.Clocks = shim.Ready()
	sketch.ClientClocks = world.ErrClientClock
	return sketch
}

func (w *World) server() (string, error) {
	name := w.options.Server
	if name == "" {
		name = "redis-server"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("no %s found: %s", name, install)
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
		return nil, fmt.Errorf("set up a local %s cluster: %w", s.Topology, err)
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
		return nil, fmt.Errorf("start a local %s cluster: %w", s.Topology, err)
	}
	healthy = true
	return c, nil
}
