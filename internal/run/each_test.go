package run

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"
)

// Each starts no job before a slot is free, and none after one has asked for the end.
func TestEach(t *testing.T) {
	for _, parallel := range []int{1, 3} {
		var mu sync.Mutex
		var done []int
		atOnce, most := 0, 0
		full := make(chan struct{})
		Each(t.Context(), slices.Values([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), parallel, func(_ context.Context, job int) bool {
			mu.Lock()
			done = append(done, job)
			atOnce++
			if most = max(most, atOnce); len(done) == parallel {
				close(full)
			}
			mu.Unlock()
			<-full // the first jobs wait for each other
			mu.Lock()
			defer mu.Unlock()
			atOnce--
			return job < 5
		})
		slices.Sort(done)
		if most != parallel || len(done) < 6 || len(done) > 5+parallel || done[len(done)-1] != len(done)-1 {
			t.Errorf("parallel %d: %d at once, done %v; want jobs 0 to 5, and at most those that ran at the same time as 5", parallel, most, done)
		}
	}
}

func TestEachEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := 0
	Each(ctx, slices.Values([]int{1, 2, 3}), 1, func(context.Context, int) bool {
		done++
		cancel()
		return true
	})
	if done != 1 {
		t.Errorf("%d jobs were done; want 1", done)
	}
}

func TestPace(t *testing.T) {
	var p Pace
	if left := p.Left(3); left != 0 {
		t.Errorf("%v left, but no job is finished", left)
	}
	p.Add(10 * time.Second)
	p.Add(20 * time.Second)
	if left := p.Left(3); left != 45*time.Second {
		t.Errorf("%v left, want 45 s", left)
	}
}
