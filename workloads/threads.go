package workloads

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"lockbench/internal/history"
)

// life is what all threads of one client share.
type life struct{ gone atomic.Bool }

// start gives a client its first process.
func (c *Client) start() {
	if !c.started {
		c.started, c.process, c.life = true, history.Process(c.ID), &life{}
	}
}

// Gone tells whether the client's process has ended.
func (c *Client) Gone() bool { return c.life != nil && c.life.gone.Load() }

// Owner is the calling thread as locks know it. It is another one after an outcome
// was unknown: nobody can tell whether the old one still holds something.
func (c *Client) Owner() string {
	c.start()
	return fmt.Sprintf("thread-%d", c.process)
}

// Threads are those of one client that are to run the workload side by side: the
// client itself, or as many as a [Threaded] workload wants. Each of several has a
// process, a chance and sessions of its own.
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

// Live lets threads run the workload, and returns when all have ended.
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
	case p := <-panics: // whoever called knows what to do about it
		panic(p)
	default:
	}
}
