package wasm

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A steady clock never jumps when its rate changes, and what it still has to go takes just
// as long as it says, and not a nanosecond less.
func TestSteadyClock(t *testing.T) {
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, gain := range []int64{0, 100_000, -100_000, 333_333, -900_000, 100 * millisecond} {
		var s steady
		s.start(now)
		before := s.at(now.Add(time.Hour))
		s.setRate(now.Add(time.Hour), gain)
		if after := s.at(now.Add(time.Hour)); after != before {
			t.Errorf("gain %d: it jumps from %d to %d", gain, before, after)
		}
		if s.gained(now.Add(time.Hour)) != 0 {
			t.Errorf("gain %d: before that it has gained %v", gain, s.gained(now.Add(time.Hour)))
		}
		s.setRate(now.Add(time.Hour+time.Second), 0) // what was gained stays
		if want := time.Duration(gain) * 1000; s.gained(now.Add(2*time.Hour)) != want {
			t.Errorf("gain %d: in a second it has gained %v, want %v", gain, s.gained(now.Add(2*time.Hour)), want)
		}
		s.start(now)
		s.setRate(now.Add(time.Hour), gain)
		for _, left := range []int64{1, 999, 1_000_001, int64(3 * time.Second)} {
			d := s.inRightTime(left)
			at := s.at(now.Add(time.Hour + d))
			if at < before+left-1 || at > before+left+gain/millisecond+2 {
				t.Errorf("gain %d: after %v it has gone %d, want %d", gain, d, at-before, left)
			}
		}
	}
}

// The least recently used entry is removed, and no other.
func TestPrune(t *testing.T) {
	cache := t.TempDir()
	for i := range 5 {
		dir := filepath.Join(cache, fmt.Sprint(i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		used := time.Unix(int64(1000-i), 0)
		if err := os.Chtimes(dir, used, used); err != nil {
			t.Fatal(err)
		}
	}
	prune(cache, 3)
	left, err := os.ReadDir(cache)
	if err != nil || len(left) != 3 || left[0].Name() != "0" || left[2].Name() != "2" {
		t.Errorf("left are %v (%v), want 0, 1 and 2", left, err)
	}
}
