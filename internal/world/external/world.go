//go:build linux

package external

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"

	"lockbench/internal/world"
	"lockbench/internal/world/process"
	"lockbench/service"
)

var (
	_ world.World = (*World)(nil)
	_ world.Host  = (*World)(nil)
)

const (
	// healthLimit is how long servers may take to be well before a lock begins, and when it is
	// through.
	healthLimit = time.Minute
	// lookLimit bounds what is asked of servers before anything runs.
	lookLimit = 30 * time.Second
	// stopLimit bounds the end of a cluster but for its hooks, which have limits of their own.
	stopLimit = 30 * time.Second
	// settleLimit is how long they may not be well then: on a busy machine they are not at times.
	settleLimit = 10 * time.Second
	// foreignShown is how many keys of somebody else's are looked for.
	foreignShown = 3
)

func clientClocks(s world.Spec) error { return process.ClockReady(s) }

// Ready looks who is there, and whether all is as it must be. It changes nothing.
func (w *World) Ready(ctx context.Context) error {
	if w.options.Service == nil {
		return errNobody
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	site, err := w.options.Service.Survey(ctx, w.options.Location, w.options.dial)
	if err != nil {
		return w.unharmed(err)
	}
	for addr := range w.options.Hooks.nodes {
		if _, known := site.Called[addr]; !known {
			return w.unharmed(fmt.Errorf("the file of hooks names the node %s at %s, and nobody is there; there are %s",
				w.options.Hooks.nodes[addr], addr, strings.Join(slices.Sorted(maps.Values(site.Addrs)), ", ")))
		}
	}
	w.site.Store(&site)
	servers := w.options.Service.OpenForeign(site, Base, reach{w.options, site})
	defer leave(servers)
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

// leave ends connections on which servers are asked again and again.
func leave(servers service.ForeignServers) {
	if kept, ok := servers.(io.Closer); ok {
		_ = kept.Close() // they may be broken
	}
}

// unharmed says of a refusal that it has cost nothing.
func (w *World) unharmed(err error) error {
	if err == nil {
		return nil
	}
	if !errors.As(err, new(explained)) {
		err = w.options.explain(service.Data, err)
	}
	return fmt.Errorf("%w; nothing was changed there", err)
}

// alone refuses servers on which somebody else has keys under the prefix.
func alone(ctx context.Context, servers service.ForeignServers) error {
	under, err := servers.Under(ctx, Base, foreignShown)
	if err != nil || len(under) == 0 {
		return err
	}
	node := slices.Min(slices.Collect(maps.Keys(under)))
	return fmt.Errorf("%s has keys with %q in their names that are not of this run, such as %q: another run uses these servers now, or one was killed; "+
		"wait for it, or remove them: %s", node, Base, under[node][0], servers.ByHand(Base))
}

// Meet starts a guest of somebody's own without any lock service, hears its hello,
// and ends it.
func (w *World) Meet(ctx context.Context, s world.ClientSpec) (world.Met, error) {
	return process.Meet(ctx, s)
}

// Run lets body work on the servers, undoes whatever hooks have done, and removes all own keys
// before it returns.
func (w *World) Run(ctx context.Context, s world.Spec, body func(context.Context, world.Cluster) error) (err error) {
	if err := w.Place(&s); err != nil {
		return err
	}
	if s.Service != nil {
		if err := w.turn.Take(ctx); err != nil {
			return err
		}
		defer w.turn.Give()
	}
	c, err := w.newCluster(s)
	if err != nil {
		return fmt.Errorf("reach servers that somebody else runs: %w", err)
	}
	defer func() { err = errors.Join(err, c.stop()) }() // also while a panic passes through
	if err := c.begin(ctx); err != nil {
		return w.unharmed(err)
	}
	if s.Service != nil && w.options.Hooks.has(hookPromote) {
		return body(ctx, promotable{c})
	}
	return body(ctx, c)
}

// Report says, a line each, what there is and what cannot be done: for `lockbench doctor`.
func (w *World) Report(ctx context.Context) []string {
	site := w.site.Load()
	if site == nil {
		return nil
	}
	o := w.options
	servers := o.Service.OpenForeign(*site, Base, reach{o, *site})
	defer leave(servers)
	leaders := servers.Leaders(ctx)
	var lines []string
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
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		if !o.Hooks.has(name) {
			continue
		}
		line := fmt.Sprintf("hook %s: %s", name, o.Hooks.commands[name].text)
		if err := findable(ctx, o.Hooks.commands[name].text); err != nil {
			line = fmt.Sprintf("hook %s: %v", name, err)
		}
		lines = append(lines, line)
	}
	limits := o.limits(site.Topology)
	for _, kind := range []world.ActionKind{world.Killing, world.Losing, world.Pausing, world.Isolating, world.Cutting, world.Promoting} {
		if err := limits(world.Action{Kind: kind}); err != nil {
			lines = append(lines, fmt.Sprintf("no server can be %s: %v", kind, err))
		}
	}
	return lines
}

// findable says whether a shell finds what a command begins with. It is not run.
func findable(ctx context.Context, text string) error {
	for word := range strings.FieldsSeq(text) {
		if strings.Contains(word, "=") {
			continue // a variable of the command
		}
		if !plain(word) {
			return nil // a shell's own word
		}
		if exec.CommandContext(ctx, "sh", "-c", "command -v -- \"$1\"", "sh", word).Run() != nil {
			return fmt.Errorf("no command is called %s here", word)
		}
		return nil
	}
	return nil
}
