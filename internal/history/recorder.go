package history

import (
	"cmp"
	"fmt"
	"io"
	"sync"
	"time"
)

// Recorder gives a run's events their one order and writes them to its history.
//
//	Record ──▶ lines in memory ──delay after the first of them, or Flush──▶ w
//	(callers)  (under the lock)                                             (one write at a time)
//
// The run measures its callers, so a call never waits for the disk: lines wait in memory until the disk takes them.
//
// The clock is read under the lock that gives the index. If it were read before, a
// caller that is delayed between the two would record a time that goes back.
type Recorder struct {
	start  time.Time
	name   string // of the history, for errors
	delay  time.Duration
	failed chan struct{} // closed at the first error

	mu     sync.Mutex // never held while the disk is busy
	count  int
	rules  *pairing
	lines  []byte // not written yet
	timer  *time.Timer
	armed  bool // the timer will write what is in lines
	refuse bool // after an error or Close: events are counted, not kept
	err    error

	takes func(e Event) // nil: w takes lines only

	writing sync.Mutex // held during a write; taken before mu
	w       io.Writer
	spare   []byte // the lines that were written last
}

// Taker is a writer of a history that receives each event next to its line, so that it need not parse the line.
type Taker interface {
	io.Writer
	TakeHeader(h Header)
	TakeEvent(e Event)
}

// New starts a recorder: times count from now, and the header is written at once. A line waits in memory for at most
// delay (0: 2 ms), so much of the end is lost if the process is killed outright.
// The recorder does not close w. Errors name w if it has a name, as files do.
func New(w io.Writer, h Header, delay time.Duration) (*Recorder, error) {
	h.Lockbench = cmp.Or(h.Lockbench, Version)
	r := &Recorder{name: "history", w: w, delay: cmp.Or(delay, 2*time.Millisecond), failed: make(chan struct{})}
	if named, ok := w.(interface{ Name() string }); ok {
		r.name = "history " + named.Name()
	}
	rules, m := newPairing(&History{Header: h})
	if m != nil {
		return nil, r.named(m)
	}
	r.rules = rules
	line, err := appendLine(nil, &h)
	if err == nil {
		_, err = w.Write(line)
	}
	if err != nil {
		return nil, r.named(err)
	}
	if t, ok := w.(Taker); ok {
		t.TakeHeader(h)
		r.takes = t.TakeEvent
	}
	r.start = time.Now()
	return r, nil
}

// Record appends an event and returns the index and the time that it got. Record sets
// both; it ignores what the caller left in them. After an error or Close, events still
// get an index and a time but are not kept.
func (r *Recorder) Record(e Event) (index int, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	index, at = r.count, time.Since(r.start)
	r.count++
	if r.refuse {
		return index, at
	}
	e.Index, e.Time = index, at
	lines, err := AppendEvent(r.lines, &e)
	if err != nil {
		r.fail(err)
		return index, at
	}
	if m := r.rules.add(&e, index+2); m != nil { // the header is line 1
		r.fail(m)
		return index, at
	}
	r.lines = lines
	if r.takes != nil {
		r.takes(e)
	}
	if !r.armed {
		r.armed = true
		if r.timer == nil {
			r.timer = time.AfterFunc(r.delay, r.Flush)
		} else {
			r.timer.Reset(r.delay)
		}
	}
	return index, at
}

// fail ends the recording. The lock is held.
func (r *Recorder) fail(err error) {
	r.refuse = true
	if r.err == nil {
		r.err = r.named(err)
		close(r.failed)
	}
}

func (r *Recorder) named(err error) error { return fmt.Errorf("record %s: %w", r.name, err) }

// Now is the time since the recorder started, on the clock of its events.
func (r *Recorder) Now() time.Duration { return time.Since(r.start) }

// Failed returns a channel that is closed at the first error in writing the history or in
// its form. Earlier events stay readable; later ones are not recorded.
func (r *Recorder) Failed() <-chan struct{} { return r.failed }

// Err returns that error, or nil. It names the history and, for an error of form, the line.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Flush writes the events that were recorded before the call. Err returns its error.
func (r *Recorder) Flush() {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	lines := r.lines
	r.lines, r.armed = r.spare[:0], false
	r.mu.Unlock()
	r.spare = lines
	if len(lines) == 0 {
		return
	}
	if _, err := r.w.Write(lines); err != nil {
		r.mu.Lock()
		r.fail(err)
		r.lines = nil // a reader can read what reached the disk before the error
		r.mu.Unlock()
	}
}

// Close writes the remaining events and returns the first error of the whole recording.
func (r *Recorder) Close() error {
	r.mu.Lock()
	r.refuse = true
	if r.timer != nil {
		r.timer.Stop()
	}
	r.mu.Unlock()
	r.Flush()
	return r.Err()
}
