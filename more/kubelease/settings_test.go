package main

import (
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for _, c := range []struct {
		words []string
		ttl   time.Duration
		want  durations
	}{
		{nil, 0, durations{15 * time.Second, 10 * time.Second, 2 * time.Second, 5 * time.Second}},
		{nil, 3 * time.Second, durations{3 * time.Second, 2 * time.Second, 400 * time.Millisecond, time.Second}},
		{[]string{"lease=30s", "renew=default", "timeout=0s"}, 0, durations{30 * time.Second, 20 * time.Second, 4 * time.Second, 0}},
		{[]string{"lease=3s", "renew=2s", "retry=500ms", "timeout=300ms"}, 0, durations{3 * time.Second, 2 * time.Second, 500 * time.Millisecond, 300 * time.Millisecond}},
	} {
		s, err := parse(c.words)
		if got := s.durations(c.ttl); err != nil || got != c.want {
			t.Errorf("%q with a ttl of %v: %v, %v; want %v", c.words, c.ttl, got, err, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	if s, err := parse(nil); err != nil || !s.release {
		t.Errorf("without options: %+v, %v", s, err)
	}
	if s, err := parse([]string{"release-on-cancel=off"}); err != nil || s.release {
		t.Errorf("release-on-cancel=off: %+v, %v", s, err)
	}
	for _, word := range []string{"lease=soon", "lease=-1s", "leases=3s", "release-on-cancel=yes", "lease"} {
		if _, err := parse([]string{word}); err == nil {
			t.Errorf("%q is accepted", word)
		}
	}
}
