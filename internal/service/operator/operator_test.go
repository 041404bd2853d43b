package operator

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/internal/service"
	"lockbench/locks"
)

// fake is three nodes, and what was done to them.
type fake struct {
	mu      sync.Mutex
	states  map[string]State
	down    map[string]bool // does not run
	cut     map[string]bool // no other node reaches it
	led     string
	asked   func(node string) // called before a node says how it is
	done    []string
	setting map[string]string
}

var errDown = errors.New("it does not run")

func newFake() *fake {
	f := &fake{states: map[string]State{}, down: map[string]bool{}, cut: map[string]bool{}, led: "db-1", setting: map[string]string{}}
	f.states["db-1"] = State{Leads: true, Received: 10}
	for _, name := range []string{"db-2", "db-3"} {
		f.states[name] = State{Streams: true, Follows: f.AddrFor(name, "db-1", 0), Received: 10}
	}
	return f
}

func (f *fake) did(text string) { f.done = append(f.done, text) }

func (f *fake) change(name string, to func(*State)) {
	s := f.states[name]
	to(&s)
	f.states[name] = s
}

func (f *fake) State(_ context.Context, node string) (State, error) {
	if f.asked != nil {
		f.asked(node)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down[node] {
		return State{}, errDown
	}
	return f.states[node], nil
}

func (f *fake) Promote(_ context.Context, node string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.did("promote " + node)
	f.change(node, func(s *State) { *s = State{Leads: true, Received: s.Received} })
	return nil
}

// Follow of the database: the node streams from there at once, if it can.
func (f *fake) point(node string, leader netip.AddrPort) {
	f.change(node, func(s *State) { s.Leads, s.Streams, s.Follows = false, s.Broken == nil, leader })
}

type db struct{ *fake }

func (d db) Follow(_ context.Context, node string, leader netip.AddrPort) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.did("point " + node)
	d.point(node, leader)
	return nil
}

func (d db) Started(context.Context, string, *netip.AddrPort) error { return nil }

func (f *fake) Addr(string) netip.AddrPort { return netip.AddrPort{} }

func (f *fake) AddrFor(_, node string, _ int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, node[len(node)-1] - '0'}), 1)
}
func (f *fake) Dial(context.Context, string) (net.Conn, error) { return nil, errDown }
func (f *fake) Follow(string, netip.AddrPort) error            { return nil }
func (f *fake) Settings() map[string]string                    { return f.setting }

func (f *fake) Status(node string) service.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down[node] {
		return service.Status{Why: errDown}
	}
	return service.Status{Running: true}
}

func (f *fake) Lead(node string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.led = node
	return nil
}

func (f *fake) Reaches(_ context.Context, from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down[to] || f.cut[from] || f.cut[to] {
		return errDown
	}
	return nil
}

func (f *fake) Renew(_ context.Context, node string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down[node] {
		return errDown
	}
	f.did("renew " + node)
	f.states[node] = State{Streams: true, Follows: f.AddrFor(node, f.led, 0), Received: 1}
	return nil
}

func (f *fake) said() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	done := f.done
	f.done = nil
	return done
}

func operated(t *testing.T, name locks.Topology) (*fake, *Operator) {
	t.Helper()
	all := Topologies("db")
	i := slices.IndexFunc(all, func(form service.Topology) bool { return form.Name == name })
	f := newFake()
	return f, New(all[i], f, db{f})
}

func wants(t *testing.T, f *fake, when string, done ...string) {
	t.Helper()
	if got := f.said(); !slices.Equal(got, done) {
		t.Errorf("%s it did %q, want %q", when, got, done)
	}
}

// The replica that has received most replaces a lost leader after no node has reached that for long
// enough; the old leader gets fresh data.
func TestReplace(t *testing.T) {
	f, o := operated(t, Managed)
	ctx := t.Context()
	o.look(ctx, 0)
	wants(t, f, "while all is well")
	if err := o.Healthy(ctx); err != nil {
		t.Errorf("all is well, and it says %v", err)
	}
	f.down["db-1"] = true
	f.change("db-3", func(s *State) { s.Received = 12 })
	o.look(ctx, time.Hour)
	wants(t, f, "before the time is over")
	o.look(ctx, 0)
	wants(t, f, "when the leader is lost", "promote db-3", "point db-2")
	if leader, _ := o.Leader(ctx); leader != "db-3" || f.led != "db-3" {
		t.Errorf("the leader is %s, and clients are led to %s", leader, f.led)
	}
	o.look(ctx, 0)
	wants(t, f, "while the old one is down")
	f.down["db-1"] = false
	if err := o.Healthy(ctx); err == nil || !strings.Contains(err.Error(), "db-1 leads, and so does db-3") {
		t.Errorf("two lead, and it says %v", err)
	}
	o.look(ctx, 0)
	wants(t, f, "when the old one is back", "renew db-1")
	if err := o.Healthy(ctx); err != nil {
		t.Errorf("all is well again, and it says %v", err)
	}
}

// A leader that the others do not reach is replaced although it runs, and left alone until they do.
func TestCutOff(t *testing.T) {
	f, o := operated(t, Managed)
	f.cut["db-1"] = true
	f.change("db-1", func(s *State) { s.Received = 99 })
	o.look(t.Context(), 0)
	wants(t, f, "when the leader is cut off", "promote db-2", "point db-3")
	o.look(t.Context(), 0)
	wants(t, f, "while it is cut off")
	if leaders := o.Leaders(t.Context()); !slices.Equal(leaders, []string{"db-1", "db-2"}) {
		t.Errorf("leaders are %v", leaders)
	}
	f.cut["db-1"] = false
	o.look(t.Context(), 0)
	wants(t, f, "when it is reached", "renew db-1")
}

// A replica that is cut off is not promoted, even if it has received most.
func TestNoReplicaToPromote(t *testing.T) {
	f, o := operated(t, Managed)
	f.down["db-1"], f.down["db-2"], f.cut["db-3"] = true, true, true
	o.look(t.Context(), 0)
	wants(t, f, "when no node is reached")
}

// In a topology without a failover manager, a lost leader stays lost unless a step promotes a replica.
func TestReplicated(t *testing.T) {
	f, o := operated(t, locks.Replicated)
	f.down["db-1"] = true
	o.look(t.Context(), 0)
	wants(t, f, "when the leader is lost")
	if _, err := o.Promote(t.Context(), "db-1"); err == nil {
		t.Error("the leader is promoted")
	}
	if now, err := o.Promote(t.Context(), "db-2"); now != "db-2" || err != nil {
		t.Errorf("promoted %s, %v", now, err)
	}
	wants(t, f, "when it is ordered", "promote db-2", "point db-3")
}

// A replica that has received more than the leader, or cannot follow, gets fresh data. One that only
// hears nothing is pointed to the leader first.
func TestMend(t *testing.T) {
	f, o := operated(t, Managed)
	f.change("db-2", func(s *State) { s.Received, s.Streams = 11, false })
	f.change("db-3", func(s *State) { s.Streams = false })
	o.look(t.Context(), 0)
	wants(t, f, "when one is ahead and one is silent", "renew db-2", "point db-3")
	f.change("db-3", func(s *State) { s.Streams, s.Broken = false, errors.New("its log is lost") })
	o.look(t.Context(), 0)
	wants(t, f, "when one cannot follow", "renew db-3")
	f.change("db-3", func(s *State) { s.Streams = false })
	f.cut["db-3"] = true
	o.look(t.Context(), 0)
	wants(t, f, "when the silent one is not reached")
}

// A node that a step promotes while the operator queries the nodes is not renewed as a second leader:
// the locks that it has granted would be lost.
func TestPromotedMeanwhile(t *testing.T) {
	f, o := operated(t, Managed)
	f.asked = func(node string) {
		if node == "db-3" && o.Lead() == "db-1" {
			if _, err := o.Promote(t.Context(), node); err != nil {
				t.Error(err)
			}
		}
	}
	o.look(t.Context(), time.Hour)
	if did := f.said(); slices.Contains(did, "renew db-3") || f.led != "db-3" {
		t.Errorf("%s leads, and was done %v", f.led, did)
	}
	o.look(t.Context(), time.Hour)
	if did := f.said(); !slices.Equal(did, []string{"renew db-1"}) {
		t.Errorf("then was done %v", did)
	}
}

func TestWait(t *testing.T) {
	f, o := operated(t, Managed)
	for text, want := range map[string]time.Duration{"300ms": 300 * time.Millisecond, "soon": 0, "-1s": 0} {
		f.setting[FailoverAfter] = text
		got, err := o.wait()
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// A sketch has nodes, and no servers to query.
func TestSketch(t *testing.T) {
	form := Topologies("db")[2]
	o := New(form, struct{ service.Host }{}, nil)
	if len(o.Nodes()) != 3 || o.Lead() != "db-1" {
		t.Errorf("nodes %v, lead %s", o.Nodes(), o.Lead())
	}
}
