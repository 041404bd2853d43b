package run

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"lockbench/internal/history"
	"lockbench/workloads"
)

// script makes a run smaller than its scenario says, so that what is left of it is
// what a violation needs. A nil script leaves everything as it is.
type script struct {
	// Clients are those that take part. They keep their numbers, and with them their
	// chance: whom one leaves out does not change what the others draw.
	Clients []int `json:"clients,omitempty"`
	// From is when a client begins, after the start of its life; Turns is how often
	// it then asks for a lock. Clients that are not named do as always.
	From  map[int]time.Duration `json:"from_ns,omitempty"`
	Turns map[int]int           `json:"turns,omitempty"`
	// Warm is how many grants go before the first episode.
	Warm int `json:"warm"`
	// Cut is when the run ends. 0: when it is through.
	Cut time.Duration `json:"cut_ns,omitempty"`
	// Events is how many events the history keeps. 0: all.
	Events int `json:"events,omitempty"`
}

// clients are the numbers of those that are opened at the start.
func (s *script) clients(n int) []int {
	if s != nil && len(s.Clients) > 0 {
		return s.Clients
	}
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	return ids
}

func (s *script) warm(usual int64) int64 {
	if s == nil {
		return usual
	}
	return int64(s.Warm)
}

// writer is where the history goes, as much of it as the script keeps.
func (s *script) writer(w io.Writer) io.Writer {
	if s == nil || s.Events == 0 {
		return w
	}
	return &shortened{w, s.Events + 1} // and the header
}

// shortened keeps the first lines of what is written.
type shortened struct {
	w    io.Writer
	left int
}

func (s *shortened) Write(b []byte) (int, error) {
	end := 0
	for end < len(b) && s.left > 0 {
		n := bytes.IndexByte(b[end:], '\n')
		if n < 0 {
			end = len(b)
			break
		}
		end += n + 1
		s.left--
	}
	if _, err := s.w.Write(b[:end]); err != nil {
		return 0, err
	}
	return len(b), nil
}

// cutAfter ends the recording, and with it the run, at the time that the script says.
func (s *script) cutAfter(ctx context.Context, p pace, r *history.Recorder, cancel context.CancelCauseFunc) {
	if s == nil || s.Cut <= 0 {
		return
	}
	go func() {
		select {
		case <-ctx.Done():
		case <-time.After(s.Cut):
			p.settle("cut")
			_ = r.Close() // an error comes up again when the run closes it
			cancel(nil)
		}
	}()
}

// play lives a client's life, and says whether it is through with all that the
// script gives it to do.
func (s *script) play(ctx context.Context, id int, w workloads.Workload, c *workloads.Client) (through bool) {
	if s == nil {
		w.Run(ctx, c)
		return false
	}
	if from := s.From[id]; from > 0 {
		pause(ctx, from)
	}
	turns, limited := s.Turns[id]
	if !limited {
		w.Run(ctx, c)
		return false
	}
	life, end := context.WithCancel(ctx)
	defer end()
	left := new(atomic.Int64)
	left.Store(int64(turns))
	c.Hooks = countedHooks{c.Hooks, left, end}
	if paced := c.Paced; paced != nil {
		c.Paced = func(thread int, t *workloads.Client) {
			paced(thread, t)
			t.Hooks = countedHooks{t.Hooks, left, end}
		}
	}
	if turns > 0 {
		w.Run(life, c)
	}
	return true
}

// countedHooks ends a life after so many turns, of all threads together.
type countedHooks struct {
	workloads.Hooks
	left *atomic.Int64
	end  context.CancelFunc
}

func (h countedHooks) End() {
	h.Hooks.End()
	if h.left.Add(-1) <= 0 {
		h.end()
	}
}

// copy is a script of its own that can be changed.
func (s *script) copy() *script {
	if s == nil {
		return &script{}
	}
	out := *s
	out.Clients = slices.Clone(s.Clients)
	out.From, out.Turns = map[int]time.Duration{}, map[int]int{}
	for id, d := range s.From {
		out.From[id] = d
	}
	for id, n := range s.Turns {
		out.Turns[id] = n
	}
	return &out
}
