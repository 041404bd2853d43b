package sim

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockbench/internal/world"
	"lockbench/locks"
)

// in runs a test inside a cluster of a topology.
func in(t *testing.T, s world.Spec, body func(t *testing.T, ctx context.Context, c *cluster)) {
	t.Helper()
	if s.Seed == 0 {
		s.Seed = 1
	}
	began := time.Now()
	err := New(Options{}).Run(t.Context(), s, func(ctx context.Context, c world.Cluster) error {
		body(t, ctx, c.(*cluster))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	t.Logf("%v of real time", time.Since(began).Round(time.Millisecond))
}

// talker is a client that speaks to servers by hand.
type talker struct {
	t  *testing.T
	cl *client
}

func talk(t *testing.T, c *cluster, id int) *talker {
	c.foreign.Store(true)
	return &talker{t, &client{cluster: c, id: id, name: world.ClientName(id), dead: make(chan struct{})}}
}

// open opens a connection to a node, or to the service.
func (k *talker) open(ctx context.Context, addr string) (*wire, error) {
	conn, err := k.cl.dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &wire{k.t, conn, bufio.NewReader(conn)}, nil
}

func (k *talker) to(n *node) *wire {
	w, err := k.open(context.Background(), n.addr)
	if err != nil {
		k.t.Errorf("dial %s: %v", n.Name, err)
		return nil
	}
	return w
}

type wire struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

// say sends a command and returns the answer, or what went wrong.
func (w *wire) say(command string) string {
	if w == nil {
		return "no connection"
	}
	if _, err := w.Write([]byte(bulks(strings.Fields(command)...))); err != nil {
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

// The way in stands on what the runtime does and does not promise. If this fails
// after a change of the Go release, bubble.go is the place to look.
func TestBubble(t *testing.T) {
	real := time.Now()
	err := bubble(func() error {
		began := time.Now()
		time.Sleep(1000 * time.Hour)
		if d := time.Since(began); d != 1000*time.Hour {
			return fmt.Errorf("slept %v", d)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if d := time.Since(real); d > time.Minute {
		t.Errorf("a thousand hours took %v of real time", d)
	}
	if err := bubble(func() error { panic("by intent") }); err == nil || !strings.Contains(err.Error(), "by intent") {
		t.Errorf("a panic came out as %v", err)
	}
	if err := bubble(func() error { return errors.New("by intent") }); err == nil || err.Error() != "by intent" {
		t.Errorf("an error came out as %v", err)
	}
}

// A goroutine that is left over is a leak, and is told as an error. It stays, so
// this test has a process of its own.
func TestBubbleTellsLeaks(t *testing.T) {
	alone(t, func() {
		err := bubble(func() error {
			go func() { select {} }()
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "blocked goroutines remain") {
			t.Errorf("a leak came out as %v", err)
		}
	})
}

func TestClassesNeverMeet(t *testing.T) {
	seen := map[class]string{}
	for _, actor := range []string{"roles", "trial", "cut", "keeps", "commands"} {
		if other, used := seen[classOf(actor)]; used {
			t.Errorf("%s and %s have one class", actor, other)
		}
		seen[classOf(actor)] = actor
	}
	for id := range 200 {
		for _, actor := range []string{fmt.Sprintf("client-%d", id), fmt.Sprintf("step-%d", id)} {
			if other, used := seen[classOf(actor)]; used {
				t.Errorf("%s and %s have one class", actor, other)
			}
			seen[classOf(actor)] = actor
		}
	}
	at := time.Unix(0, 1_234_567)
	for _, c := range []class{0, 1, 34_567, 34_568, 99_999} {
		next := c.next(at)
		if next.Before(at) || next.Sub(at) >= grain || class(next.UnixNano()%int64(grain)) != c {
			t.Errorf("class %d after %d is %d", c, at.UnixNano(), next.UnixNano())
		}
	}
	if time.Millisecond%grain != 0 {
		t.Error("whoever sleeps for whole milliseconds wakes in somebody else's instant")
	}
}

func TestLinks(t *testing.T) {
	in(t, world.Spec{Topology: locks.Single}, func(t *testing.T, ctx context.Context, c *cluster) {
		n, a, b := c.nodes[0], talk(t, c, 1), talk(t, c, 2)
		wa, wb := a.to(n), b.to(n)
		wa.wants("SET k 1 NX", "+OK")
		there, back := world.Link{From: "client-1", To: "redis-1"}, world.Link{From: "redis-1", To: "client-1"}

		// Cut: held, and delivered after the heal; the server has done it meanwhile.
		_ = c.Cut(ctx, []world.Link{back})
		wa.wants("INCR k", "timeout")
		wb.wants("GET k", `"2"`)
		_ = c.Join(ctx, []world.Link{back})
		if got := wa.hear(); got != ":2" {
			t.Errorf("after the heal: %q, want the answer that was held", got)
		}
		_ = c.Cut(ctx, []world.Link{there})
		wa.wants("INCR k", "timeout")
		wb.wants("GET k", `"2"`)
		short, cancel := context.WithTimeout(ctx, time.Second)
		if _, err := a.open(short, n.addr); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("dial over a cut link: %v", err)
		}
		cancel()
		_ = c.Join(ctx, []world.Link{there})
		if got := wa.hear(); got != ":3" {
			t.Errorf("after the heal: %q", got)
		}

		// Lag: late, and in time again when it is taken away.
		_ = c.Shape(ctx, []world.Link{there}, world.Delay{By: 300 * time.Millisecond})
		began := time.Now()
		wa.wants("GET k", `"3"`)
		if d := time.Since(began); d < 300*time.Millisecond {
			t.Errorf("an answer over a link that is late by 300 ms took %v", d)
		}
		_ = c.Shape(ctx, []world.Link{there}, world.Delay{By: time.Hour})
		wa.wants("INCR k", "timeout")
		_ = c.Unshape(ctx, []world.Link{there})
		if got := wa.hear(); got != ":4" {
			t.Errorf("after the lag: %q", got)
		}

		// Jitter: each answer late by another while, within the bounds.
		_ = c.Shape(ctx, []world.Link{there}, world.Delay{By: 300 * time.Millisecond, Jitter: 100 * time.Millisecond})
		took := map[time.Duration]bool{}
		for range 20 {
			began := time.Now()
			wa.wants("GET k", `"4"`)
			d := time.Since(began)
			took[d.Round(time.Millisecond)] = true
			if d < 200*time.Millisecond || d > 410*time.Millisecond {
				t.Errorf("an answer over a link that is late by 300 ms give or take 100 ms took %v", d)
			}
		}
		if len(took) < 10 {
			t.Errorf("20 answers over a link with jitter took %v", took)
		}
		_ = c.Unshape(ctx, []world.Link{there})

		// A narrow link: what is long takes its time, and what comes after it waits.
		_ = c.Throttle(ctx, []world.Link{there}, 1000)
		began = time.Now()
		if err := c.PingBulk(ctx, there.From, there.To, 2000); err != nil {
			t.Error(err)
		}
		if d := time.Since(began); d < 2*time.Second || d > 2200*time.Millisecond {
			t.Errorf("2000 bytes took %v through a link of 1 kB/s", d)
		}
		_ = c.Unthrottle(ctx, []world.Link{there})
		began = time.Now()
		if err := c.PingBulk(ctx, there.From, there.To, 2000); err != nil || time.Since(began) > 100*time.Millisecond {
			t.Errorf("through a link that is wide again: %v, %v", time.Since(began), err)
		}

		// Dropped replies: done, never heard of, and the connection ends with the heal.
		_ = c.DropReplies(ctx, []world.Link{back})
		wa.wants("INCR k", "timeout")
		_ = c.KeepReplies(ctx, []world.Link{back})
		wa.wants("GET k", "connection reset")
		wb.wants("GET k", `"5"`)
		a.to(n).wants("GET k", `"5"`)
	})
}

func TestKillAndPause(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		in(t, world.Spec{Topology: locks.Single, Settings: map[string]string{"appendonly": map[bool]string{true: "yes", false: "no"}[keeps]}},
			func(t *testing.T, ctx context.Context, c *cluster) {
				n, a := c.nodes[0], talk(t, c, 1)
				w := a.to(n)
				w.wants("SET k 1 PX 10000", "+OK")
				if err := c.Kill(ctx, n.Name); err != nil {
					t.Error(err)
				}
				w.wants("GET k", "EOF")
				if _, err := a.open(ctx, n.addr); !errors.Is(err, syscall.ECONNREFUSED) {
					t.Errorf("dial a dead server: %v", err)
				}
				time.Sleep(4 * time.Second)
				if err := c.Start(ctx, n.Name, true); err != nil {
					t.Error(err)
				}
				if w = a.to(n); keeps {
					w.wants("TTL k", ":6") // the time went on meanwhile
				} else {
					w.wants("GET k", "nil")
				}
				_ = c.Kill(ctx, n.Name)
				_ = c.Start(ctx, n.Name, false)
				w = a.to(n)
				w.wants("DBSIZE", ":0")

				// Stopped: the connection lives, and what was asked is done late.
				_ = c.PauseNode(ctx, n.Name)
				w.wants("INCR k", "timeout")
				if err := c.Ping(deadline(t, ctx), "client-1", n.Name); err == nil {
					t.Error("a stopped server answers a PING")
				}
				_ = c.ResumeNode(ctx, n.Name)
				if got := w.hear(); !strings.Contains(got, ":1") {
					t.Errorf("after the resume: %q", got)
				}
			})
	}
}

func deadline(t *testing.T, ctx context.Context) context.Context {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// What a replica has not heard of dies with its master: the one thing that a
// failover is about.
func TestReplication(t *testing.T) {
	in(t, world.Spec{Topology: locks.Replicated}, func(t *testing.T, ctx context.Context, c *cluster) {
		a := talk(t, c, 1)
		master, replica := c.nodes[0], c.nodes[1]
		w, err := a.open(ctx, serviceAddr)
		if err != nil {
			t.Error(err)
			return
		}
		r := a.to(replica)
		w.wants("SET k mine PX 10000", "+OK")
		w.wants("HSET h f 1", ":1")
		w.wants("WAIT 2 1000", ":2")
		r.wants("GET k", "mine")
		r.wants("HGET h f", "1")
		r.wants("SET k theirs", "READONLY")
		r.wants("EVAL return(redis.call('set',KEYS[1],'x')) 1 k", "READONLY")
		time.Sleep(5 * time.Second)
		r.wants("TTL k", ":5") // the end went with it, not the time left

		streams := []world.Link{{From: "redis-1", To: "redis-2"}, {From: "redis-1", To: "redis-3"}}
		_ = c.Shape(ctx, streams, world.Delay{By: time.Minute})
		w.wants("SET lost 1", "+OK")
		w.wants("WAIT 1 100", ":0")
		_ = c.Kill(ctx, master.Name)
		now, err := c.Promote(ctx, "redis-2")
		if err != nil || now != "redis-2" {
			t.Errorf("promote: %q, %v", now, err)
		}
		w.wants("GET k", "EOF")
		if w, err = a.open(ctx, serviceAddr); err != nil {
			t.Error(err)
			return
		}
		w.wants("GET lost", "nil")
		w.wants("GET h", "WRONGTYPE")
		w.wants("SET new 1", "+OK")
		_ = c.Unshape(ctx, streams)
		_ = c.Start(ctx, master.Name, true)
		time.Sleep(3 * time.Second)
		if err := c.Healthy(ctx); err != nil {
			t.Errorf("after the heal: %v", err)
		}
		old := a.to(master)
		old.wants("GET new", "1")
		old.wants("SET new 2", "READONLY")
	})
}

func TestMinReplicas(t *testing.T) {
	spec := world.Spec{Topology: locks.Replicated, Settings: map[string]string{"min-replicas-to-write": "1", "min-replicas-max-lag": "2"}}
	in(t, spec, func(t *testing.T, ctx context.Context, c *cluster) {
		w := talk(t, c, 1).to(c.nodes[0])
		w.wants("SET k 1", "+OK")
		_ = c.Cut(ctx, []world.Link{{From: "redis-2", To: "redis-1"}, {From: "redis-3", To: "redis-1"}})
		time.Sleep(4 * time.Second)
		w.wants("SET k 2", "NOREPLICAS")
	})
	err := New(Options{}).Run(t.Context(), world.Spec{Topology: locks.Single, Settings: map[string]string{"maxmemory": "1mb"}}, nil)
	if !errors.Is(err, world.ErrUnsupportedHere) || !strings.Contains(err.Error(), "maxmemory") {
		t.Errorf("a setting that is not modelled: %v", err)
	}
}

// Sentinels notice, agree, promote, tell; the old master comes back as a replica.
func TestSentinels(t *testing.T) {
	took := map[bool]int{}
	for seed := uint64(1); seed <= 20; seed++ {
		in(t, world.Spec{Topology: locks.Sentinel, Seed: seed}, func(t *testing.T, ctx context.Context, c *cluster) {
			k := talk(t, c, 3) // whom the first sentinel answers
			w := k.to(c.of(world.Watchman)[0])
			w.wants("SENTINEL get-master-addr-by-name mymaster", "10.0.0.1")
			w.wants("SENTINEL get-master-addr-by-name other", "-ERR")
			w.wants("SUBSCRIBE +switch-master", "subscribe")
			began := time.Now()
			_ = c.Kill(ctx, "redis-1")
			if got := w.hearWithin(20 * time.Second); !strings.Contains(got, "mymaster 10.0.0.1 6379 10.0.0.") {
				t.Errorf("no news of the switch: %q", got)
			}
			d := time.Since(began)
			if d < 500*time.Millisecond || d > 10*time.Second {
				t.Errorf("seed %d: the switch took %v; a real one takes two seconds or three, seldom six", seed, d)
			}
			took[d < 4*time.Second]++
			time.Sleep(time.Second) // the others have heard of it by then
			now, err := c.Master(ctx)
			if err != nil || now == "redis-1" {
				t.Errorf("the master is %q, %v", now, err)
			}
			_ = c.Start(ctx, "redis-1", true)
			time.Sleep(8 * time.Second)
			if err := c.Healthy(ctx); err != nil {
				t.Errorf("seed %d, after the heal: %v", seed, err)
			}
			if masters := c.Masters(ctx); len(masters) != 1 || masters[0] != now {
				t.Errorf("masters are %v, want %s", masters, now)
			}
		})
	}
	if took[true] < 15 {
		t.Errorf("%d of 20 switches took less than 4 s", took[true])
	}
}

// A master that is cut off goes on granting to those on its side, and what it granted
// is thrown away when it comes back.
func TestIsolatedMaster(t *testing.T) {
	in(t, world.Spec{Topology: locks.Sentinel}, func(t *testing.T, ctx context.Context, c *cluster) {
		inside, outside := talk(t, c, 1), talk(t, c, 2)
		w := inside.to(c.nodes[0])
		var links []world.Link
		for _, n := range c.nodes[1:] {
			links = append(links, world.Link{From: "redis-1", To: n.Name}, world.Link{From: n.Name, To: "redis-1"})
		}
		_ = c.Cut(ctx, links)
		time.Sleep(6 * time.Second)
		now, err := c.Master(ctx)
		if err != nil || now == "redis-1" {
			t.Errorf("the majority names %q, %v", now, err)
			return
		}
		w.wants("SET k inside NX", "+OK")
		n, _ := c.node(now)
		outside.to(n).wants("SET k outside NX", "+OK")
		_ = c.Join(ctx, links)
		time.Sleep(8 * time.Second)
		if err := c.Healthy(ctx); err != nil {
			t.Errorf("after the heal: %v", err)
		}
		w.wants("GET k", "EOF")
		inside.to(c.nodes[0]).wants("GET k", "outside")
	})
}

func TestPromoteBySentinels(t *testing.T) {
	in(t, world.Spec{Topology: locks.Sentinel}, func(t *testing.T, ctx context.Context, c *cluster) {
		now, err := c.Promote(ctx, "redis-3")
		if err != nil || now != "redis-3" {
			t.Errorf("promote redis-3: %q, %v", now, err)
		}
		time.Sleep(6 * time.Second)
		if err := c.Healthy(ctx); err != nil {
			t.Error(err)
		}
	})
}

// A failover that the sentinels give up, for they hear no replica, is ordered again; and
// once nobody waits for it any more it has failed, or the run would never end.
func TestPromoteIsOrderedAgain(t *testing.T) {
	in(t, world.Spec{Topology: locks.Sentinel}, func(t *testing.T, ctx context.Context, c *cluster) {
		ctx, cancel := context.WithTimeout(ctx, 4*world.FailoverLimit) // what waits for ever fails here
		defer cancel()
		var links []world.Link
		for _, w := range c.of(world.Watchman) {
			for _, replica := range c.nodes[1:3] {
				links = append(links, world.Link{From: replica.Name, To: w.Name}, world.Link{From: w.Name, To: replica.Name})
			}
		}
		_ = c.Cut(ctx, links)
		hears := func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return slices.ContainsFunc(c.of(world.Watchman), func(w *node) bool {
				return slices.ContainsFunc(c.nodes[1:3], func(replica *node) bool { return !w.sentinel.isDown(replica.Name, time.Now()) })
			})
		}
		for hears() { // until all take both replicas for dead
			select {
			case <-time.After(lookPeriod):
			case <-ctx.Done():
				t.Error("a sentinel still hears a replica that is cut off")
				return
			}
		}
		began := time.Now()
		if _, err := c.Promote(ctx, ""); err == nil || time.Since(began) != world.FailoverLimit {
			t.Errorf("promote without replicas: %v after %s; want an error after %s", err, time.Since(began), world.FailoverLimit)
		}
		time.AfterFunc(2*world.OrderEvery, func() { _ = c.Join(ctx, links) })
		if now, err := c.Promote(ctx, ""); err != nil || now == "redis-1" {
			t.Errorf("promote, and the replicas come back: %q, %v", now, err)
		}
	})
}

// What is not covered is refused, and spoils the run: its history proves nothing.
func TestUncoveredIsLoud(t *testing.T) {
	err := New(Options{}).Run(t.Context(), world.Spec{Topology: locks.Single, Seed: 1}, func(_ context.Context, c world.Cluster) error {
		w := talk(t, c.(*cluster), 1).to(c.(*cluster).nodes[0])
		w.wants("OBJECT ENCODING k", "-ERR the simulation does not cover")
		w.wants("SET k v EX 1 FANCY", "-ERR the simulation does not cover")
		w.wants("GET k", "nil")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "OBJECT ENCODING") {
		t.Errorf("the run ended with %v; want an error that names the command", err)
	}
	err = New(Options{}).Run(t.Context(), world.Spec{Topology: locks.Single, Seed: 1}, func(_ context.Context, c world.Cluster) error {
		talk(t, c.(*cluster), 1).to(c.(*cluster).nodes[0]).wants("EVAL return(redis.call('object','encoding','k')) 0", "ERR")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "OBJECT") {
		t.Errorf("the run with a script ended with %v", err)
	}
}

// The answer to a client's second request is kept back, after the server has done it.
func TestHoldReply(t *testing.T) {
	in(t, world.Spec{Topology: locks.Single}, func(t *testing.T, ctx context.Context, c *cluster) {
		w := talk(t, c, 1).to(c.nodes[0])
		w.wants("PING", "+PONG")
		reached, goOn := c.HoldReply("client-1", 2)
		w.wants("SETNX a mine", ":1")
		if got := w.say("PEXPIRE a 5000"); !strings.HasPrefix(got, "read:") {
			t.Errorf("heard %q, and the answer was to be kept back", got)
		}
		select {
		case <-reached:
		default:
			t.Error("the answer has not come back from the server")
		}
		talk(t, c, 2).to(c.nodes[0]).wants("PTTL a", ":4")
		goOn()
		goOn()
		if got := w.hear(); !strings.Contains(got, ":1") {
			t.Errorf("heard %q after it was let go, want :1", got)
		}
	})
}
