//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"lockbench/internal/output"
	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/internal/world/process"
)

var _ world.World = (*World)(nil)

// startLimit bounds the start of a cluster, which takes long on a busy machine.
const startLimit = 2 * time.Minute

// versionLimit bounds how long a program may take to print its version.
const versionLimit = 20 * time.Second

// portTries is how many ports a cluster tries.
const portTries = 3

// Ready looks for the programs of the wanted services.
func (w *World) Ready(ctx context.Context) error {
	var about []string
	for i, s := range w.options.Services {
		if wanted := w.options.Wanted; !slices.Contains(wanted, s.Name) && (wanted != nil || i > 0) {
			continue
		}
		version, err := w.version(ctx, s)
		if err != nil {
			return err
		}
		about = append(about, s.Needs.Command()+" "+version)
	}
	w.about.Store(strings.Join(about, ", "))
	return nil
}

// version returns the version of a service's program.
func (w *World) version(ctx context.Context, s *service.Service) (string, error) {
	program, err := w.program(s)
	if err != nil {
		return "", err
	}
	needs := s.Needs
	args := program.with(needs.VersionArgs)
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	out, err := output.Stdout(exec.CommandContext(ctx, program.path, args...))
	if err != nil {
		return "", fmt.Errorf("run %s %s: %w%s; %s", program.path, strings.Join(args, " "), err, firstWords(err, out), needs.Install)
	}
	version, enough, err := needs.Version(string(out))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s %w; %s", program.path, err, needs.Install)
	case !enough:
		return "", fmt.Errorf("%s is version %s, but the local world needs %s or later; %s", program.path, version, needs.Least, needs.Install)
	}
	return version, nil
}

// Has returns what this machine has of a service, or what is missing, for `lockbench doctor`.
func (w *World) Has(ctx context.Context, s *service.Service) (string, error) {
	version, err := w.version(ctx, s)
	return strings.TrimSpace(s.Needs.Command() + " " + version), err
}

// firstWords returns the first line of a failed program. Java prints it on standard output.
func firstWords(err error, out []byte) string {
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return ""
	}
	for line := range strings.Lines(string(ended.Stderr) + "\n" + string(out)) {
		if line = strings.TrimSpace(line); line != "" {
			return fmt.Sprintf(": %.200s", line)
		}
	}
	return ""
}

// Meet starts a user's guest without a lock service, reads its hello, and ends it.
func (w *World) Meet(ctx context.Context, s world.ClientSpec) (world.Met, error) {
	return process.Meet(ctx, s)
}

// Run starts the cluster, calls body, and ends all processes before it returns.
func (w *World) Run(ctx context.Context, s world.Spec, body func(context.Context, world.Cluster) error) error {
	return w.with(ctx, s, func(ctx context.Context, b *backend) error { return body(ctx, &b.cluster) })
}

// with runs body with a cluster. Another program may take the free port before the servers listen; then it starts a new
// cluster with another port.
func (w *World) with(ctx context.Context, s world.Spec, body func(context.Context, *backend) error) error {
	for tries := 1; ; tries++ {
		started, err := w.run(ctx, s, body)
		if started || tries == portTries || !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
	}
}

// run reports whether body was called.
func (w *World) run(ctx context.Context, s world.Spec, body func(context.Context, *backend) error) (started bool, err error) {
	b, err := w.newBackend(ctx, s)
	if err != nil {
		return false, fmt.Errorf("set up a local %s cluster: %w", s.Topology.Name, err)
	}
	defer func() { err = errors.Join(err, b.stop()) }() // also after a panic
	starting, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %v", startLimit))
	defer cancel()
	if err = b.cluster.Machines.Launch(starting); err == nil {
		err = b.cluster.Form(starting)
	}
	if err != nil {
		return false, fmt.Errorf("start a local %s cluster: %w", s.Topology.Name, err)
	}
	for _, n := range b.nodes {
		n.disk.Settle()
	}
	return true, body(ctx, b)
}
