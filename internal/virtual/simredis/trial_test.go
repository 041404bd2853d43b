package simredis

import (
	"bufio"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/proto"

	"lockbench/internal/service/redis"
	"lockbench/internal/virtual/sim"
	"lockbench/internal/world"
	"lockbench/locks"
)

// trial is a simulated cluster with its servers.
type trial struct {
	world.Cluster
	servers *cluster
	talkers map[int]*talker
}

// shown is a model that gives tests access to its servers.
type shown struct {
	Model
	cluster **cluster
}

func (s shown) New(h *sim.Host, spec world.Spec) (sim.Service, error) {
	service, err := s.Model.New(h, spec)
	*s.cluster, _ = service.(*cluster)
	return service, err
}

// run runs body with a cluster in virtual time.
func run(t *testing.T, m Model, s world.Spec, body func(context.Context, *trial) error) error {
	return runIn((*sim.World).Run, t.Context(), m, s, body)
}

// inside is run for callers that are already in virtual time.
func inside(t *testing.T, m Model, s world.Spec, body func(context.Context, *trial) error) error {
	return runIn((*sim.World).Inside, t.Context(), m, s, body)
}

func runIn(in func(*sim.World, context.Context, world.Spec, func(context.Context, world.Cluster) error) error,
	ctx context.Context, m Model, s world.Spec, body func(context.Context, *trial) error) error {
	if s.Seed == 0 {
		s.Seed = 1
	}
	var servers *cluster
	w := sim.New(sim.Options{Models: sim.Models{redis.Name: shown{m, &servers}}})
	return in(w, ctx, s, func(ctx context.Context, c world.Cluster) error {
		return body(ctx, &trial{Cluster: c, servers: servers, talkers: map[int]*talker{}})
	})
}

// in runs a test inside a cluster of a topology.
func in(t *testing.T, s world.Spec, body func(t *testing.T, ctx context.Context, c *trial)) {
	t.Helper()
	began := time.Now()
	err := run(t, Model{}, s, func(ctx context.Context, c *trial) error {
		body(t, ctx, c)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	t.Logf("%v of real time", time.Since(began).Round(time.Millisecond))
}

// talker is a client that sends single commands.
type talker struct {
	t    *testing.T
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// talk returns the client with a number.
func talk(t *testing.T, c *trial, id int) *talker {
	t.Helper()
	if k := c.talkers[id]; k != nil {
		return k
	}
	k := &talker{t: t}
	_, err := c.Open(context.Background(), world.ClientSpec{ID: id, Opener: func(_ context.Context, known locks.Client) (locks.Locker, error) {
		k.dial = known.Store.Dial
		return unopened{}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	c.talkers[id] = k
	return k
}

// unopened is a lock that only gives access to its client.
type unopened struct{}

func (unopened) Acquire(context.Context, locks.Request) (locks.Lease, error) {
	return nil, locks.ErrUnsupported
}
func (unopened) Close() error { return nil }

// open opens a connection to an address.
func (k *talker) open(ctx context.Context, addr string) (*wire, error) {
	conn, err := k.dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &wire{k.t, conn, bufio.NewReader(conn)}, nil
}

// to is open for servers that must be reachable.
func (k *talker) to(addr string) *wire {
	w, err := k.open(context.Background(), addr)
	if err != nil {
		k.t.Errorf("dial %s: %v", addr, err)
		return nil
	}
	return w
}

type wire struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

// say sends a command and returns the answer or the error.
func (w *wire) say(command string) string {
	if w == nil {
		return "no connection"
	}
	if _, err := w.Write([]byte(proto.Strings(strings.Fields(command)...))); err != nil {
		return "write: " + err.Error()
	}
	return w.hear()
}

func (w *wire) hear() string { return w.hearWithin(500 * time.Millisecond) }

func (w *wire) hearWithin(d time.Duration) string {
	_ = w.SetReadDeadline(time.Now().Add(d))
	answer, err := reply(w.r)
	if err != nil {
		return "read: " + err.Error()
	}
	return answer
}

func (w *wire) wants(command, want string) {
	w.t.Helper()
	if got := w.say(command); !strings.Contains(got, want) {
		w.t.Errorf("%s: got %q, want %q", command, got, want)
	}
}
