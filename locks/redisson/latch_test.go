package redisson_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"lockbench/internal/testing/redistest"
	"lockbench/locks"
	"lockbench/locks/redisson"
)

// A client is closed while other goroutines release its locks. Each release ends, and no goroutine of the client remains. The
// test is for the race detector.
func TestCloseWhileReleasing(t *testing.T) {
	s := redistest.Start(t)
	for range 30 {
		a, _ := open(t, redisson.New(hasty), s, 1)
		var held []locks.Lease
		for i := range 4 {
			held = append(held, take(t, a, locks.Request{Keys: []string{fmt.Sprint("k", i)}, TTL: time.Minute}))
		}
		var wg sync.WaitGroup
		for _, lease := range held {
			wg.Go(func() { _ = lease.Release(t.Context()) })
		}
		redistest.Await(t, "a release is done on the server", func() bool { return hasLatch(t, s) })
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		s.Client.FlushAll(t.Context())
	}
}
