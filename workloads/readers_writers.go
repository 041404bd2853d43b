package workloads

import (
	"context"
	"time"

	"lockbench/locks"
)

// Three of four turns read. Half of the readers do not wait, because waiting readers enter when the writer leaves and
// would not notice a lock that refuses readers when there is no writer. Half of the writers also read under their own
// write lock, and half of these keep the read lock longer than the write lock.
const (
	turnsPerWrite   = 4
	readsPerPassing = 2
	writesPerNested = 2
)

// readersWriters reads a key's counter together with other readers, or counts alone.
//
//	reader   acquire shared ── read v ── hold ── read v again ── release
//	writer   acquire ── read v ── hold ── write v+1 ── release
//
// A writer may read under its own write lock and release the write lock first. From then on it is a reader, and other
// readers may enter.
//
//	acquire ── acquire shared ── release ── read v+1 ── hold ── read v+1 again ── release shared
var readersWriters = Entry{
	Name:  "readers-writers",
	About: "readers read a key's counter together, writers count alone; a writer may also read",
	Needs: []Need{needsSharing, needsReentry},
	New:   func(p Params) Workload { return readingWriting{p} },
}

type readingWriting struct{ Params }

// Run reads and writes until ctx ends.
func (w readingWriting) Run(ctx context.Context, c *Client) {
	w.turns(ctx, c, func() {
		if c.Rand.IntN(turnsPerWrite) == 0 {
			w.write(ctx, c)
		} else {
			w.read(ctx, c)
		}
	})
}

func (w readingWriting) read(ctx context.Context, c *Client) {
	shared := w.ask(c, w.anyKey(c))
	shared.Mode = locks.Shared
	if c.Rand.IntN(readsPerPassing) == 0 {
		shared.Wait = 0
	}
	tryOnce(ctx, c, shared, func(t *Attempt) {
		hold := w.started(ctx, t)
		if t.Check(ctx) == nil {
			look(ctx, t, hold)
		}
	})
}

// look reads the counter twice, with the hold in between.
func look(ctx context.Context, t *Attempt, hold time.Duration) {
	if _, err := t.Read(ctx); err != nil || !stay(ctx, t, hold) {
		return
	}
	t.Reached(ctx, Checked)
	_, _ = t.Read(ctx)
	_ = t.Check(ctx)
}

func (w readingWriting) write(ctx context.Context, c *Client) {
	alone := w.ask(c, w.anyKey(c))
	shared := alone
	shared.Mode, shared.Wait = locks.Shared, 0
	nested := c.Rand.IntN(writesPerNested) == 0
	downgrade := nested && c.Rand.IntN(2) == 0
	tryOnce(ctx, c, alone, func(t *Attempt) {
		hold := w.started(ctx, t)
		if !nested {
			count(ctx, t, hold)
			return
		}
		within(ctx, t, shared, func(reader *Attempt) {
			if _, err := reader.Read(ctx); err != nil {
				return
			}
			count(ctx, t, hold)
			if !downgrade {
				return
			}
			_ = t.Release(ctx)
			if reader.Check(ctx) == nil {
				look(ctx, reader, hold)
			}
		})
	})
}
