//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/internal/world/process"
)

var _ world.World = (*World)(nil)

// state is the result of Ready; zero before.
type state struct {
	provider *testcontainers.DockerProvider
	daemon   string               // its version
	images   map[string]ImageInfo // by service
	// tried are the services of which a test container has answered, with their versions.
	tried     map[string]string
	unreached error // why containers do not reach this machine, or nil
	// parent is the parent cgroup of containers; empty: the default of the daemon.
	parent string
}

// daemonLimit bounds the first request to a daemon.
const daemonLimit = 10 * time.Second

// Ready connects to the daemon, removes leftovers of killed runs, finds or builds an image, and starts a test
// container from it.
func (w *World) Ready(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.prepare(ctx); err != nil {
		return err
	}
	about := []string{"Docker " + w.state.daemon}
	for _, s := range w.wanted() {
		if err := w.ready(ctx, s); err != nil {
			return err
		}
		about = append(about, w.state.tried[s.Name])
	}
	w.about = strings.Join(about, ", ")
	return nil
}

// wanted returns the services of a run.
func (w *World) wanted() []*service.Service {
	var all []*service.Service
	for i, s := range w.services() {
		if wanted := w.options.Wanted; slices.Contains(wanted, s.Name) || wanted == nil && i == 0 {
			all = append(all, s)
		}
	}
	return all
}

// ready finds or builds the image of a service, and tests it. w.mu must be held.
func (w *World) ready(ctx context.Context, s *service.Service) error {
	if w.state.tried[s.Name] != "" {
		return nil
	}
	if err := w.image(ctx, s); err != nil {
		return err
	}
	version, err := w.try(ctx, s)
	if err != nil && w.state.parent != "" && ctx.Err() == nil {
		// Not every daemon may put containers there.
		w.state.parent = ""
		version, err = w.try(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("try one container of %s: %w", s.Name, err)
	}
	w.state.tried[s.Name] = s.Needs.Command() + " " + version
	return nil
}

// image finds or builds the image of a service. w.mu must be held.
func (w *World) image(ctx context.Context, s *service.Service) error {
	info, err := maker{&w.options, w.state.provider.Client(), s}.find(ctx)
	if err == nil {
		w.state.images[s.Name] = info
	}
	return err
}

// try starts one server as runs do, reads the version of its program, and notes whether it reaches this machine.
func (w *World) try(ctx context.Context, s *service.Service) (version string, err error) {
	err = w.run(ctx, world.Spec{Service: s, Topology: s.Topologies[0]}, func(ctx context.Context, b *backend) error {
		needs := s.Needs
		w.state.unreached = b.tryRelay(ctx)
		// The shell joins lines, and some programs print their version on a later line.
		const between = "\x1f"
		out, err := b.nodes[0].run(ctx, "o=$("+quoted(b.command(needs.VersionArgs))+") || { echo \"$o\"; exit 1; }\n"+
			`echo "$o" | while IFS= read -r line; do printf '%s'"`+between+`" "$line"; done`)
		if err != nil {
			return err
		}
		out = strings.ReplaceAll(out, between, "\n")
		var enough bool
		if version, enough, err = needs.Version(out); err != nil {
			return fmt.Errorf("the %s of the image %s %w: name another one with --image %s=IMAGE", needs.Program(), w.state.images[s.Name].Name, err, s.Name)
		}
		if !enough {
			return fmt.Errorf("the image %s has %s %s, but %s or later is needed: name another one with --image %s=IMAGE",
				w.state.images[s.Name].Name, needs.Program(), version, needs.Least, s.Name)
		}
		return nil
	})
	return version, err
}

// rootGroup is the root cgroup. Under the daemon's default parent, all containers together get the CPU share of one
// program on a busy machine: servers stall for seconds, which causes failovers.
const rootGroup = "/"

// prepare connects to the daemon, and sweeps, once. w.mu must be held.
func (w *World) prepare(ctx context.Context) error {
	if w.state.provider == nil {
		provider, err := connect()
		if err != nil {
			return err
		}
		w.state.provider = provider
	}
	if w.state.daemon != "" {
		return nil
	}
	api := w.state.provider.Client()
	limited, cancel := contextWithLimit(ctx, daemonLimit, "ask the Docker daemon")
	defer cancel()
	version, err := daemonVersion(limited, api)
	if err != nil {
		return err
	}
	if info, err := api.Info(limited, client.InfoOptions{}); err == nil && info.Info.CgroupDriver == "cgroupfs" {
		w.state.parent = rootGroup // systemd has a tree of its own, and wants names of it
	}
	if err := sweep(ctx, api, "", 0); err != nil {
		return fmt.Errorf("remove what a killed run has left behind: %w", explain(err))
	}
	w.state.daemon = version
	return nil
}

// Run starts the cluster, calls body, and removes all containers before it returns.
func (w *World) Run(ctx context.Context, s world.Spec, body func(context.Context, world.Cluster) error) error {
	return w.with(ctx, s, func(ctx context.Context, b *backend) error { return body(ctx, &b.cluster) })
}

// with runs body with a cluster.
func (w *World) with(ctx context.Context, s world.Spec, body func(context.Context, *backend) error) error {
	if s.Service != nil && !slices.Contains(w.Describe().Services, s.Service.Name) {
		return world.Unsupportedf("there are no images of %s", s.Service.Name)
	}
	// Locks without servers run without a daemon.
	if s.Service != nil {
		w.mu.Lock()
		err := w.prepare(ctx)
		if err == nil {
			err = w.ready(ctx, s.Service)
		}
		w.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return w.run(ctx, s, body)
}

func (w *World) run(ctx context.Context, s world.Spec, body func(context.Context, *backend) error) (err error) {
	if s.Service != nil {
		defer func() { err = blame(w.state.provider.Client(), err) }()
	}
	starting, cancel := contextWithLimit(ctx, startLimit, "start the cluster")
	defer cancel()
	b, err := w.newBackend(starting, s)
	if err != nil {
		return fmt.Errorf("set up a %s cluster of containers: %w", s.Topology.Name, err)
	}
	// Deferred, so that it also runs after a panic of body.
	defer func() { err = errors.Join(err, b.stop()) }()
	if err := b.start(starting); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx) // each node says it at length
		}
		return fmt.Errorf("start a %s cluster of containers: %w", s.Topology.Name, err)
	}
	return body(ctx, b)
}

// Meet starts a user's guest without a lock service, reads its hello, and ends it.
func (w *World) Meet(ctx context.Context, s world.ClientSpec) (world.Met, error) {
	return process.Meet(ctx, s)
}

// Image finds or builds the image of a service.
func (w *World) Image(ctx context.Context, s *service.Service) (ImageInfo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.prepare(ctx)
	if err == nil {
		err = w.image(ctx, s)
	}
	return w.state.images[s.Name], err
}

// Report returns one line for each fact, for `lockbench doctor`, also if the world is not ready.
func (w *World) Report(ctx context.Context) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.prepare(ctx); err != nil && w.state.daemon == "" {
		return nil
	}
	s := w.state
	lines := []string{fmt.Sprintf("daemon %s at %s", s.daemon, s.provider.Client().DaemonHost())}
	for _, of := range w.wanted() {
		if w.image(ctx, of) != nil {
			continue
		}
		image, how := s.images[of.Name], "there already"
		if image.Built {
			how = "made just now"
		}
		lines = append(lines, fmt.Sprintf("image %s, %d MB, from %s, %s", image.Name, image.Bytes>>20, image.From, how))
	}
	found, err := findLeftovers(ctx, s.provider.Client(), "")
	if err == nil && len(found.networks) > 0 {
		lines = append(lines, fmt.Sprintf("%d networks of earlier runs that the daemon does not let go of, although nothing is in them; "+
			"they do no harm; when it is restarted (sudo systemctl restart docker), the next run removes them", len(found.networks)))
	}
	if err == nil && found.uncheckable > 0 {
		lines = append(lines, fmt.Sprintf("%d containers and networks belong to runs that cannot be seen from here; "+
			"if none goes on: docker rm -fv $(docker ps -aq --filter label=%s)", found.uncheckable, ownerLabel))
	}
	return lines
}
