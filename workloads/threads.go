package workloads

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"lockbench/internal/history"
)

// life is the state that all threads of one client share.
type life struct{ gone atomic.Bool }

// start gives a client its first process.
func (c *Client) start() {
	if !c.started {
		c.started, c.process, c.life = true, history.Process(c.ID), &life{}
	}
}

// Gone reports whether the client's process has ended.
func (c *Client) Gone() bool { return c.life != nil && c.life.gone.Load() }

// Owner returns the owner for requests of the calling thread. It changes after an unknown outcome, because the old owner
// may still hold a lock.
func (c *Client) Owner() string {
	c.start()
	return fmt.Sprintf("thread-%d", c.process)
}

// Threads returns the threads that run the workload: the client itself, or the number that a [Threaded] workload needs. If
// there are several, each has its own process, random numbers and sessions.
func (c *Client) Threads(w Workload) []*Client {
	several, ok := w.(Threaded)
	if !ok {
		return []*Client{c}
	}
	c.start()
	all := make([]*Client, several.Threads())
	for i := range all {
		t := *c
		t.Thread = i + 1
		t.process, t.strides = history.Process(c.ID+i*processStride), len(all)
		t.Rand = rand.New(rand.NewPCG(c.Rand.Uint64(), uint64(i)))
		all[i] = &t
	}
	return all
}

// Live runs the workload in each thread and returns when all have ended.
func Live(ctx context.Context, w Workload, threads []*Client) {
	var all sync.WaitGroup
	panics := make(chan any, len(threads))
	for _, t := range threads {
		all.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panics <- p
				}
			}()
			w.Run(ctx, t)
		})
	}
	all.Wait()
	select {
	case p := <-panics: // the caller handles it
		panic(p)
	default:
	}
}
