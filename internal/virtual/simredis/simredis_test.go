package simredis

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/locks"
)

func TestLinks(t *testing.T) {
	in(t, redistest.Spec(locks.Single, world.Spec{}), func(t *testing.T, ctx context.Context, c *trial) {
		n, a, b := c.servers.data[0], talk(t, c, 1), talk(t, c, 2)
		wa, wb := a.to(n.addr), b.to(n.addr)
		wa.wants("SET k 1 NX", "+OK")
		there, back := world.Link{From: "client-1", To: "redis-1"}, world.Link{From: "redis-1", To: "client-1"}

		// Cut: the data is held and delivered after the heal.
		_ = c.SetLinks(ctx, []world.Link{back}, world.LinkState{Cut: true})
		wa.wants("INCR k", "timeout")
		wb.wants("GET k", `"2"`)
		_ = c.SetLinks(ctx, []world.Link{back}, world.LinkState{})
		if got := wa.hear(); got != ":2" {
			t.Errorf("after the heal: %q, want the answer that was held", got)
		}
		_ = c.SetLinks(ctx, []world.Link{there}, world.LinkState{Cut: true})
		wa.wants("INCR k", "timeout")
		wb.wants("GET k", `"2"`)
		short, cancel := context.WithTimeout(ctx, time.Second)
		if _, err := a.open(short, n.addr); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("dial over a cut link: %v", err)
		}
		cancel()
		_ = c.SetLinks(ctx, []world.Link{there}, world.LinkState{})
		if got := wa.hear(); got != ":3" {
			t.Errorf("after the heal: %q", got)
		}

		// Lag: answers are late until the fault is undone.
		_ = c.SetLinks(ctx, []world.Link{there}, world.LinkState{Delay: world.Delay{By: 300 * time.Millisecond}})
		began := time.Now()
		wa.wants("GET k", `"3"`)
		if d := time.Since(began); d < 300*time.Millisecond {
			t.Errorf("an answer over a link that is late by 300 ms took %v", d)
		}
		_ = c.SetLinks(ctx, []world.Link{there}, world.LinkState{Delay: world.Delay{By: time.Hour}})
		wa.wants("INCR k", "timeout")
		_ = c.SetLinks(ctx, []world.Link{there}, world.LinkState{})
		if got := wa.hear(); got != ":4" {
			t.Errorf("after the lag: %q", got)
		}

		// Jitter: each answer has another delay within the bounds.
		_ = c.SetLinks(ctx, []world.Link{there}, world.LinkState{Delay: world.Delay{By: 300 * time.Millisecond, Jitter: 100 * time.Millisecond}})
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
		_ = c.SetLinks(ctx, []world.Link{there}, world.LinkState{})

		// Bandwidth: a long message takes time, and the next messages wait.
		_ = c.SetLinks(ctx, []world.Link{there}, world.LinkState{Rate: 1000})
		began = time.Now()
		if err := c.Ping(ctx, there.From, there.To, 2000); err != nil {
			t.Error(err)
		}
		if d := time.Since(began); d < 2*time.Second || d > 2200*time.Millisecond {
			t.Errorf("2000 bytes took %v through a link of 1 kB/s", d)
		}
		_ = c.SetLinks(ctx, []world.Link{there}, world.LinkState{})
		began = time.Now()
		if err := c.Ping(ctx, there.From, there.To, 2000); err != nil || time.Since(began) > 100*time.Millisecond {
			t.Errorf("through a link that is wide again: %v, %v", time.Since(began), err)
		}

		// Dropped replies: the request is executed, its reply never arrives, and the connection ends with the heal.
		_ = c.SetLinks(ctx, []world.Link{back}, world.LinkState{Drop: true})
		wa.wants("INCR k", "timeout")
		_ = c.SetLinks(ctx, []world.Link{back}, world.LinkState{})
		// Either the write or the read returns the error.
		if said := wa.say("GET k"); !strings.Contains(said, "connection reset") && !strings.Contains(said, "broken pipe") {
			t.Errorf("on a connection that lost a reply: %s", said)
		}
		wb.wants("GET k", `"5"`)
		wa = a.to(n.addr)
		wa.wants("GET k", `"5"`)

		// The end on one link does not end the connections on another one.
		other := world.Link{From: "redis-1", To: "client-2"}
		_ = c.SetLinks(ctx, []world.Link{back, other}, world.LinkState{Drop: true})
		wa.wants("INCR k", "timeout")
		wb.wants("INCR k", "timeout")
		_ = c.SetLinks(ctx, []world.Link{back}, world.LinkState{})
		wb.wants("INCR k", "timeout")
		_ = c.SetLinks(ctx, []world.Link{other}, world.LinkState{})
		a.to(n.addr).wants("GET k", `"8"`)
	})
}

func TestKillAndPause(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		settings := map[string]string{"appendonly": map[bool]string{true: "yes", false: "no"}[keeps]}
		in(t, redistest.Spec(locks.Single, world.Spec{Settings: settings}),
			func(t *testing.T, ctx context.Context, c *trial) {
				n, a := c.servers.data[0], talk(t, c, 1)
				w := a.to(n.addr)
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
				if w = a.to(n.addr); keeps {
					w.wants("TTL k", ":6") // time has passed meanwhile
				} else {
					w.wants("GET k", "nil")
				}
				_ = c.Kill(ctx, n.Name)
				_ = c.Start(ctx, n.Name, false)
				w = a.to(n.addr)
				w.wants("DBSIZE", ":0")

				// Paused: the connection stays open, and the request is executed late.
				_ = c.PauseNode(ctx, n.Name)
				w.wants("INCR k", "timeout")
				if err := c.Ping(deadline(t, ctx), "client-1", n.Name, 0); err == nil {
					t.Error("a stopped server answers a PING")
				}
				_ = c.ResumeNode(ctx, n.Name)
				if got := w.hear(); !strings.Contains(got, ":1") {
					t.Errorf("after the resume: %q", got)
				}
			})
	}
}

// After a loss of power a server has what its policy had flushed.
func TestLosePower(t *testing.T) {
	for policy, want := range map[string]string{
		"": "a b c", "always": "b c d e f", "everysec": "a b c", "no": "",
	} {
		settings := map[string]string{"appendonly": "yes"}
		if policy != "" {
			settings["appendfsync"] = policy
		}
		in(t, redistest.Spec(locks.Single, world.Spec{Settings: settings}), func(t *testing.T, ctx context.Context, c *trial) {
			n, a := c.servers.data[0], talk(t, c, 1)
			w := a.to(n.addr)
			w.wants("SET a 1", "+OK") // flushed at once: nothing was before
			time.Sleep(3 * time.Second)
			w.wants("SET b 1", "+OK") // flushed at once: nothing was for a second
			w.wants("SET c 1", "+OK") // flushed a second later
			time.Sleep(1500 * time.Millisecond)
			w.wants("SET d 1", "+OK")
			w.wants("DEL a", ":1")
			w.wants("SET e 1", "+OK")
			w.wants("SET f 1", "+OK")
			_ = c.Kill(ctx, n.Name)
			said, err := c.LosePower(ctx, n.Name, world.NamesLost)
			if err != nil {
				t.Error(err)
			}
			_ = c.Start(ctx, n.Name, true)
			w = a.to(n.addr)
			var kept []string
			for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
				w.say("GET " + key)
				if got := w.say("EXISTS " + key); got == ":1" {
					kept = append(kept, key)
				}
			}
			if got := strings.Join(kept, " "); got != want {
				t.Errorf("appendfsync %q: %q are left, want %q (%s)", policy, got, want, said)
			}
		})
	}
}

func deadline(t *testing.T, ctx context.Context) context.Context {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// A write that no replica has received is lost with its master.
func TestReplication(t *testing.T) {
	in(t, redistest.Spec(locks.Replicated, world.Spec{}), func(t *testing.T, ctx context.Context, c *trial) {
		a := talk(t, c, 1)
		master, replica := c.servers.data[0], c.servers.data[1]
		w, err := a.open(ctx, c.servers.address)
		if err != nil {
			t.Error(err)
			return
		}
		r := a.to(replica.addr)
		w.wants("SET k mine PX 10000", "+OK")
		w.wants("HSET h f 1", ":1")
		w.wants("WAIT 2 1000", ":2")
		r.wants("GET k", "mine")
		r.wants("HGET h f", "1")
		r.wants("SET k theirs", "READONLY")
		r.wants("EVAL return(redis.call('set',KEYS[1],'x')) 1 k", "READONLY")
		time.Sleep(5 * time.Second)
		r.wants("TTL k", ":5") // the replica has the time of the end and not the remaining time

		streams := []world.Link{{From: "redis-1", To: "redis-2"}, {From: "redis-1", To: "redis-3"}}
		_ = c.SetLinks(ctx, streams, world.LinkState{Delay: world.Delay{By: time.Minute}})
		w.wants("SET lost 1", "+OK")
		w.wants("WAIT 1 100", ":0")
		_ = c.Kill(ctx, master.Name)
		now, err := c.servers.Abilities().Promote(ctx, "redis-2")
		if err != nil || now != "redis-2" {
			t.Errorf("promote: %q, %v", now, err)
		}
		w.wants("GET k", "EOF")
		if w, err = a.open(ctx, c.servers.address); err != nil {
			t.Error(err)
			return
		}
		w.wants("GET lost", "nil")
		w.wants("GET h", "WRONGTYPE")
		w.wants("SET new 1", "+OK")
		_ = c.SetLinks(ctx, streams, world.LinkState{})
		_ = c.Start(ctx, master.Name, true)
		time.Sleep(3 * time.Second)
		if err := c.Healthy(ctx); err != nil {
			t.Errorf("after the heal: %v", err)
		}
		old := a.to(master.addr)
		old.wants("GET new", "1")
		old.wants("SET new 2", "READONLY")
	})
}

func TestMinReplicas(t *testing.T) {
	spec := redistest.Spec(locks.Replicated, world.Spec{Settings: map[string]string{"min-replicas-to-write": "1", "min-replicas-max-lag": "2"}})
	in(t, spec, func(t *testing.T, ctx context.Context, c *trial) {
		w := talk(t, c, 1).to(c.servers.data[0].addr)
		w.wants("SET k 1", "+OK")
		_ = c.SetLinks(ctx, []world.Link{{From: "redis-2", To: "redis-1"}, {From: "redis-3", To: "redis-1"}}, world.LinkState{Cut: true})
		time.Sleep(4 * time.Second)
		w.wants("SET k 2", "NOREPLICAS")
	})
	err := run(t, Model{}, redistest.Spec(locks.Single, world.Spec{Settings: map[string]string{"maxmemory": "1mb"}}), nil)
	if !errors.As(err, new(world.Unsupported)) || !strings.Contains(err.Error(), "maxmemory") {
		t.Errorf("a setting that is not modelled: %v", err)
	}
}

// A master counts a replica that is cut off, and one whose process ended only after it is back.
func TestConnectedReplicas(t *testing.T) {
	in(t, redistest.Spec(locks.Replicated, world.Spec{}), func(t *testing.T, ctx context.Context, c *trial) {
		w := talk(t, c, 1).to(c.servers.data[0].addr)
		w.wants("INFO replication", "connected_slaves:2")
		cut := []world.Link{{From: "redis-2", To: "redis-1"}, {From: "redis-1", To: "redis-2"}}
		_ = c.SetLinks(ctx, cut, world.LinkState{Cut: true})
		_ = c.Kill(ctx, "redis-3")
		time.Sleep(time.Second)
		w.wants("INFO replication", "connected_slaves:1")
		_ = c.SetLinks(ctx, cut, world.LinkState{})
		_ = c.Start(ctx, "redis-3", true)
		time.Sleep(time.Second)
		w.wants("INFO replication", "connected_slaves:2")
	})
}

// Sentinels notice the failure, agree, promote a replica and announce it. The old master returns as a replica.
func TestSentinels(t *testing.T) {
	took := map[bool]int{}
	for seed := uint64(1); seed <= 20; seed++ {
		in(t, redistest.Spec(locks.Sentinel, world.Spec{Seed: seed}), func(t *testing.T, ctx context.Context, c *trial) {
			k := talk(t, c, 3) // its queries go to the first sentinel
			w := k.to(c.servers.sentinels[0].addr)
			w.wants("SENTINEL get-master-addr-by-name mymaster", "10.0.0.1")
			w.wants("SENTINEL get-master-addr-by-name other", "nil list")
			w.wants("SUBSCRIBE +switch-master", "subscribe")
			var others []*wire
			for i, s := range c.servers.sentinels[1:] {
				other := talk(t, c, 4+i).to(s.addr)
				other.wants("SUBSCRIBE +switch-master", "subscribe")
				others = append(others, other)
			}
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
			for _, other := range others {
				if got := other.hearWithin(20 * time.Second); !strings.Contains(got, "mymaster 10.0.0.1 6379 10.0.0.") {
					t.Errorf("another sentinel did not announce the switch: %q", got)
				}
			}
			now, err := c.Leader(ctx)
			if err != nil || now == "redis-1" {
				t.Errorf("the master is %q, %v", now, err)
			}
			_ = c.Start(ctx, "redis-1", true)
			time.Sleep(8 * time.Second)
			if err := c.Healthy(ctx); err != nil {
				t.Errorf("seed %d, after the heal: %v", seed, err)
			}
			if masters := c.Leaders(ctx); len(masters) != 1 || masters[0] != now {
				t.Errorf("masters are %v, want %s", masters, now)
			}
		})
	}
	if took[true] < 15 {
		t.Errorf("%d of 20 switches took less than 4 s", took[true])
	}
}

// A master that is cut off continues to grant to the clients on its side, and loses these grants when it returns.
func TestIsolatedMaster(t *testing.T) {
	in(t, redistest.Spec(locks.Sentinel, world.Spec{}), func(t *testing.T, ctx context.Context, c *trial) {
		inside, outside := talk(t, c, 1), talk(t, c, 2)
		w := inside.to(c.servers.data[0].addr)
		var links []world.Link
		for _, n := range c.servers.seats[1:] {
			links = append(links, world.Link{From: "redis-1", To: n.Name}, world.Link{From: n.Name, To: "redis-1"})
		}
		_ = c.SetLinks(ctx, links, world.LinkState{Cut: true})
		time.Sleep(6 * time.Second)
		now, err := c.Leader(ctx)
		if err != nil || now == "redis-1" {
			t.Errorf("the majority names %q, %v", now, err)
			return
		}
		w.wants("SET k inside NX", "+OK")
		n := c.servers.node(now)
		outside.to(n.addr).wants("SET k outside NX", "+OK")
		_ = c.SetLinks(ctx, links, world.LinkState{})
		time.Sleep(8 * time.Second)
		if err := c.Healthy(ctx); err != nil {
			t.Errorf("after the heal: %v", err)
		}
		w.wants("GET k", "EOF")
		inside.to(c.servers.data[0].addr).wants("GET k", "outside")
	})
}

func TestPromoteBySentinels(t *testing.T) {
	in(t, redistest.Spec(locks.Sentinel, world.Spec{}), func(t *testing.T, ctx context.Context, c *trial) {
		now, err := c.servers.Abilities().Promote(ctx, "redis-3")
		if err != nil || now != "redis-3" {
			t.Errorf("promote redis-3: %q, %v", now, err)
		}
		time.Sleep(6 * time.Second)
		if err := c.Healthy(ctx); err != nil {
			t.Error(err)
		}
	})
}

// If the sentinels give up a failover because no replica answers, it is ordered again. It fails when the caller stops
// waiting.
func TestPromoteIsOrderedAgain(t *testing.T) {
	in(t, redistest.Spec(locks.Sentinel, world.Spec{}), func(t *testing.T, ctx context.Context, c *trial) {
		ctx, cancel := context.WithTimeout(ctx, 4*redis.FailoverLimit) // an endless wait fails here
		defer cancel()
		var links []world.Link
		for _, w := range c.servers.sentinels {
			for _, replica := range c.servers.data[1:3] {
				links = append(links, world.Link{From: replica.Name, To: w.Name}, world.Link{From: w.Name, To: replica.Name})
			}
		}
		_ = c.SetLinks(ctx, links, world.LinkState{Cut: true})
		hears := func() bool {
			c.servers.mu.Lock()
			defer c.servers.mu.Unlock()
			return slices.ContainsFunc(c.servers.sentinels, func(w *sentinel) bool {
				return slices.ContainsFunc(c.servers.data[1:3], func(replica *node) bool { return !w.isDown(replica.Name, time.Now()) })
			})
		}
		for hears() { // until all sentinels consider both replicas dead
			select {
			case <-time.After(lookPeriod):
			case <-ctx.Done():
				t.Error("a sentinel still hears a replica that is cut off")
				return
			}
		}
		began := time.Now()
		if _, err := c.servers.Abilities().Promote(ctx, ""); err == nil || time.Since(began) != redis.FailoverLimit {
			t.Errorf("promote without replicas: %v after %s; want an error after %s", err, time.Since(began), redis.FailoverLimit)
		}
		time.AfterFunc(2*redis.OrderEvery, func() { _ = c.SetLinks(ctx, links, world.LinkState{}) })
		if now, err := c.servers.Abilities().Promote(ctx, ""); err != nil || now == "redis-1" {
			t.Errorf("promote, and the replicas come back: %q, %v", now, err)
		}
	})
}

// A command that is not covered is refused and makes the run fail.
func TestUncoveredIsLoud(t *testing.T) {
	err := run(t, Model{}, redistest.Spec(locks.Single, world.Spec{}), func(_ context.Context, c *trial) error {
		w := talk(t, c, 1).to(c.servers.data[0].addr)
		w.wants("OBJECT ENCODING k", "-ERR the simulation does not cover")
		w.wants("SET k v EX 1 FANCY", "-ERR the simulation does not cover")
		w.wants("GET k", "nil")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "OBJECT ENCODING") {
		t.Errorf("the run ended with %v; want an error that names the command", err)
	}
	err = run(t, Model{}, redistest.Spec(locks.Single, world.Spec{}), func(_ context.Context, c *trial) error {
		talk(t, c, 1).to(c.servers.data[0].addr).wants("EVAL return(redis.call('object','encoding','k')) 0", "ERR")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "OBJECT") {
		t.Errorf("the run with a script ended with %v", err)
	}
}

// A lost answer: the server has executed the request. The connection ends, or stays silent while the server executes further
// requests. Other connections are not affected.
func TestLoseReply(t *testing.T) {
	in(t, redistest.Spec(locks.Single, world.Spec{}), func(t *testing.T, ctx context.Context, c *trial) {
		ended, silent, other := talk(t, c, 1).to(c.servers.data[0].addr), talk(t, c, 1).to(c.servers.data[0].addr), talk(t, c, 1).to(c.servers.data[0].addr)
		reply := c.Requests("client-1").HoldReply(1)
		if got := ended.say("SET a mine"); !strings.Contains(got, "timeout") {
			t.Errorf("heard %q before it is lost", got)
		}
		reply.Lose(false)
		reply.GoOn()
		if got := ended.say("PING"); !strings.Contains(got, "reset") && !strings.Contains(got, "broken pipe") {
			t.Errorf("the connection that has lost an answer says %q", got)
		}
		other.wants("GET a", "mine")
		reply = c.Requests("client-1").HoldReply(1)
		if got := silent.say("SET b mine"); !strings.Contains(got, "timeout") {
			t.Errorf("heard %q before it is lost", got)
		}
		reply.Lose(true)
		reply.GoOn()
		if got := silent.say("SET c mine"); !strings.Contains(got, "timeout") {
			t.Errorf("heard %q in silence", got)
		}
		other.wants("GET b", "mine")
		other.wants("GET c", "mine")
	})
}

// The answer to a client's second request is held after the server has executed the request.
func TestHoldReply(t *testing.T) {
	in(t, redistest.Spec(locks.Single, world.Spec{}), func(t *testing.T, ctx context.Context, c *trial) {
		w := talk(t, c, 1).to(c.servers.data[0].addr)
		w.wants("PING", "+PONG")
		reply := c.Requests("client-1").HoldReply(2)
		w.wants("SETNX a mine", ":1")
		if got := w.say("PEXPIRE a 5000"); !strings.HasPrefix(got, "read:") {
			t.Errorf("heard %q, and the answer was to be kept back", got)
		}
		select {
		case <-reply.Reached():
		default:
			t.Error("the answer has not come back from the server")
		}
		talk(t, c, 2).to(c.servers.data[0].addr).wants("PTTL a", ":4")
		reply.GoOn()
		reply.GoOn()
		if got := w.hear(); !strings.Contains(got, ":1") {
			t.Errorf("heard %q after it was let go, want :1", got)
		}
	})
}
