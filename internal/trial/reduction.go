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

// Reduction makes a trial smaller than its scenario says, so that what is left of it is
// what a violation needs. The zero value leaves out nothing but the grants that go
// before the first episode.
type Reduction struct {
	// Clients are those that take part. They keep their numbers, and with them their
	// chance: whom one leaves out does not change what the others draw.
	Clients []int `json:"clients,omitempty"`
	// From is when a client begins, after the start of its life; Turns is how often
	// it then asks for a lock. Clients that are not named do as always.
	From  map[int]time.Duration `json:"from_ns,omitempty"`
	Turns map[int]int           `json:"turns,omitempty"`
	// Warm is how many grants go before the first episode.
	Warm int `json:"warm"`
	// Cut is when the trial ends. 0: when it is through.
	Cut time.Duration `json:"cut_ns,omitempty"`
	// Events is how many events the history keeps. 0: all.
	Events int `json:"events,omitempty"`
}

// clients are the numbers of those that are opened at the start.
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

// writer is where the history goes, as much of it as is kept.
func (r Reduction) writer(w io.Writer) io.Writer {
	if r.Events == 0 {
		return w
	}
	return &shortened{w, r.Events + 1} // and the header
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

// cutAfter ends the recording, and with it the trial, at the time of the cut.
func (r Reduction) cutAfter(ctx context.Context, p pace, recorder *history.Recorder, cancel context.CancelCauseFunc) {
	if r.Cut <= 0 {
		return
	}
	go func() {
		select {
		case <-ctx.Done():
		case <-time.After(r.Cut):
			p.settle("cut")
			_ = recorder.Close() // an error comes up again when the trial closes it
			cancel(nil)
		}
	}()
}

// live lets a client do its work, and says whether it is through with all that is left
// of it.
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

// Clone is a reduction of its own that can be changed.
func (r Reduction) Clone() *Reduction {
	from, turns := make(map[int]time.Duration), make(map[int]int)
	maps.Copy(from, r.From)
	maps.Copy(turns, r.Turns)
	r.Clients, r.From, r.Turns = slices.Clone(r.Clients), from, turns
	return &r
}
