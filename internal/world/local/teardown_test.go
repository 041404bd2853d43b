//go:build linux

package local

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lockbench/internal/service"
	"lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/internal/world/process"
	"lockbench/locks"
)

func TestSideBySide(t *testing.T) {
	var meet sync.WaitGroup
	meet.Add(2)
	for range 2 {
		t.Run("cluster", func(t *testing.T) {
			t.Parallel()
			run(t, redistest.Spec(locks.Independent, world.Spec{}), func(ctx context.Context, c *running) error {
				meet.Done()
				meet.Wait() // both clusters are running
				a := open(ctx, t, c, 1)
				// Both grant the lock, so they are different clusters.
				_, err := a.Conn().Acquire(ctx, "1.1", lease60)
				return err
			})
		})
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	w := newWorld(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	s := redistest.Spec(locks.Replicated, world.Spec{Settings: map[string]string{"no-such-setting": "1"}})
	err := w.Run(t.Context(), s, func(context.Context, world.Cluster) error {
		t.Error("there is no cluster")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("the error should quote the server: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestDirectoryThatCannotBe(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context(), redistest.Spec(locks.Single, world.Spec{LogDir: file}), nil); err == nil {
		t.Error("a file is not a directory")
	}
	t.Setenv("TMPDIR", filepath.Join(file, "below"))
	if err := w.Run(t.Context(), redistest.Spec(locks.Single, world.Spec{}), nil); err == nil {
		t.Error("there is no such directory")
	}
}

// TestEnds checks that no processes and no goroutines are left, whatever body does.
func TestEnds(t *testing.T) {
	w := newWorld(t)
	defer goleak.VerifyNone(t)
	broken := errors.New("broken")
	for name, body := range map[string]func(context.CancelFunc) error{
		"error":  func(context.CancelFunc) error { return broken },
		"panic":  func(context.CancelFunc) error { panic(broken) },
		"cancel": func(cancel context.CancelFunc) error { cancel(); return broken },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var processes []*process.Process
			defer func() {
				if p := recover(); (p != nil) != (name == "panic") {
					t.Errorf("recovered %v", p)
				}
				for _, p := range processes {
					if left := p.Members(); len(left) > 0 {
						t.Errorf("left: %v", left)
					}
				}
			}()
			err := w.with(ctx, redistest.Spec(locks.Sentinel, world.Spec{LogDir: t.TempDir()}), func(ctx context.Context, b *backend) error {
				c := runningOf(b)
				links := []world.Link{{From: "client-1", To: "redis-1"}, {From: "redis-1", To: "redis-2"}}
				a := open(ctx, t, c, 1)
				for _, err := range []error{c.SetLinks(ctx, links, world.LinkState{Cut: true, Delay: world.Delay{By: time.Minute}}), c.PauseNode(ctx, "redis-3"), a.Pause(ctx)} {
					if err != nil {
						t.Error(err)
					}
				}
				processes = append(processes, a.(*process.Client).Process())
				for _, n := range c.nodes {
					processes = append(processes, n.process)
				}
				return body(cancel)
			})
			if !errors.Is(err, broken) {
				t.Error(err)
			}
		})
	}
}

// TestKilledHarness checks that the servers and clients of a killed harness end with it.
func TestKilledHarness(t *testing.T) {
	newWorld(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), harnessEnv+"=1", guestEnv+"=")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	dir, up := "", false
	for lines := bufio.NewScanner(out); !up && lines.Scan(); {
		line := lines.Text()
		switch pid, err := strconv.Atoi(line); {
		case err == nil:
			pids = append(pids, pid)
		case line == "up":
			up = true
		default:
			dir = line
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if dir != "" {
		defer os.RemoveAll(dir) // all that may be left
	}
	if !up || len(pids) != 7 {
		t.Fatalf("the harness did not come up: %v", pids)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err = service.Poll(ctx, func() error {
		for _, pid := range pids {
			if process.Alive(pid) {
				return errors.New("a child lives on")
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestReadyExplains(t *testing.T) {
	for _, server := range []string{"/no/such/server", "/bin/true"} {
		err := New(Options{Services: []*service.Service{redis.Service}, Programs: map[string]string{"redis": server}}).Ready(t.Context())
		if err == nil || !strings.Contains(err.Error(), "--server redis=") {
			t.Errorf("%s: %v", server, err)
		}
	}
}
