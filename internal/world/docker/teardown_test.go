//go:build linux

package docker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"go.uber.org/goleak"

	"lockbench/internal/needs"
	"lockbench/internal/service"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/locks"
)

// testProgram returns the path of this program, which is started again as a guest or as a harness.
var testProgram = os.Args[0]

// TestEnds checks that no containers and no goroutines are left, whatever body does.
func TestEnds(t *testing.T) {
	w := newWorld(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	broken := errors.New("broken")
	for name, body := range map[string]func(context.CancelFunc) error{
		"panic":  func(context.CancelFunc) error { panic(broken) },
		"cancel": func(cancel context.CancelFunc) error { cancel(); return broken },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var owner string
			defer func() {
				if p := recover(); (p != nil) != (name == "panic") {
					t.Errorf("recovered %v", p)
				}
				nothingLeft(t, w, owner)
			}()
			err := w.with(ctx, redistest.Spec(locks.Replicated, world.Spec{LogDir: t.TempDir()}), func(ctx context.Context, b *backend) error {
				c := runningOf(b)
				owner = c.owner.name
				links := []world.Link{{From: "client-1", To: "redis-1"}, {From: "redis-1", To: "redis-2"}}
				a := open(ctx, t, c, 1)
				for _, err := range []error{c.Cluster.SetLinks(ctx, links, world.LinkState{Cut: true, Delay: world.Delay{By: time.Minute}}), c.PauseNode(ctx, "redis-3"), a.Pause(ctx)} {
					if err != nil {
						t.Error(err)
					}
				}
				return body(cancel)
			})
			if !errors.Is(err, broken) {
				t.Error(err)
			}
		})
	}
	_ = w.state.provider.Close() // idle connections to the daemon
}

func TestSideBySide(t *testing.T) {
	newWorld(t)
	var meet sync.WaitGroup
	meet.Add(2)
	for range 2 {
		t.Run("cluster", func(t *testing.T) {
			t.Parallel()
			met := sync.OnceFunc(meet.Done)
			defer met() // the other cluster must not wait for a failed one
			run(t, redistest.Spec(locks.Single, world.Spec{Clients: 1}), func(ctx context.Context, c *running) error {
				a := open(ctx, t, c, 1)
				met()
				meet.Wait() // both clusters are running
				// Both grant the lock, so they are different clusters.
				_, err := a.Conn().Acquire(ctx, "1.1", lease60)
				return err
			})
		})
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	w := newWorld(t)
	s := redistest.Spec(locks.Single, world.Spec{Settings: map[string]string{"no-such-setting": "1"}})
	err := w.Run(t.Context(), s, func(context.Context, world.Cluster) error {
		t.Error("there is no cluster")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("the error should quote the server: %v", err)
	}
}

// TestKilledHarness checks that the containers of a killed harness stop by themselves and are removed when the next
// harness starts. Containers of a running harness stay.
func TestKilledHarness(t *testing.T) {
	run(t, redistest.Spec(locks.Single, world.Spec{}), func(ctx context.Context, c *running) error {
		owner, err := killedHarness(t, "1")
		if err != nil {
			return err
		}
		w := New(Options{Services: onlyRedis})
		if w.state.provider, err = connect(); err != nil {
			return err
		}
		if left := leftOf(t, w, owner); len(left) != 4 {
			t.Errorf("three containers and a network should be left: %v", left)
		}
		mine := client.Filters{}.Add("label", ownerLabel+"="+owner)
		err = service.Poll(ctx, func() error {
			alive, err := c.api.ContainerList(ctx, client.ContainerListOptions{Filters: mine})
			if err == nil && len(alive.Items) > 0 {
				err = fmt.Errorf("%d containers live on", len(alive.Items))
			}
			return err
		})
		if err != nil {
			return err
		}
		if err := w.Ready(ctx); err != nil {
			return err
		}
		nothingLeft(t, w, owner)
		if left := leftOf(t, w, c.owner.name); len(left) != 2 {
			t.Errorf("what a living harness owns was swept; left are %v", left)
		}
		return c.Healthy(ctx)
	})
}

// TestCleaner checks that a cleanup process removes everything of a killed harness without another run.
func TestCleaner(t *testing.T) {
	w := newWorld(t)
	owner, err := killedHarness(t, "swept")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = service.Poll(ctx, func() error {
		if left := leftOf(t, w, owner); len(left) > 0 {
			return fmt.Errorf("left are %v", left)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// killedHarness starts a harness of three servers, and kills it when they are up.
func killedHarness(t *testing.T, role string) (owner string, err error) {
	t.Helper()
	cmd := exec.Command(testProgram)
	cmd.Env = append(os.Environ(), harnessEnv+"="+role, guestEnv+"=")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	owner, err = bufio.NewReader(out).ReadString('\n')
	err = errors.Join(err, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	return strings.TrimSpace(owner), err
}

// TestDaemonGoes checks that the end of the daemon during a run ends the run with a clear error, and that the containers
// are removed when the daemon is back. Only the socket of a second harness disappears in this test.
func TestDaemonGoes(t *testing.T) {
	w := newWorld(t)
	host, isFile := strings.CutPrefix(w.state.provider.Client().DaemonHost(), "unix://")
	if !isFile {
		needs.OrSkip(t, "docker", errors.New("the daemon is not at a socket but at "+host))
	}
	socket := filepath.Join(t.TempDir(), "docker.sock")
	stop := forward(t, socket, host)
	cmd := exec.Command(testProgram)
	cmd.Env = append(os.Environ(), harnessEnv+"=follow", guestEnv+"=", "DOCKER_HOST=unix://"+socket)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	owner, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	stop()
	_ = in.Close() // the harness continues and kills a node
	if err := cmd.Wait(); err == nil {
		t.Error("it should have failed")
	}
	// There is one sentence, although several operations failed on each of three servers.
	if all := said.String(); !strings.Contains(all, "went away in the middle of the run") ||
		!strings.Contains(all, "no Docker daemon answers") || strings.Count(all, "\n") != 1 || len(all) > 500 {
		t.Errorf("it said %q", all)
	}
	owner = strings.TrimSpace(owner)
	if len(leftOf(t, w, owner)) == 0 {
		t.Error("without a daemon nothing can have been removed")
	}
	if err := sweep(t.Context(), w.state.provider.Client(), "", 0); err != nil {
		t.Error(err)
	}
	nothingLeft(t, w, owner)
}

// forward forwards connections from one socket to another until it is stopped.
func forward(t *testing.T, from, to string) (stop func()) {
	t.Helper()
	l, err := net.Listen("unix", from)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	var pumps sync.WaitGroup
	pumps.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", to)
			if err != nil {
				near.Close()
				continue
			}
			mu.Lock()
			open = append(open, near, far)
			mu.Unlock()
			pump := func(dst, src net.Conn) {
				_, _ = io.Copy(dst, src)
				_ = dst.(*net.UnixConn).CloseWrite()
			}
			pumps.Go(func() { pump(near, far) })
			pumps.Go(func() { pump(far, near) })
		}
	})
	stop = sync.OnceFunc(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		pumps.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// TestNoDaemon checks that the error names the socket.
func TestNoDaemon(t *testing.T) {
	newWorld(t)
	t.Setenv("DOCKER_HOST", "unix:///no/such/socket")
	if err := New(Options{Services: onlyRedis}).Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "/no/such/socket") {
		t.Errorf("got %v", err)
	}
}
