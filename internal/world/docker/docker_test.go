//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"lockbench/internal/needs"
	"lockbench/internal/service"
	"lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/internal/world/cluster"
	"lockbench/locks"
)

// guestEnv makes this test program serve as a guest instead.
const guestEnv = "LOCKBENCH_TEST_GUEST"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(guestEnv) != "":
		if err := redistest.Serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case os.Getenv(harnessEnv) != "":
		runDoomedHarness()
	}
	if !needs.Required("docker") && os.Getenv("LOCKBENCH_DOCKER") == "" {
		// In a run of all packages these tests would compete with those of other worlds. Containers keep the disks
		// busy, and sentinels that stall consider their master dead.
		fmt.Println("--- SKIP: world docker is tested apart from all else: make test does so, or LOCKBENCH_DOCKER=1")
		os.Exit(0)
	}
	// The child processes inherit the variable. This process has already read it.
	os.Setenv(guestEnv, "1")
	os.Exit(m.Run())
}

// shared is the world of all tests, because each new world starts a container first.
var shared = sync.OnceValues(func() (*World, error) {
	w := New(Options{Services: onlyRedis, Self: []string{os.Args[0]}})
	return w, w.Ready(context.Background())
})

// onlyRedis is the service of most tests.
var onlyRedis = []*service.Service{redis.Service}

// newWorld returns a docker world that is ready. Without Docker it skips the test.
func newWorld(t *testing.T) *World {
	t.Helper()
	w, err := shared()
	needs.OrSkip(t, "docker", err)
	return w
}

// run starts a cluster for a test, and checks afterwards that nothing of it is left. The body reports failures with t.Error or as
// its result.
func run(t *testing.T, s world.Spec, body func(ctx context.Context, c *running) error) {
	t.Helper()
	runIn(t, newWorld(t), s, body)
}

func runIn(t *testing.T, w *World, s world.Spec, body func(ctx context.Context, c *running) error) {
	t.Helper()
	if s.LogDir == "" {
		s.LogDir = t.TempDir()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*startLimit) // the start reports its own limit with the node
	defer cancel()
	var owner string
	err := w.with(ctx, s, func(ctx context.Context, b *backend) error {
		c := runningOf(b)
		if c.owner != nil {
			owner = c.owner.name
		}
		return body(ctx, c)
	})
	if err != nil {
		t.Error(err)
	}
	if owner != "" {
		nothingLeft(t, w, owner)
	}
}

// running is a cluster and its backend.
type running struct {
	*cluster.Cluster
	*backend
}

func runningOf(b *backend) *running { return &running{&b.cluster, b} }

// node returns a node of the cluster.
func (c *running) node(name string) *node {
	return c.nodes[slices.IndexFunc(c.nodes, func(n *node) bool { return n.Name == name })]
}

// nothingLeft checks that an owner has no container and no network.
func nothingLeft(t *testing.T, w *World, owner string) {
	t.Helper()
	if left := leftOf(t, w, owner); len(left) > 0 {
		t.Errorf("left over of %s: %v", owner, left)
	}
}

func leftOf(t *testing.T, w *World, owner string) []string {
	t.Helper()
	api := w.state.provider.Client()
	mine := client.Filters{}.Add("label", ownerLabel+"="+owner)
	var left []string
	containers, err := api.ContainerList(context.Background(), client.ContainerListOptions{All: true, Filters: mine})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range containers.Items {
		left = append(left, c.Names...)
	}
	networks, err := api.NetworkList(context.Background(), client.NetworkListOptions{Filters: mine})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range networks.Items {
		left = append(left, n.Name)
	}
	return left
}

// open opens a client of the lock "plain".
func open(ctx context.Context, t *testing.T, c *running, id int) world.Client {
	t.Helper()
	client, err := c.Open(ctx, world.ClientSpec{ID: id, Lock: "plain"})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

var lease60 = locks.Request{Keys: []string{"k"}, Owner: "o", TTL: time.Minute}

// short is how long tests wait for an event that must not happen. If it is too short, a test passes wrongly but never fails.
func short(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 200*time.Millisecond)
}

// soon repeats a function until it succeeds or its limit ends.
func soon(ctx context.Context, try func(context.Context) error) error {
	for {
		limited, cancel := context.WithTimeout(ctx, time.Second)
		err := try(limited)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}
