package report

import (
	"strconv"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
)

// script writes a history by hand, one call for each operation, in the order in
// which things happen. Times are milliseconds.
type script struct {
	t      *testing.T
	header history.Header
	events []history.Event
}

func newScript(t *testing.T, lock string) *script {
	return &script{t: t, header: history.Header{Lock: lock, Topology: "sentinel"}}
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func (s *script) add(e history.Event) int {
	e.Index = len(s.events)
	s.events = append(s.events, e)
	return e.Index
}

// call adds an invocation by client c; the process has the client's number.
func (s *script) call(at, c int, f, session string, with ...func(*history.Event)) int {
	return s.event(at, c, history.Invoke, f, session, with...)
}

func (s *script) event(at, c int, typ history.Type, f, session string, with ...func(*history.Event)) int {
	e := history.Event{Time: ms(at), Process: history.Process(c), Client: int32(c), Type: typ, F: f, Session: session}
	for _, w := range with {
		w(&e)
	}
	return s.add(e)
}

func key(k string) func(*history.Event) { return func(e *history.Event) { e.Key = k } }
func ttl(msec int) func(*history.Event) { return func(e *history.Event) { e.TTL = ms(msec) } }
func until(msec int) func(*history.Event) {
	return func(e *history.Event) { e.Until, e.HasUntil = ms(msec), true }
}
func failed(why string) func(*history.Event) { return func(e *history.Event) { e.Error = why } }
func value(v int64, resource string) func(*history.Event) {
	return func(e *history.Event) { e.Value, e.HasValue, e.Resource = v, true, resource }
}

// granted is an acquire of one key with a lease of 8 s that took a millisecond; it
// returns the position of the grant.
func (s *script) granted(at, c int, session, k string) int {
	s.call(at, c, history.Acquire, session, key(k), ttl(8000))
	return s.event(at+1, c, history.OK, history.Acquire, session, until(8000))
}

func (s *script) refused(at, c int, session, k string) {
	s.call(at, c, history.Acquire, session, key(k), ttl(8000))
	s.event(at+1, c, history.Fail, history.Acquire, session, failed(history.ErrorTaken))
}

func (s *script) checks(at, c int, session string) {
	s.call(at, c, history.Check, session)
	s.event(at+1, c, history.OK, history.Check, session)
}

func (s *script) reads(at, c int, session string, v int64) {
	s.call(at, c, history.FRead, session, func(e *history.Event) { e.Resource = history.Plain })
	s.event(at+1, c, history.OK, history.FRead, session, value(v, history.Plain))
}

func (s *script) writes(at, c int, session string, v int64) int {
	s.call(at, c, history.Write, session, value(v, history.Plain))
	return s.event(at+1, c, history.OK, history.Write, session, value(v, history.Plain))
}

func (s *script) releases(at, c int, session string) {
	s.call(at, c, history.Release, session)
	s.event(at+1, c, history.OK, history.Release, session)
}

func (s *script) nemesis(at, step int, fault, phase, text string, targets ...string) {
	s.add(history.Event{Time: ms(at), Process: history.Nemesis, Type: history.Info, F: fault,
		Extra: &history.Extra{Step: step, Phase: phase, Text: text, Targets: targets}})
}

func (s *script) probe(at int, facts map[string]any) {
	s.add(history.Event{Time: ms(at), Process: history.Probe, Type: history.Info, F: history.FProbe,
		Extra: &history.Extra{Facts: facts}})
}

// work is a whole tenure: granted, one read, one write, released.
func (s *script) work(at, c int, session, k string, from int64) {
	s.granted(at, c, session, k)
	s.reads(at+2, c, session, from)
	s.writes(at+4, c, session, from+1)
	s.releases(at+6, c, session)
}

func (s *script) history() *history.History {
	s.t.Helper()
	h, err := history.Build(s.header, s.events)
	if err != nil {
		s.t.Fatalf("the script is malformed: %v", err)
	}
	return h
}

// failover is the history of the famous bug: a master dies before its replicas
// have heard of a grant, and the new master grants the lock again.
func failover(t *testing.T) (*history.History, checker.Finding) {
	s := newScript(t, "set-nx")
	s.probe(0, map[string]any{"master": "redis-1", "ordered": false})
	s.work(10, 1, "1.1", "a", 0)
	s.work(30, 2, "2.1", "b", 0)
	s.probe(1000, map[string]any{"episode": 1})
	s.nemesis(1600, 1, "lag", history.Begins, "", "redis-2", "redis-3")
	s.nemesis(1602, 1, "lag", history.Bites, "redis-2 and redis-3 hear nothing more from redis-1", "redis-2", "redis-3")
	s.nemesis(1700, 9, "pause", history.Bites, "client-7 stands still", "client-7") // no concern of this story
	a := s.granted(1904, 3, "3.1", "a")
	s.reads(1906, 3, "3.1", 1)
	s.nemesis(1910, 2, "kill", history.Begins, "", "redis-1")
	s.nemesis(1911, 2, "kill", history.Bites, "redis-1 (master) is gone", "redis-1")
	for i := range 40 {
		s.refused(1950+10*i, 4, "4."+strconv.Itoa(i), "a")
	}
	s.probe(4102, map[string]any{"master": "redis-2", "ordered": false})
	b := s.granted(4212, 5, "5.1", "a")
	s.reads(4220, 5, "5.1", 1)
	s.writes(4240, 5, "5.1", 2)
	s.releases(4242, 5, "5.1")
	for i := range 84 {
		s.work(4300+30*i, 6, "6."+strconv.Itoa(i), "a", int64(2+i))
	}
	show := s.writes(7321, 3, "3.1", 2)
	s.releases(7330, 3, "3.1")
	s.nemesis(12000, 2, "kill", history.Healed, "", "redis-1")
	s.probe(14000, map[string]any{"episode": 2})
	s.work(14010, 1, "1.2", "a", 2)
	h := s.history()
	return h, checker.Finding{Rule: "two-holders", Class: checker.DoubleGrant, Key: "a", Text: "two hold a",
		Events: []int{a - 1, a, b - 1, b, show}, Sessions: []string{"3.1", "5.1"}, Event: b}
}

// overstay is what a pause does to every lease lock.
func overstay(t *testing.T) (*history.History, checker.Finding) {
	s := newScript(t, "redlock/nodes=3")
	s.probe(5, map[string]any{"episode": float64(3)})
	s.granted(100, 3, "3.1", "a")
	s.reads(105, 3, "3.1", 7)
	s.checks(120, 3, "3.1")
	s.call(130, 3, history.Write, "3.1", value(8, history.Plain))
	s.nemesis(131, 1, "pause", history.Begins, "", "client-3")
	s.nemesis(132, 1, "pause", history.Bites, "client-3 stands still", "client-3")
	b := s.granted(8200, 5, "5.1", "a")
	s.nemesis(9000, 1, "pause", history.Healed, "", "client-3")
	show := s.event(9002, 3, history.OK, history.Write, "3.1", value(8, history.Plain))
	s.reads(9004, 3, "3.1", 8)
	s.call(9010, 3, history.Release, "3.1")
	s.event(9011, 3, history.Fail, history.Release, "3.1", failed(history.ErrorNotHeld))
	s.writes(9020, 5, "5.1", 9)
	s.releases(9030, 5, "5.1")
	return s.history(), checker.Finding{Rule: "two-holders", Class: checker.Overstay, Key: "a", Text: "two hold a",
		Events: []int{1, 2, b - 1, b, show}, Sessions: []string{"3.1", "5.1"}, Event: show}
}

// foreign is a history from elsewhere: no plan, no probes, no values, no lock's name.
func foreign(t *testing.T) (*history.History, checker.Finding) {
	s := newScript(t, "")
	s.call(1, 0, history.Acquire, "0.1", key("a"))
	s.event(2, 0, history.OK, history.Acquire, "0.1")
	s.call(10, 1, history.Acquire, "1.1", key("a"))
	b := s.event(11, 1, history.OK, history.Acquire, "1.1")
	s.call(20, 0, history.Release, "0.1")
	return s.history(), checker.Finding{Rule: "two-holders", Class: checker.DoubleGrant, Text: "two hold a",
		Sessions: []string{"0.1", "1.1"}, Event: b}
}

// deleted is the lock that deletes whatever it finds: the woken holder lets a third in.
func deleted(t *testing.T) (*history.History, checker.Finding) {
	s := newScript(t, "set-del")
	s.granted(100, 1, "1.1", "a")
	s.nemesis(110, 1, "pause", history.Bites, "client-1 stands still", "client-1")
	s.granted(8200, 2, "2.1", "a")
	s.nemesis(8300, 1, "pause", history.Healed, "", "client-1")
	s.releases(8310, 1, "1.1")
	b := s.granted(8320, 3, "3.1", "a")
	s.releases(8400, 2, "2.1")
	s.releases(8410, 3, "3.1")
	return s.history(), checker.Finding{Rule: "two-holders", Class: checker.DoubleGrant, Key: "a", Text: "two hold a",
		Sessions: []string{"2.1", "3.1"}, Event: b}
}

// evicted is a finding that concerns one session and has no class.
func evicted(t *testing.T) (*history.History, checker.Finding) {
	s := newScript(t, "redlock")
	s.nemesis(50, 1, "crash", history.Bites, "redis-1, redis-2 and redis-3 came back empty", "redis-1", "redis-2", "redis-3")
	s.granted(100, 1, "1.1", "a")
	s.call(300, 1, history.Release, "1.1")
	at := s.event(301, 1, history.Fail, history.Release, "1.1", failed(history.ErrorNotHeld))
	return s.history(), checker.Finding{Rule: "evicted", Key: "a", Event: at, Sessions: []string{"1.1"},
		Text: `client 1 was told that it does not hold "a", 7.799 s before its lease ends`}
}

// stale is a write that a fence let through.
func stale(t *testing.T) (*history.History, checker.Finding) {
	s := newScript(t, "set-nx-fenced")
	s.granted(100, 1, "1.1", "a")
	s.nemesis(110, 1, "pause", history.Bites, "client-1 stands still", "client-1")
	s.granted(8200, 2, "2.1", "a")
	s.call(8210, 2, history.Write, "2.1", value(1, history.Fenced))
	s.event(8211, 2, history.OK, history.Write, "2.1", value(1, history.Fenced))
	s.nemesis(8300, 1, "pause", history.Healed, "", "client-1")
	s.call(8310, 1, history.Write, "1.1", value(1, history.Fenced))
	at := s.event(8311, 1, history.OK, history.Write, "1.1", value(1, history.Fenced))
	return s.history(), checker.Finding{Rule: "stale-write", Class: checker.StaleWrite, Key: "a", Event: at,
		Sessions: []string{"1.1", "2.1"}, Text: `client 1 wrote "a" after client 2, a later holder, had written`}
}

// overslept is an overstay of the later holder: it was paused inside its acquire and
// came back with a lease that was long over. A fence refuses what it writes then.
func overslept(t *testing.T) (*history.History, checker.Finding) {
	s := newScript(t, "set-nx-fenced")
	s.call(100, 1, history.Acquire, "1.1", key("a"), ttl(2000))
	s.nemesis(101, 1, "pause", history.Bites, "client-1 stands still", "client-1")
	s.granted(2200, 2, "2.1", "a")
	s.call(2210, 2, history.Write, "2.1", value(1, history.Fenced))
	s.event(2211, 2, history.OK, history.Write, "2.1", value(1, history.Fenced))
	s.nemesis(3100, 1, "pause", history.Healed, "", "client-1")
	b := s.event(3101, 1, history.OK, history.Acquire, "1.1", until(2000))
	s.call(3110, 1, history.Write, "1.1", value(1, history.Fenced))
	s.event(3111, 1, history.Fail, history.Write, "1.1", failed(history.ErrorStaleToken))
	s.releases(3200, 2, "2.1")
	return s.history(), checker.Finding{Rule: "two-holders", Class: checker.Overstay, Key: "a", Text: "two hold a",
		Sessions: []string{"2.1", "1.1"}, Event: b}
}
