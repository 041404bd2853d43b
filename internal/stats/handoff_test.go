package stats

import (
	"slices"
	"testing"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/testing/historytest"
)

// waits lets the acquire of an event wait.
func waits(msec int) func(*history.Event) {
	return func(e *history.Event) { e.Wait = historytest.MS(msec) }
}

func TestHandoffs(t *testing.T) {
	owner := func(o string) func(*history.Event) {
		return func(e *history.Event) { e.Owner = o }
	}
	for _, c := range []struct {
		name string
		play func(s *historytest.Script)
		want []time.Duration
	}{
		{"to one who waited", func(s *historytest.Script) {
			s.Granted(0, 1, "1.1", "a")
			s.Call(10, 2, history.Acquire, "2.1", historytest.Key("a"), historytest.TTL(8000), waits(500))
			s.Call(20, 1, history.Release, "1.1")
			s.Event(23, 1, history.OK, history.Release, "1.1")
			s.Event(25, 2, history.OK, history.Acquire, "2.1", historytest.Until(8000))
		}, []time.Duration{5 * time.Millisecond}},
		{"asked after the release", func(s *historytest.Script) {
			s.Granted(0, 1, "1.1", "a")
			s.Releases(20, 1, "1.1")
			s.Call(30, 2, history.Acquire, "2.1", historytest.Key("a"), historytest.TTL(8000), waits(500))
			s.Event(35, 2, history.OK, history.Acquire, "2.1", historytest.Until(8000))
		}, nil},
		{"did not wait", func(s *historytest.Script) {
			s.Granted(0, 1, "1.1", "a")
			s.Call(19, 2, history.Acquire, "2.1", historytest.Key("a"), historytest.TTL(8000))
			s.Releases(20, 1, "1.1")
			s.Event(25, 2, history.OK, history.Acquire, "2.1", historytest.Until(8000))
		}, nil},
		{"another key", func(s *historytest.Script) {
			s.Granted(0, 1, "1.1", "a")
			s.Call(10, 2, history.Acquire, "2.1", historytest.Key("b"), historytest.TTL(8000), waits(500))
			s.Releases(20, 1, "1.1")
			s.Event(25, 2, history.OK, history.Acquire, "2.1", historytest.Until(8000))
		}, nil},
		{"the release did not work", func(s *historytest.Script) {
			s.Granted(0, 1, "1.1", "a")
			s.Call(10, 2, history.Acquire, "2.1", historytest.Key("a"), historytest.TTL(8000), waits(500))
			s.Call(20, 1, history.Release, "1.1")
			s.Event(23, 1, history.Fail, history.Release, "1.1", historytest.Failed(history.ErrorNotHeld))
			s.Event(25, 2, history.OK, history.Acquire, "2.1", historytest.Until(8000))
		}, nil},
		{"the last of two holds", func(s *historytest.Script) {
			s.Call(0, 1, history.Acquire, "1.1", historytest.Key("a"), historytest.TTL(8000), owner("x"))
			s.Event(1, 1, history.OK, history.Acquire, "1.1", historytest.Until(8000))
			s.Call(2, 1, history.Acquire, "1.2", historytest.Key("a"), historytest.TTL(8000), owner("x"))
			s.Event(3, 1, history.OK, history.Acquire, "1.2", historytest.Until(8000))
			s.Call(10, 2, history.Acquire, "2.1", historytest.Key("a"), historytest.TTL(8000), waits(500))
			s.Releases(20, 1, "1.2")
			s.Releases(40, 1, "1.1")
			s.Event(47, 2, history.OK, history.Acquire, "2.1", historytest.Until(8000))
		}, []time.Duration{7 * time.Millisecond}},
	} {
		s := historytest.New(t, "redisson-port")
		c.play(s)
		if got := handoffs(s.History()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
