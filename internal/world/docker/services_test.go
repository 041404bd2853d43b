//go:build linux

package docker

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/needs"
	"lockbench/internal/service"
	services "lockbench/internal/service/catalog"
	"lockbench/internal/service/redis"
	"lockbench/internal/world"
)

// TestServices tests the nodes of the other services in containers: faults cut them off, pause them, and kill them with all their
// child processes. The other tests do the same with Redis.
func TestServices(t *testing.T) {
	newWorld(t)
	more := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../../../more", "-o", more, "./lockbench-more")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("PATH", more+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, s := range services.All() {
		if s.Name == redis.Name {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			w := New(Options{Services: []*service.Service{s}, Self: []string{os.Args[0]}})
			needs.OrSkip(t, s.Name, w.Ready(t.Context()))
			most := slices.MaxFunc(s.Topologies, func(a, b service.Topology) int { return len(a.Nodes()) - len(b.Nodes()) })
			runIn(t, w, world.Spec{Service: s, Topology: most, Clients: 1}, func(ctx context.Context, c *running) error {
				return breakEach(ctx, t, c)
			})
		})
	}
}

func breakEach(ctx context.Context, t *testing.T, c *running) error {
	open(ctx, t, c, 1)
	node := c.Nodes()[len(c.Nodes())-1].Name // in topologies with several nodes, a follower
	ways := []world.Link{{From: "client-1", To: node}}
	if other := c.Nodes()[0].Name; other != node {
		ways = append(ways, world.Link{From: other, To: node})
	}
	see := func(when string, there bool) {
		t.Helper()
		for _, l := range ways {
			ask := func(ctx context.Context) error { return c.Cluster.Ping(ctx, l.From, l.To, 0) }
			if there {
				if err := soon(ctx, ask); err != nil {
					t.Errorf("%s: %s: %v", when, l, err)
				}
				continue
			}
			hasty, cancel := short(ctx)
			if ask(hasty) == nil {
				t.Errorf("%s: %s answers", when, l)
			}
			cancel()
		}
	}
	see("started", true)
	if err := c.Cluster.SetLinks(ctx, ways, world.LinkState{Cut: true}); err != nil {
		return err
	}
	see("cut", false)
	if err := c.Cluster.SetLinks(ctx, ways, world.LinkState{}); err != nil {
		return err
	}
	see("whole again", true)
	if err := c.PauseNode(ctx, node); err != nil {
		return err
	}
	see("paused", false)
	if err := c.ResumeNode(ctx, node); err != nil {
		return err
	}
	see("resumed", true)
	if err := c.Kill(ctx, node); err != nil {
		return err
	}
	see("killed", false)
	n := c.node(node)
	// The shell, the first process, and a query of the failover manager remain; all others belonged to the server.
	left, err := n.run(ctx, `for p in /proc/[0-9]*; do if read -r name <$p/comm; then printf '%s ' "$name"; fi; done 2>/dev/null`)
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(left) {
		if !slices.Contains([]string{"sh", "sleep", "timeout", "bash"}, name) {
			t.Errorf("killed, and %s is still there", name)
		}
	}
	if err := c.Start(ctx, node, false); err != nil {
		return err
	}
	see("back without its data", true)
	return soon(ctx, c.Healthy)
}
