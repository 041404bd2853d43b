//go:build linux

package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lockbench/internal/needs"
	"lockbench/internal/service"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/internal/world/unsynced"
	"lockbench/locks"
)

// powered is a spec of one Redis on a disk that forgets.
func powered(policy string) world.Spec {
	return redistest.Spec(locks.Single, world.Spec{Unsynced: true, Settings: map[string]string{"appendonly": "yes", "appendfsync": policy}})
}

// talker sends commands to redis-1.
type talker struct {
	c     net.Conn
	lines *bufio.Reader
}

func talk(ctx context.Context, c *running) (*talker, error) {
	conn, err := c.Machines.Dial(ctx, "redis-1")
	return &talker{conn, bufio.NewReader(conn)}, err
}

// say returns the first line of the answer.
func (s *talker) say(words ...string) string {
	command := fmt.Sprintf("*%d\r\n", len(words))
	for _, w := range words {
		command += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
	}
	_ = s.c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := fmt.Fprint(s.c, command); err != nil {
		return err.Error()
	}
	line, err := s.lines.ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

// Redis keeps over a loss of power what it has synced, and nothing else: with the policy no it never syncs.
func TestPowerLoss(t *testing.T) {
	needs.OrSkip(t, "fuse", unsynced.Ready())
	for policy, want := range map[string]string{"always": ":1", "no": ":0"} {
		for _, names := range []world.Names{world.NamesLost, world.NamesKept} {
			t.Run(fmt.Sprintf("%s, names %s", policy, names), func(t *testing.T) {
				run(t, powered(policy), func(ctx context.Context, c *running) error {
					for range 2 {
						s, err := talk(ctx, c)
						if err != nil {
							return err
						}
						if said := s.say("SET", "a", "1"); said != "+OK" {
							t.Errorf("SET: %s", said)
						}
						if _, err := c.LosePower(ctx, "redis-1", names); err == nil || !strings.Contains(err.Error(), "it is running") {
							t.Errorf("a running server loses its power: %v", err)
						}
						if err := c.Cluster.Kill(ctx, "redis-1"); err != nil {
							return err
						}
						lost, err := c.LosePower(ctx, "redis-1", names)
						if err != nil || !strings.Contains(lost, "the unsynced of two markers") {
							t.Errorf("%q, %v", lost, err)
						}
						if err := c.Start(ctx, "redis-1", true); err != nil {
							return err
						}
						_ = s.c.Close()
						if s, err = talk(ctx, c); err != nil {
							return err
						}
						if got := s.say("EXISTS", "a"); got != want {
							t.Errorf("after the loss: EXISTS a: %s, want %s", got, want)
						}
						_ = s.c.Close()
					}
					return nil
				})
			})
		}
	}
}

// A server without such a disk cannot lose its power, and can still lose all its data with one.
func TestPowerLossAndOtherLosses(t *testing.T) {
	run(t, redistest.Spec(locks.Single, world.Spec{}), func(ctx context.Context, c *running) error {
		if err := c.Cluster.Kill(ctx, "redis-1"); err != nil {
			return err
		}
		if _, err := c.LosePower(ctx, "redis-1", world.NamesLost); err == nil || !strings.Contains(err.Error(), "does not forget") {
			t.Errorf("%v", err)
		}
		return nil
	})
	needs.OrSkip(t, "fuse", unsynced.Ready())
	run(t, powered("always"), func(ctx context.Context, c *running) error {
		s, err := talk(ctx, c)
		if err != nil {
			return err
		}
		defer s.c.Close()
		s.say("SET", "a", "1")
		if err := errors.Join(c.Cluster.Kill(ctx, "redis-1"), c.Start(ctx, "redis-1", false)); err != nil {
			return err
		}
		again, err := talk(ctx, c)
		if err != nil {
			return err
		}
		defer again.c.Close()
		if got := again.say("EXISTS", "a"); got != ":0" {
			t.Errorf("after the loss of all data: EXISTS a: %s", got)
		}
		return nil
	})
}

// If the machine's disk is full below the mount, the server gets the error, and the cluster ends as always.
func TestFullDiskBelowServers(t *testing.T) {
	needs.OrSkip(t, "fuse", unsynced.Ready())
	small := t.TempDir()
	needs.OrSkip(t, "mount", unix.Mount("tmpfs", small, "tmpfs", 0, "size=1m"))
	defer func() {
		if err := unix.Unmount(small, 0); err != nil {
			t.Errorf("something is left on the small file system: %v", err)
		}
	}()
	t.Setenv("TMPDIR", small)
	run(t, powered("everysec"), func(ctx context.Context, c *running) error {
		s, err := talk(ctx, c)
		if err != nil {
			return err
		}
		defer s.c.Close()
		for range 10 {
			s.say("SET", "a", strings.Repeat("x", 200_000))
		}
		return service.Poll(ctx, func() error {
			if said := s.say("SET", "b", "1"); !strings.Contains(said, "No space left on device") {
				return fmt.Errorf("a server on a full disk says %s", said)
			}
			return nil
		})
	})
}

// A disk that cannot be mounted is an error of the start, and nothing is left.
func TestDiskThatCannotBeMounted(t *testing.T) {
	w := newWorld(t)
	needs.OrSkip(t, "fuse", unsynced.Ready())
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	stop := errors.New("stop")
	err := w.with(t.Context(), powered("always"), func(_ context.Context, b *backend) error {
		n := runningOf(b).nodes[0]
		if _, err := unsynced.Mount(filepath.Join(tmp, "missing"), tmp, false); err == nil {
			t.Error("a disk is mounted at a folder that does not exist")
		}
		if n.disk == nil {
			t.Error("the node has no disk")
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if mounts, _ := os.ReadFile("/proc/self/mounts"); strings.Contains(string(mounts), tmp) {
		t.Error("something is still mounted")
	}
}

// Without FUSE, the fault is unsupported and not merely absent.
func TestLacks(t *testing.T) {
	if err := lacks(world.Action{Kind: world.Killing}); err != nil {
		t.Error(err)
	}
	err := lacks(world.Action{Kind: world.Unpowered})
	if ready := unsynced.Ready(); (err == nil) != (ready == nil) || err != nil && !errors.As(err, new(world.Unsupported)) {
		t.Errorf("%v, and the disk says %v", err, ready)
	}
}
