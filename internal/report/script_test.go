package report

import (
	"strconv"
	"testing"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/testing/historytest"
)

// failover is the history of the famous bug: a master dies before its replicas
// have heard of a grant, and the new master grants the lock again.
func failover(t *testing.T) (*history.History, checker.Finding) {
	s := historytest.New(t, "set-nx")
	s.Probe(0, history.Promoted{Node: "redis-1"})
	s.Work(10, 1, "1.1", "a", 0)
	s.Work(30, 2, "2.1", "b", 0)
	s.Probe(1000, history.Episode{Number: 1})
	s.Nemesis(1600, 1, "lag", history.Begins, "", "redis-2", "redis-3")
	s.Nemesis(1602, 1, "lag", history.Bites, "redis-2 and redis-3 hear nothing more from redis-1", "redis-2", "redis-3")
	s.Nemesis(1700, 9, "pause", history.Bites, "client-7 frozen", "client-7") // no concern of this story
	a := s.Granted(1904, 3, "3.1", "a")
	s.Reads(1906, 3, "3.1", 1)
	s.Nemesis(1910, 2, "kill", history.Begins, "", "redis-1")
	s.Nemesis(1911, 2, "kill", history.Bites, "redis-1 (master) is gone", "redis-1")
	for i := range 40 {
		s.Refused(1950+10*i, 4, "4."+strconv.Itoa(i), "a")
	}
	s.Probe(4102, history.Promoted{Node: "redis-2"})
	b := s.Granted(4212, 5, "5.1", "a")
	s.Reads(4220, 5, "5.1", 1)
	s.Writes(4240, 5, "5.1", 2)
	s.Releases(4242, 5, "5.1")
	for i := range 84 {
		s.Work(4300+30*i, 6, "6."+strconv.Itoa(i), "a", int64(2+i))
	}
	show := s.Writes(7321, 3, "3.1", 2)
	s.Releases(7330, 3, "3.1")
	s.Nemesis(12000, 2, "kill", history.Healed, "", "redis-1")
	s.Probe(14000, history.Episode{Number: 2})
	s.Work(14010, 1, "1.2", "a", 2)
	h := s.History()
	return h, checker.Finding{Rule: "two-holders", Class: checker.DoubleGrant, Key: "a", Text: "two hold a",
		Events: []int{a - 1, a, b - 1, b, show}, Sessions: []string{"3.1", "5.1"}, Event: b}
}

// overstay is what a pause does to every lease lock.
func overstay(t *testing.T) (*history.History, checker.Finding) {
	s := historytest.New(t, "redlock/nodes=3")
	s.Probe(5, history.Episode{Number: 3})
	s.Granted(100, 3, "3.1", "a")
	s.Reads(105, 3, "3.1", 7)
	s.Checks(120, 3, "3.1")
	s.Call(130, 3, history.Write, "3.1", historytest.Value(8, history.Plain))
	s.Nemesis(131, 1, "pause", history.Begins, "", "client-3")
	s.Nemesis(132, 1, "pause", history.Bites, "client-3 frozen", "client-3")
	b := s.Granted(8200, 5, "5.1", "a")
	s.Nemesis(9000, 1, "pause", history.Healed, "", "client-3")
	show := s.Event(9002, 3, history.OK, history.Write, "3.1", historytest.Value(8, history.Plain))
	s.Reads(9004, 3, "3.1", 8)
	s.Call(9010, 3, history.Release, "3.1")
	s.Event(9011, 3, history.Fail, history.Release, "3.1", historytest.Failed(history.ErrorNotHeld))
	s.Writes(9020, 5, "5.1", 9)
	s.Releases(9030, 5, "5.1")
	return s.History(), checker.Finding{Rule: "two-holders", Class: checker.Overstay, Key: "a", Text: "two hold a",
		Events: []int{1, 2, b - 1, b, show}, Sessions: []string{"3.1", "5.1"}, Event: show}
}

// token is a crash after which the server counts fencing tokens from 1 again. The first holder had released.
func token(t *testing.T) (*history.History, checker.Finding) {
	s := historytest.New(t, "set-nx-fenced")
	s.Probe(5, history.Episode{Number: 1})
	a := s.Granted(100, 3, "3.1", "a")
	s.Checks(120, 3, "3.1")
	s.Call(130, 3, history.Release, "3.1")
	s.Nemesis(132, 1, "kill", history.Begins, "", "redis-1")
	s.Nemesis(133, 1, "kill", history.Bites, "redis-1 (master) gone", "redis-1")
	s.Event(140, 3, history.Info, history.Release, "3.1", historytest.Failed("connection reset by peer"))
	s.Nemesis(500, 1, "kill", history.Healed, "", "redis-1")
	b := s.Granted(600, 5, "5.1", "a")
	return s.History(), checker.Finding{Rule: "token-fell", Key: "a", Text: `the token of "a" fell from 5 (client 3) to 1 (client 5)`,
		Events: []int{a, b}, Sessions: []string{"3.1", "5.1"}, Event: b}
}

// foreign is a history from elsewhere: no plan, no probes, no values, no lock's name.
func foreign(t *testing.T) (*history.History, checker.Finding) {
	s := historytest.New(t, "")
	s.Call(1, 0, history.Acquire, "0.1", historytest.Key("a"))
	s.Event(2, 0, history.OK, history.Acquire, "0.1")
	s.Call(10, 1, history.Acquire, "1.1", historytest.Key("a"))
	b := s.Event(11, 1, history.OK, history.Acquire, "1.1")
	s.Call(20, 0, history.Release, "0.1")
	return s.History(), checker.Finding{Rule: "two-holders", Class: checker.DoubleGrant, Text: "two hold a",
		Sessions: []string{"0.1", "1.1"}, Event: b}
}

// deleted is the lock that deletes whatever it finds: the woken holder lets a third in.
func deleted(t *testing.T) (*history.History, checker.Finding) {
	s := historytest.New(t, "set-del")
	s.Granted(100, 1, "1.1", "a")
	s.Nemesis(110, 1, "pause", history.Bites, "client-1 frozen", "client-1")
	s.Granted(8200, 2, "2.1", "a")
	s.Nemesis(8300, 1, "pause", history.Healed, "", "client-1")
	s.Releases(8310, 1, "1.1")
	b := s.Granted(8320, 3, "3.1", "a")
	s.Releases(8400, 2, "2.1")
	s.Releases(8410, 3, "3.1")
	return s.History(), checker.Finding{Rule: "two-holders", Class: checker.DoubleGrant, Key: "a", Text: "two hold a",
		Sessions: []string{"2.1", "3.1"}, Event: b}
}

// evicted is a finding that concerns one session and has no class.
func evicted(t *testing.T) (*history.History, checker.Finding) {
	s := historytest.New(t, "redlock")
	s.Nemesis(50, 1, "crash", history.Bites, "redis-1, redis-2 and redis-3 came back empty", "redis-1", "redis-2", "redis-3")
	s.Granted(100, 1, "1.1", "a")
	s.Call(300, 1, history.Release, "1.1")
	at := s.Event(301, 1, history.Fail, history.Release, "1.1", historytest.Failed(history.ErrorNotHeld))
	return s.History(), checker.Finding{Rule: "evicted", Key: "a", Event: at, Sessions: []string{"1.1"},
		Text: `client 1 was told that it does not hold "a", 7.799 s before its lease ends`}
}

// stale is a write that a fence let through.
func stale(t *testing.T) (*history.History, checker.Finding) {
	s := historytest.New(t, "set-nx-fenced")
	s.Granted(100, 1, "1.1", "a")
	s.Nemesis(110, 1, "pause", history.Bites, "client-1 frozen", "client-1")
	s.Granted(8200, 2, "2.1", "a")
	s.Call(8210, 2, history.Write, "2.1", historytest.Value(1, history.Fenced))
	s.Event(8211, 2, history.OK, history.Write, "2.1", historytest.Value(1, history.Fenced))
	s.Nemesis(8300, 1, "pause", history.Healed, "", "client-1")
	s.Call(8310, 1, history.Write, "1.1", historytest.Value(1, history.Fenced))
	at := s.Event(8311, 1, history.OK, history.Write, "1.1", historytest.Value(1, history.Fenced))
	return s.History(), checker.Finding{Rule: "stale-write", Class: checker.StaleWrite, Key: "a", Event: at,
		Sessions: []string{"1.1", "2.1"}, Text: `client 1 wrote "a" after client 2, a later holder, had written`}
}

// overtaken is a waiter who was passed and never served: it held at no time.
func overtaken(t *testing.T) (*history.History, checker.Finding) {
	s := historytest.New(t, "redisson-port-fair")
	s.Granted(100, 1, "1.1", "a")
	s.Call(200, 2, history.Acquire, "2.1", historytest.Key("a"), historytest.TTL(4000))
	s.Probe(201, history.Queued{Sessions: []string{"2.1"}})
	s.Call(300, 3, history.Acquire, "3.1", historytest.Key("a"), historytest.TTL(4000))
	s.Releases(400, 1, "1.1")
	b := s.Event(410, 3, history.OK, history.Acquire, "3.1", historytest.Until(4000))
	s.Releases(500, 3, "3.1")
	s.Event(3200, 2, history.Fail, history.Acquire, "2.1", historytest.Failed(history.ErrorTaken))
	return s.History(), checker.Finding{Rule: "overtaken", Key: "a", Event: b, Sessions: []string{"2.1", "3.1"},
		Text: `client 2 was seen in the queue for "a" at 0.201 s, but client 3 asked after that and was granted it at 0.410 s, while client 2 never was`}
}

// overslept is an overstay of the later holder: it was paused inside its acquire and
// came back with a lease that was long over. A fence refuses what it writes then.
func overslept(t *testing.T) (*history.History, checker.Finding) {
	s := historytest.New(t, "set-nx-fenced")
	s.Call(100, 1, history.Acquire, "1.1", historytest.Key("a"), historytest.TTL(2000))
	s.Nemesis(101, 1, "pause", history.Bites, "client-1 frozen", "client-1")
	s.Granted(2200, 2, "2.1", "a")
	s.Call(2210, 2, history.Write, "2.1", historytest.Value(1, history.Fenced))
	s.Event(2211, 2, history.OK, history.Write, "2.1", historytest.Value(1, history.Fenced))
	s.Nemesis(3100, 1, "pause", history.Healed, "", "client-1")
	b := s.Event(3101, 1, history.OK, history.Acquire, "1.1", historytest.Until(2000))
	s.Call(3110, 1, history.Write, "1.1", historytest.Value(1, history.Fenced))
	s.Event(3111, 1, history.Fail, history.Write, "1.1", historytest.Failed(history.ErrorStaleToken))
	s.Releases(3200, 2, "2.1")
	return s.History(), checker.Finding{Rule: "two-holders", Class: checker.Overstay, Key: "a", Text: "two hold a",
		Sessions: []string{"2.1", "1.1"}, Event: b}
}
