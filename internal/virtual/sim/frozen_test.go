package sim

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/internal/testing/worldtest"
)

// library is a lock that sleeps with a mutex held.
type library struct {
	mu    sync.Mutex
	freed atomic.Bool // by the test
}

func (l *library) refresh() {
	l.mu.Lock()
	time.Sleep(time.Second)
	if !l.freed.Load() {
		l.mu.Unlock()
	}
}

func (l *library) get() {
	l.mu.Lock()
	defer l.mu.Unlock()
}

// A goroutine that sleeps with a mutex held for which another waits stops virtual time. The waiting one is named.
func TestFrozenIsTold(t *testing.T) {
	worldtest.Alone(t, func() {
		l := &library{}
		ended := make(chan error, 1)
		go func() {
			ended <- bubble(func() error {
				var both sync.WaitGroup
				both.Go(l.refresh)
				both.Go(func() { time.Sleep(time.Millisecond); l.get() })
				both.Wait()
				return nil
			})
		}()
		seen := LookAt()
		for !seen.Frozen() {
			runtime.Gosched()
			seen = LookAt()
		}
		if len(seen.Waiting) != 1 || !strings.Contains(seen.Waiting[0], "sim.(*library).get at frozen_test.go:") {
			t.Errorf("waiting: %q", seen.Waiting)
		}
		l.freed.Store(true)
		l.mu.Unlock()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A run that computes is not frozen, even if a goroutine waits for a mutex.
func TestComputingIsNotFrozen(t *testing.T) {
	const stacks = `goroutine 7 [running, synctest bubble 1]:
example.com/lib.(*Pool).Spin(0xc000012345)
	/somewhere/lib/pool.go:12 +0x1d

goroutine 8 [sync.Mutex.Lock, 2 minutes, synctest bubble 1]:
sync.(*Mutex).Lock(...)
	/go/src/sync/mutex.go:46
example.com/lib.(*Pool).Get(0xc000012345, 0x1)
	/somewhere/lib/pool.go:20 +0x1d
`
	spins := readStacks(stacks)
	if !spins.Computes || spins.Frozen() {
		t.Errorf("one that computes: %+v", spins)
	}
	reads := readStacks(strings.Replace(stacks, "[running,", "[IO wait,", 1))
	if reads.Frozen() {
		t.Errorf("one that waits for the outside: %+v", reads)
	}
	sleeps := readStacks(strings.Replace(stacks, "[running,", "[sleep (durable),", 1))
	if want := []string{"lib.(*Pool).Get at pool.go:20"}; !sleeps.Frozen() || !slices.Equal(sleeps.Waiting, want) {
		t.Errorf("got %+v, want %q", sleeps, want)
	}
	elsewhere := readStacks(strings.ReplaceAll(stacks, ", synctest bubble 1", ""))
	if elsewhere.Computes || len(elsewhere.Waiting) > 0 {
		t.Errorf("goroutines outside of the simulation count: %+v", elsewhere)
	}
}
