package nemesis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/service"
	"lockbench/internal/service/redis"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/workloads"
)

// fake is a cluster that records operations and answers PINGs according to them. Like a real cluster, it refuses to start a
// running server, and to stop or continue a dead one.
type fake struct {
	form    service.Topology
	nodes   []service.Node
	latency time.Duration // the latency of a PING without faults

	mu       sync.Mutex
	master   string
	useless  map[string]bool  // operations that return ok and do nothing
	failing  map[string]error // operations that take effect and then return an error
	dead     map[string]bool
	stopped  map[string]bool
	links    map[world.Link]world.LinkState
	kept     map[string]time.Time // the end of each key
	asked    int
	nudges   []time.Time
	promoted string
	skew     map[string]time.Duration
	busy     map[string]bool
	poisoned map[string]bool
	conns    int // connections that can be reset
	calls    []string
	probed   map[string]bool // the paths of all PINGs
}

var _ world.Cluster = (*fake)(nil)

func newFake(form locks.Topology, masters int) *fake {
	on := service.None
	if form != locks.None {
		on, _ = service.Find(redis.Service, form)
		if masters > 0 && on.Leads == service.EachLeads {
			on = on.Sized(masters)
		}
	}
	f := &fake{
		form: on, nodes: on.Nodes(),
		useless: map[string]bool{}, failing: map[string]error{}, dead: map[string]bool{}, stopped: map[string]bool{},
		links: map[world.Link]world.LinkState{}, probed: map[string]bool{},
		skew: map[string]time.Duration{}, busy: map[string]bool{}, poisoned: map[string]bool{}, conns: 3,
	}
	if len(f.nodes) > 0 {
		f.master = f.nodes[0].Name
	}
	return f
}

func (f *fake) Nodes() []service.Node         { return f.nodes }
func (f *fake) Topology() service.Topology    { return f.form }
func (f *fake) Healthy(context.Context) error { return nil }

func (f *fake) Open(context.Context, world.ClientSpec) (world.Client, error) {
	return nil, errors.New("no clients here")
}

func (f *fake) Leader(context.Context) (string, error) {
	if f.form.Leads == service.EachLeads {
		return "", errors.New("independent masters have none")
	}
	return f.master, nil
}

func (f *fake) Leaders(context.Context) []string {
	if f.form.Leads == service.EachLeads {
		return dataNodes(f)
	}
	return []string{f.master}
}

// do executes an operation of a fault, as the test configures it.
func (f *fake) do(op string, change func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, op)
	if f.useless[op] {
		return nil
	}
	return errors.Join(change(), f.failing[op])
}

func (f *fake) Kill(_ context.Context, node string) error {
	return f.do("kill", func() error { f.dead[node] = true; delete(f.stopped, node); return nil })
}

func (f *fake) Start(_ context.Context, node string, keepData bool) error {
	return f.do(fmt.Sprintf("start keepData=%v", keepData), func() error {
		if !f.dead[node] {
			return fmt.Errorf("start %s: it is running", node)
		}
		delete(f.dead, node)
		return nil
	})
}

func (f *fake) LosePower(_ context.Context, node string, names world.Names) (string, error) {
	return "lost 1 byte", f.do(fmt.Sprintf("lose power, names %s", names), func() error {
		if !f.dead[node] {
			return fmt.Errorf("lose the power of %s: it is running", node)
		}
		return nil
	})
}

func (f *fake) PauseNode(_ context.Context, node string) error {
	return f.do("pause", func() error {
		if f.dead[node] {
			return fmt.Errorf("pause %s: it has ended", node)
		}
		f.stopped[node] = true
		return nil
	})
}

func (f *fake) ResumeNode(_ context.Context, node string) error {
	return f.do("resume", func() error {
		if f.dead[node] {
			return fmt.Errorf("resume %s: it has ended", node)
		}
		delete(f.stopped, node)
		return nil
	})
}

// SetLinks is named for the first part of the state.
func (f *fake) SetLinks(_ context.Context, links []world.Link, s world.LinkState) error {
	op := "heal links"
	switch {
	case s.Cut:
		op = "cut"
	case s.Drop:
		op = "drop"
	case s.Delay.By > 0:
		op = "delay"
	case s.Rate > 0:
		op = "narrow"
	}
	return f.do(op, func() error {
		for _, l := range links {
			if f.links[l] = s; s == (world.LinkState{}) {
				delete(f.links, l)
			}
		}
		return nil
	})
}

func (f *fake) Abilities() service.Abilities {
	return service.Abilities{
		Promote: f.Promote, Offsets: f.Offsets, Nudge: f.Nudge, TTL: f.TTL, ClockOffset: f.ClockOffset,
		Orders: map[string]service.Order{
			service.OrderFlush:           service.OnNode(f.Flush),
			service.OrderEvict:           service.OnNode(f.Evict),
			service.OrderPoison:          service.OnKey(f.Poison),
			service.OrderCure:            service.OnKey(f.Cure),
			service.OrderBusy:            func(ctx context.Context, to service.OrderArgs) error { return f.Busy(ctx, to.Node, to.For) },
			service.OrderDropSubscribers: service.OnNode(f.DropSubscribers),
		},
	}
}

func (f *fake) Flush(context.Context, string) error {
	return f.do("flush", func() error { return nil })
}

func (f *fake) Evict(context.Context, string) error {
	return f.do("evict", func() error { return nil })
}

func (f *fake) Poison(_ context.Context, node, key string) error {
	return f.do("poison", func() error { f.poisoned[node+" "+key] = true; return nil })
}

func (f *fake) Cure(_ context.Context, node, key string) error {
	return f.do("cure", func() error { delete(f.poisoned, node+" "+key); return nil })
}

func (f *fake) Busy(_ context.Context, node string, d time.Duration) error {
	return f.do("busy", func() error {
		f.busy[node] = true
		time.AfterFunc(d, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			delete(f.busy, node)
		})
		return nil
	})
}

func (f *fake) DropSubscribers(context.Context, string) error {
	return f.do("drop subscribers", func() error { return nil })
}

func (f *fake) Reset(context.Context, []world.Link) (n int, err error) {
	err = f.do("reset", func() error { n = f.conns; return nil })
	return n, err
}

// keeps sets the time to live of a key.
func (f *fake) keeps(key string, ttl time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept = map[string]time.Time{key: time.Now().Add(ttl)}
}

// TTL sometimes answers late, with the value at the time of the query.
func (f *fake) TTL(_ context.Context, key string) (time.Duration, string, error) {
	f.mu.Lock()
	ttl := time.Until(f.kept[key])
	f.asked++
	late := f.asked%3 == 0
	f.mu.Unlock()
	if late {
		time.Sleep(300 * time.Millisecond)
	}
	return ttl, f.master, nil
}

func (f *fake) Requests(string) world.Requests { return nil }

func (f *fake) ShiftClientClock(client int, by time.Duration, drift float64) error {
	return f.ShiftClock(context.Background(), history.ClientParty(client).String(), by, drift)
}

func (f *fake) ClientClockOffset(client int) (time.Duration, error) {
	return f.ClockOffset(context.Background(), history.ClientParty(client).String())
}

func (f *fake) ShiftClock(_ context.Context, node string, by time.Duration, _ float64) error {
	op := "shift"
	if by == 0 {
		op = "put right"
	}
	return f.do(op, func() error {
		f.skew[node] = by
		if by == 0 {
			delete(f.skew, node)
		}
		return nil
	})
}

func (f *fake) ClockOffset(_ context.Context, node string) (time.Duration, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.skew[node], nil
}

func (f *fake) Promote(_ context.Context, node string) (string, error) {
	err := f.do("promote", func() error { f.promoted = node; return nil })
	return node, err
}

func (f *fake) Ping(ctx context.Context, from, to string, bytes int) error {
	there, back := world.Link{From: from, To: to}, world.Link{From: to, To: from}
	f.mu.Lock()
	f.probed[there.String()] = true
	dead := f.dead[to]
	mute := f.stopped[to] || f.busy[to]
	takes := f.latency
	for _, link := range []world.Link{there, back} {
		s := f.links[link]
		mute = mute || s.Cut || s.Drop
		takes += s.Delay.By
		if s.Rate > 0 {
			takes += time.Duration(int64(bytes) * int64(time.Second) / s.Rate)
		}
	}
	f.mu.Unlock()
	switch {
	case dead:
		return errors.New("connection refused")
	case mute:
		<-ctx.Done()
		return ctx.Err()
	case takes == 0:
		// No timer for this: under the race detector, a timer channel that is due at
		// once crashes the Go 1.26 runtime in virtual time.
		return ctx.Err()
	}
	select {
	case <-time.After(takes):
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fake) Nudge(context.Context, string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nudges = append(f.nudges, time.Now())
	return nil
}

// Offsets returns the number of nudges. A replica has the nudges that are old enough.
func (f *fake) Offsets(context.Context) map[string]int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	offsets := map[string]int64{}
	for _, n := range f.nodes {
		if n.Role != service.Data || f.dead[n.Name] {
			continue
		}
		arrived := len(f.nudges)
		if n.Name != f.master {
			sent := time.Now().Add(-f.links[world.Link{From: f.master, To: n.Name}].Delay.By)
			arrived = sort.Search(len(f.nudges), func(i int) bool { return f.nudges[i].After(sent) })
		}
		offsets[n.Name] = int64(arrived)
	}
	return offsets
}

// state describes the current effects of faults. It is empty without any.
func (f *fake) state() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, n := range slices.Sorted(maps.Keys(f.dead)) {
		all = append(all, n+" dead")
	}
	for _, n := range slices.Sorted(maps.Keys(f.stopped)) {
		all = append(all, n+" stopped")
	}
	for _, n := range slices.Sorted(maps.Keys(f.busy)) {
		all = append(all, n+" busy")
	}
	for at := range f.poisoned {
		all = append(all, at+" poisoned")
	}
	for n, by := range f.skew {
		all = append(all, fmt.Sprintf("%s off by %s", n, by))
	}
	for l, s := range f.links {
		for how, is := range map[string]bool{
			"cut": s.Cut, "losing": s.Drop, fmt.Sprintf("narrowed to %d", s.Rate): s.Rate > 0, fmt.Sprintf("late by %s", s.Delay.By): s.Delay.By > 0,
		} {
			if is {
				all = append(all, l.String()+" "+how)
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// fakeCrew is a crew without real clients.
type fakeCrew struct {
	clients []int
	holders []workloads.Moment
	waiters []int
	err     error // of everything that is done

	mu     sync.Mutex
	paused map[int]bool
	killed []int
}

var _ Crew = (*fakeCrew)(nil)

func (c *fakeCrew) Clients() []int { return c.clients }
func (c *fakeCrew) Holders() []workloads.Moment {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.holders)
}
func (c *fakeCrew) Waiters() []int { return c.waiters }
func (c *fakeCrew) Keys() []string { return nil }

func (c *fakeCrew) Pause(_ context.Context, id int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused == nil {
		c.paused = map[int]bool{}
	}
	c.paused[id] = true
	return c.err
}

func (c *fakeCrew) Resume(_ context.Context, id int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.paused, id)
	return nil
}

func (c *fakeCrew) Kill(_ context.Context, id int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = append(c.killed, id)
	return c.err
}

func (c *fakeCrew) standing() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.paused))
}

// sceneOf returns a scene on a cluster with four clients. Client 2 holds the lock.
func sceneOf(c world.Cluster, nodes ...string) Scene {
	return Scene{
		Cluster: c,
		Crew: &fakeCrew{
			clients: []int{0, 1, 2, 3}, waiters: []int{0, 3},
			holders: []workloads.Moment{{Event: workloads.Acquired, Client: 2, Session: "2.7", Key: "a", Nodes: nodes}},
		},
		Rand:   rand.New(rand.NewPCG(1, 2)),
		Begin:  func([]string, string) {},
		claims: new(claims),
	}
}

// bare is a cluster whose servers have no abilities.
type bare struct{ world.Cluster }

func (bare) Abilities() service.Abilities { return service.Abilities{} }

// sketch is the plan of a cluster that does not stop clients between two requests.
func (f *fake) sketch() world.Sketch {
	return world.Sketch{Group: f, Requests: errors.New("this world cannot stop a client between two requests")}
}
