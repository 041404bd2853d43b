//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"lockbench/internal/needs"
	"lockbench/internal/service"
	"lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/internal/world/cluster"
	"lockbench/internal/world/process"
	"lockbench/locks"
)

// guestEnv makes this test program serve as a guest instead.
const guestEnv = "LOCKBENCH_TEST_GUEST"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == toyName:
		fmt.Fprintln(os.Stderr, serveToy(os.Args[2], os.Args[3:]))
		os.Exit(1)
	case os.Getenv(guestEnv) != "":
		if err := redistest.Serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case os.Getenv(harnessEnv) != "":
		runDoomedHarness()
	}
	// The child processes inherit the variable. This process has already read it.
	os.Setenv(guestEnv, "1")
	os.Exit(m.Run())
}

// newWorld returns the local world. It skips the test on machines without it.
func newWorld(t *testing.T) *World {
	t.Helper()
	w := New(Options{Services: []*service.Service{redis.Service}, Self: []string{os.Args[0]}})
	needs.OrSkip(t, "local", w.Ready(t.Context()))
	return w
}

// running is a cluster and its backend.
type running struct {
	*cluster.Cluster
	*backend
}

func runningOf(b *backend) *running { return &running{&b.cluster, b} }

// run starts a cluster for a test. The body reports failures with t.Error or as its result.
func run(t *testing.T, s world.Spec, body func(ctx context.Context, c *running) error) {
	t.Helper()
	w := newWorld(t)
	if s.LogDir == "" {
		s.LogDir = t.TempDir()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	var dir string
	var processes []*process.Process
	err := w.with(ctx, s, func(ctx context.Context, b *backend) error {
		c := runningOf(b)
		dir = c.Dir.Path
		err := body(ctx, c)
		for _, n := range c.nodes {
			processes = append(processes, n.process)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, p := range processes {
		if left := p.Members(); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cluster's directory is left: %v", err)
	}
}

func open(ctx context.Context, t *testing.T, c *running, id int) world.Client {
	t.Helper()
	client, err := c.Open(ctx, world.ClientSpec{ID: id, Lock: "plain", Seed: 1, Log: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestTopologies(t *testing.T) {
	for _, topology := range []locks.Topology{locks.None, locks.Single, locks.Replicated, locks.Sentinel, locks.Cluster, locks.Independent} {
		t.Run(string(topology), func(t *testing.T) {
			began := time.Now()
			run(t, redistest.Spec(topology, world.Spec{Clients: 2}), func(ctx context.Context, c *running) error {
				t.Logf("started after %v", time.Since(began).Round(time.Millisecond))
				if err := c.Healthy(ctx); err != nil {
					return err
				}
				if topology != locks.None && topology != locks.Independent && topology != locks.Cluster {
					master, err := c.Leader(ctx)
					if master != "redis-1" || err != nil {
						t.Errorf("master is %q, %v", master, err)
					}
				}
				a := open(ctx, t, c, 1)
				r := locks.Request{Keys: []string{"k"}, Owner: "a", TTL: time.Minute}
				if _, err := a.Conn().Acquire(ctx, "1.1", r); err != nil {
					return err
				}
				b := open(ctx, t, c, 2)
				_, err := b.Conn().Acquire(ctx, "2.1", r)
				if topology != locks.None && !errors.Is(err, locks.ErrTaken) {
					t.Errorf("the second client should find it taken: %v", err)
				}
				if err := a.Conn().Release(ctx, "1.1"); err != nil {
					return err
				}
				if n := c.Requests("client-1").Counts()["SET"]; topology != locks.None && n != 1 {
					t.Errorf("client-1 sent %d SETs: %v", n, c.Requests("client-1").Counts())
				}
				return errors.Join(a.Close(ctx), b.Kill(ctx), b.Close(ctx))
			})
		})
	}
}
