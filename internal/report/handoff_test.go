package report

import (
	"slices"
	"testing"
	"time"

	"lockbench/internal/history"
)

// waits lets the acquire of an event wait.
func waits(msec int) func(*history.Event) { return func(e *history.Event) { e.Wait = ms(msec) } }

func TestHandoffs(t *testing.T) {
	owner := func(o string) func(*history.Event) {
		return func(e *history.Event) { e.Extra = &history.Extra{Owner: o} }
	}
	for _, c := range []struct {
		name string
		play func(s *script)
		want []time.Duration
	}{
		{"to one who waited", func(s *script) {
			s.granted(0, 1, "1.1", "a")
			s.call(10, 2, history.Acquire, "2.1", key("a"), ttl(8000), waits(500))
			s.call(20, 1, history.Release, "1.1")
			s.event(23, 1, history.OK, history.Release, "1.1")
			s.event(25, 2, history.OK, history.Acquire, "2.1", until(8000))
		}, []time.Duration{5 * time.Millisecond}},
		{"asked after the release", func(s *script) {
			s.granted(0, 1, "1.1", "a")
			s.releases(20, 1, "1.1")
			s.call(30, 2, history.Acquire, "2.1", key("a"), ttl(8000), waits(500))
			s.event(35, 2, history.OK, history.Acquire, "2.1", until(8000))
		}, nil},
		{"did not wait", func(s *script) {
			s.granted(0, 1, "1.1", "a")
			s.call(19, 2, history.Acquire, "2.1", key("a"), ttl(8000))
			s.releases(20, 1, "1.1")
			s.event(25, 2, history.OK, history.Acquire, "2.1", until(8000))
		}, nil},
		{"another key", func(s *script) {
			s.granted(0, 1, "1.1", "a")
			s.call(10, 2, history.Acquire, "2.1", key("b"), ttl(8000), waits(500))
			s.releases(20, 1, "1.1")
			s.event(25, 2, history.OK, history.Acquire, "2.1", until(8000))
		}, nil},
		{"the release did not work", func(s *script) {
			s.granted(0, 1, "1.1", "a")
			s.call(10, 2, history.Acquire, "2.1", key("a"), ttl(8000), waits(500))
			s.call(20, 1, history.Release, "1.1")
			s.event(23, 1, history.Fail, history.Release, "1.1", failed(history.ErrorNotHeld))
			s.event(25, 2, history.OK, history.Acquire, "2.1", until(8000))
		}, nil},
		{"the last of two holds", func(s *script) {
			s.call(0, 1, history.Acquire, "1.1", key("a"), ttl(8000), owner("x"))
			s.event(1, 1, history.OK, history.Acquire, "1.1", until(8000))
			s.call(2, 1, history.Acquire, "1.2", key("a"), ttl(8000), owner("x"))
			s.event(3, 1, history.OK, history.Acquire, "1.2", until(8000))
			s.call(10, 2, history.Acquire, "2.1", key("a"), ttl(8000), waits(500))
			s.releases(20, 1, "1.2")
			s.releases(40, 1, "1.1")
			s.event(47, 2, history.OK, history.Acquire, "2.1", until(8000))
		}, []time.Duration{7 * time.Millisecond}},
	} {
		s := newScript(t, "redisson")
		c.play(s)
		if got := handoffs(s.history()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
