package workloads

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/locks"
)

// conn is a connection to a client with configured answers. By default every operation succeeds and takes no time.
type conn struct {
	grant   guest.Grant
	answers map[string]func(ctx context.Context) error // by operation
}

var (
	_ Conn     = (*conn)(nil)
	_ Conn     = (*guest.Conn)(nil)
	_ Recorder = (*history.Recorder)(nil)
)

func (c *conn) do(ctx context.Context, op string) error {
	if answer := c.answers[op]; answer != nil {
		return answer(ctx)
	}
	return nil
}

func (c *conn) Acquire(ctx context.Context, _ string, _ locks.Request) (guest.Grant, error) {
	return c.grant, c.do(ctx, "acquire")
}

func (c *conn) Check(ctx context.Context, _ string) error   { return c.do(ctx, "check") }
func (c *conn) Touch(ctx context.Context, _ string) error   { return c.do(ctx, "touch") }
func (c *conn) Release(ctx context.Context, _ string) error { return c.do(ctx, "release") }

func (c *conn) Renew(ctx context.Context, _ string, _ time.Duration) (*time.Duration, error) {
	return c.grant.Until, c.do(ctx, "renew")
}

// always answers err.
func always(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

// the answers err the nth time, from 1, and otherwise succeeds.
func the(nth int, err error) func(context.Context) error {
	count := 0
	return func(context.Context) error {
		if count++; count == nth {
			return err
		}
		return nil
	}
}

// silence does not answer before the end of the caller's context.
func silence(ctx context.Context) error {
	<-ctx.Done()
	return fmt.Errorf("no answer: %w", ctx.Err())
}

// hooks records the calls of its methods.
type hooks struct {
	mu    sync.Mutex
	told  []string
	hold  map[Event]time.Duration // asked for at a moment
	holds int                     // how often a client is to hold on
	awake func()
}

var _ Hooks = (*hooks)(nil)

func (h *hooks) say(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, fmt.Sprintf(format, args...))
}

func (h *hooks) Begin(context.Context) { h.say("begin") }
func (h *hooks) End()                  { h.say("end") }

func (h *hooks) Reached(_ context.Context, m Moment) time.Duration {
	h.say("%s %d %q %s %v", m.Event, m.Client, m.Session, m.Key, m.Nodes)
	return h.hold[m.Event]
}

func (h *hooks) Awake(_ context.Context, client int) {
	h.say("awake? %d", client)
	if h.awake != nil {
		h.awake()
	}
}

func (h *hooks) HoldsOn(string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holds--
	return h.holds >= 0
}

func (h *hooks) Unknown()                      {}
func (h *hooks) Overdue(client int, why error) { h.say("overdue %d: %v", client, why) }
func (h *hooks) Unfit(err error)               { h.say("unfit: %v", err) }

// bench is client 3 on a fake connection with a real history.
type bench struct {
	t        *testing.T
	conn     *conn
	hooks    *hooks
	client   *Client
	recorder *history.Recorder
	buf      bytes.Buffer
}

func newBench(t *testing.T, header history.Header) *bench {
	t.Helper()
	b := &bench{t: t, conn: &conn{answers: map[string]func(context.Context) error{}}, hooks: &hooks{}}
	var err error
	if b.recorder, err = history.New(&b.buf, header, 0); err != nil {
		t.Fatal(err)
	}
	b.client = b.newClient(3)
	return b
}

func (b *bench) newClient(id int) *Client {
	return &Client{
		ID: id, Conn: b.conn, Rand: rand.New(rand.NewPCG(1, uint64(id))), Recorder: b.recorder,
		Guarded: NewGuarded(), Hooks: b.hooks, Limit: 10 * time.Second,
	}
}

// read ends the history and reads it again, which checks the rules of the format.
func (b *bench) read() *history.History {
	b.t.Helper()
	if err := b.recorder.Close(); err != nil {
		b.t.Fatalf("the history is malformed: %v", err)
	}
	h, err := history.Read(bytes.NewReader(b.buf.Bytes()))
	if err != nil {
		b.t.Fatalf("the history is malformed: %v", err)
	}
	return h
}

// want compares the whole history with lines such as "3 ok check 3.1".
func (b *bench) want(want string) *history.History {
	b.t.Helper()
	h := b.read()
	if diff := cmp.Diff(trimmed(want), events(h)); diff != "" {
		b.t.Errorf("the history (-want +got):\n%s", diff)
	}
	return h
}

func (b *bench) wantTold(want string) {
	b.t.Helper()
	if diff := cmp.Diff(trimmed(want), b.hooks.told); diff != "" {
		b.t.Errorf("the hooks were told (-want +got):\n%s", diff)
	}
}

// events are the lines of a history as this package's tests write them.
func events(h *history.History) []string {
	var out []string
	for _, e := range h.Events {
		line := fmt.Sprintf("%d %s %s %s", e.Process, e.Type, e.F, e.Session)
		add := func(there bool, format string, args ...any) {
			if there {
				line += " " + fmt.Sprintf(format, args...)
			}
		}
		add(e.Key != "", "%s", e.Key)
		add(e.TTL > 0, "ttl=%s", e.TTL)
		add(e.Wait > 0, "wait=%s", e.Wait)
		add(e.Until != nil, "until=%s", e.Until)
		add(e.FromAnswer, "from answer")
		add(e.Node != "", "node=%s", e.Node)
		add(e.Renewed, "lease=%s", e.Lease)
		add(e.Resource != "", "%s", e.Resource)
		add(e.Token != nil, "token=%d", orZero(e.Token))
		add(e.Value != nil, "value=%d", orZero(e.Value))
		add(e.Error != "", "error=%s", e.Error)
		out = append(out, line)
	}
	return out
}

func trimmed(text string) []string {
	var out []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		out = append(out, strings.TrimSpace(line))
	}
	return out
}

func ptr[T any](v T) *T { return &v }

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
