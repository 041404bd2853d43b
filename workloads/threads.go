package workloads

import (
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

// Threads runs n threads of one client side by side, and returns when all have
// ended. Each has a process, a chance and sessions of its own.
func (c *Client) Threads(n int, run func(thread *Client)) {
	c.start()
	var all sync.WaitGroup
	panics := make(chan any, n)
	for i := range n {
		t := *c
		t.process, t.strides = history.Process(c.ID+i*processStride), n
		t.thread = fmt.Sprintf("-%d", i+1)
		// Drawn by everybody in turn, before anybody runs.
		t.Rand = rand.New(rand.NewPCG(c.Rand.Uint64(), uint64(i)))
		if c.Paced != nil {
			c.Paced(i+1, &t)
		}
		all.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panics <- p
				}
			}()
			run(&t)
		})
	}
	all.Wait()
	select {
	case p := <-panics: // whoever called knows what to do about it
		panic(p)
	default:
	}
}
