//go:build linux

package external

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockbench/internal/secret"
	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/internal/world/process"
)

var _ world.World = (*World)(nil)

const (
	// healthLimit bounds how long servers may take to be healthy before and after a lock.
	healthLimit = time.Minute
	// lookLimit bounds the queries of servers before a run.
	lookLimit = 30 * time.Second
	// stopLimit bounds the end of a cluster without its hooks, which have their own limits.
	stopLimit = 30 * time.Second
	// settleLimit bounds how long they may be unhealthy then, as happens on a busy machine.
	settleLimit = 10 * time.Second
	// leftMax is how many keys with Base in their names are searched for those of other runs.
	leftMax = 1000
)

// Ready checks the servers and hooks. It changes nothing.
func (w *World) Ready(ctx context.Context) error {
	if w.options.Service == nil {
		return errNoServers
	}
	if err := notUndone(w.options.Location.Addrs); err != nil {
		return err
	}
	if len(w.options.Hooks.Commands) > 0 {
		if _, err := makeOwedDir(); err != nil {
			w.options.Say("warning: " + noRecord(err))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	site, err := w.options.Service.External.Survey(ctx, w.options.Location, w.options.dial)
	if err != nil {
		return w.unharmed(err)
	}
	for name, addr := range w.options.Hooks.Nodes {
		if _, known := site.Called[addr]; !known {
			return w.unharmed(fmt.Errorf("the file of hooks names the node %s at %s, where no server is; there are %s",
				name, addr, strings.Join(slices.Sorted(maps.Values(site.Addrs)), ", ")))
		}
	}
	w.site.Store(&site)
	servers := w.options.Service.External.Open(site, Base, reach{o: w.options, site: site})
	defer servers.Close()
	if err := service.Each(servers.Nodes(), func(n service.Node) error { return servers.Answers(ctx, n.Name) }); err != nil {
		return w.unharmed(err)
	}
	settling, done := context.WithTimeoutCause(ctx, settleLimit, fmt.Errorf("not well for %s", settleLimit))
	defer done()
	if err := service.AwaitHealthy(settling, servers); err != nil {
		return w.unharmed(fmt.Errorf("look at the servers: %w", err))
	}
	return w.unharmed(alone(ctx, servers))
}

// unharmed adds to an error that nothing was changed.
func (w *World) unharmed(err error) error {
	if err == nil {
		return nil
	}
	if !errors.As(err, new(explained)) {
		err = w.options.explain(service.Data, err)
	}
	return w.mask.Error(fmt.Errorf("%w; nothing was changed there", err))
}

// ofRun matches the name of a key of a run. Names of buckets have other separators than colons.
var ofRun = regexp.MustCompile(`lockbench[^0-9A-Za-z]([0-9]+)[^0-9A-Za-z]`)

// alone returns an error if the servers have keys of another run, with the command that removes the keys of that run only.
func alone(ctx context.Context, servers service.ExternalServers) error {
	under, err := servers.Under(ctx, Base, leftMax)
	if err != nil {
		return err
	}
	for _, node := range slices.Sorted(maps.Keys(under)) {
		for _, key := range under[node] {
			run := ofRun.FindStringSubmatch(key)
			if run == nil {
				continue // the key of another program, which has Base in its name
			}
			prefix := Base + run[1] + ":"
			return fmt.Errorf("%s has keys with %q in their names that are not of this run, such as %q: another run uses these servers now, or one was killed; "+
				"wait for it, or remove them: %s", node, prefix, key, servers.ByHand(prefix))
		}
	}
	return nil
}

// Meet starts a user's guest without a lock service, reads its hello, and ends it.
func (w *World) Meet(ctx context.Context, s world.ClientSpec) (world.Met, error) {
	s.Mask = w.mask
	met, err := process.Meet(ctx, s)
	return met, w.mask.Error(err)
}

// Run runs body on the servers, undoes all hooks, and removes all keys of the run before it returns.
func (w *World) Run(ctx context.Context, s world.Spec, body func(context.Context, world.Cluster) error) error {
	return w.with(ctx, s, func(ctx context.Context, b *backend) error { return body(ctx, &b.cluster) })
}

// with runs body with a cluster.
func (w *World) with(ctx context.Context, s world.Spec, body func(context.Context, *backend) error) (err error) {
	defer func() { err = w.mask.Error(err) }()
	if err := w.Place(&s); err != nil {
		return err
	}
	if s.Service != nil {
		if err := w.turn.Take(ctx); err != nil {
			return err
		}
		defer w.turn.Give()
	}
	b, err := w.newBackend(s)
	if err != nil {
		return fmt.Errorf("reach external servers: %w", err)
	}
	defer func() { err = errors.Join(err, b.stop()) }() // also while a panic passes through
	if err := b.begin(ctx); err != nil {
		return w.unharmed(err)
	}
	return body(ctx, b)
}

// Report returns one line for each fact and limit, for `lockbench doctor`.
func (w *World) Report(ctx context.Context) []string {
	var lines []string
	for _, left := range abandoned() {
		if !left.concerns(w.options.Location.Addrs) { // else Ready has reported it
			lines = append(lines, left.String())
		}
	}
	site := w.site.Load()
	if site == nil {
		return lines
	}
	o := w.options
	servers := o.Service.External.Open(*site, Base, reach{o: o, site: *site})
	defer servers.Close()
	leaders := servers.Leaders(ctx)
	for _, n := range site.Topology.Nodes() {
		is := string(n.Role)
		if slices.Contains(leaders, n.Name) {
			is += ", leads"
		}
		line := fmt.Sprintf("%s is %s (%s)", n.Name, site.Addrs[n.Name], is)
		if called := o.Hooks.called(n.Name, *site); called != n.Name {
			line += ", " + called + " to hooks"
		}
		lines = append(lines, line)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Hooks.Commands)) {
		lines = append(lines, fmt.Sprintf("hook %s: %s", name, secret.Command(w.mask.Text(o.Hooks.Commands[name].Run))))
	}
	return lines
}
