package trial

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"lockbench/internal/history"
	"lockbench/workloads"
)

// Reduction makes a trial smaller than its scenario, down to the part that a violation needs.
// The zero value leaves out only the grants before the first episode.
type Reduction struct {
	// Clients are the clients that take part. They keep their numbers, and with them their
	// random draws: leaving out a client does not change the draws of the others.
	Clients []int `json:"clients,omitempty"`
	// From is how long a client waits before its first turn; Turns is how many turns it
	// takes. Other clients are not limited.
	From  map[int]time.Duration `json:"from_ns,omitempty"`
	Turns map[int]int           `json:"turns,omitempty"`
	// Warm is how many grants come before the first episode.
	Warm int `json:"warm"`
	// Served is how often each client of the start that still lives has released the lock before the trial ends. 0: the
	// scenario decides when the trial ends.
	Served int `json:"served,omitempty"`
	// Cut is when the trial ends. 0: after the last episode.
	Cut time.Duration `json:"cut_ns,omitempty"`
	// Events is how many events the history keeps. 0: all.
	Events int `json:"events,omitempty"`
}

// reduction returns the reduction of the trial, which is empty for a whole trial.
func (in Input) reduction() Reduction {
	if in.Reduction == nil {
		return Reduction{}
	}
	return *in.Reduction
}

// clients returns the numbers of the clients that are opened at the start.
func (r Reduction) clients(n int) []int {
	if len(r.Clients) > 0 {
		return r.Clients
	}
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	return ids
}

// writer writes the part of the history that is kept.
func (r Reduction) writer(w io.Writer) io.Writer {
	if r.Events == 0 {
		return w
	}
	return &shortened{w, r.Events + 1} // plus the header
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

// cutAfter ends the recording and the trial at the time of the cut.
func (r Reduction) cutAfter(ctx context.Context, p pace, recorder *history.Recorder, cancel context.CancelCauseFunc) {
	if r.Cut <= 0 {
		return
	}
	go func() {
		select {
		case <-ctx.Done():
		case <-time.After(r.Cut):
			p.settle("cut")
			_ = recorder.Close() // the trial closes it again and gets the same error
			cancel(nil)
		}
	}()
}

// live runs a client, and reports whether the client has taken all its turns.
func (r Reduction) live(ctx context.Context, id int, w workloads.Workload, threads []*workloads.Client) (through bool) {
	if from := r.From[id]; from > 0 {
		pause(ctx, from)
	}
	turns, limited := r.Turns[id]
	if !limited {
		workloads.Live(ctx, w, threads)
		return false
	}
	life, end := context.WithCancel(ctx)
	defer end()
	left := new(atomic.Int64)
	left.Store(int64(turns))
	for _, t := range threads {
		t.Hooks = countedHooks{t.Hooks, left, end}
	}
	if turns > 0 {
		workloads.Live(life, w, threads)
	}
	return true
}

// countedHooks ends a client after a number of turns of all its threads together.
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

// Clone returns a deep copy.
func (r Reduction) Clone() *Reduction {
	from, turns := make(map[int]time.Duration), make(map[int]int)
	maps.Copy(from, r.From)
	maps.Copy(turns, r.Turns)
	r.Clients, r.From, r.Turns = slices.Clone(r.Clients), from, turns
	return &r
}
