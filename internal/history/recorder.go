package history

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// batchBytes is how much is written at once.
const batchBytes = 64 << 10

// RecorderOptions are the options of a recorder.
type RecorderOptions struct {
	// DelayMax is how long an event may wait in memory, and so how much of the
	// end is lost if the process is killed outright. 0: 2 ms.
	DelayMax time.Duration
}

// Recorder gives a run's events their one order and writes them to its history.
//
//	Record ──▶ a list in memory ──DelayMax after its first event, or Flush──▶ validate, encode ──▶ w
//	(callers)  (under the lock)                                               (one at a time)
//
// The run measures its callers, so a call costs them a lock, a clock and a copy, and
// never waits for the disk: events wait in memory until the disk takes them.
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
	events []Event // not written yet
	timer  *time.Timer
	armed  bool // the timer will write what is in events
	refuse bool // after an error or Close: events are counted, not kept
	err    error

	writing sync.Mutex // held while events are written; taken before mu
	w       io.Writer
	v       *validator
	spare   []Event // the list that was written last, empty
	buf     []byte
}

// New starts a recorder: times count from now, and the header is written at once.
// The recorder does not close w. Errors name w if it has a name, as files do.
func New(w io.Writer, h Header, o RecorderOptions) (*Recorder, error) {
	if h.Lockbench == "" {
		h.Lockbench = Version
	}
	if o.DelayMax <= 0 {
		o.DelayMax = 2 * time.Millisecond
	}
	r := &Recorder{name: "history", w: w, delay: o.DelayMax, failed: make(chan struct{}), v: newValidator(&h)}
	if named, ok := w.(interface{ Name() string }); ok {
		r.name = "history " + named.Name()
	}
	if m := h.check(); m != nil {
		return nil, fmt.Errorf("record %s: %w", r.name, m)
	}
	line, err := appendLine(nil, &h)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", r.name, err)
	}
	if err := r.write(line); err != nil {
		return nil, fmt.Errorf("record %s: %w", r.name, err)
	}
	r.start = time.Now()
	return r, nil
}

// Record appends an event and returns the index and the time that it got. Record sets
// both; it ignores what the caller left in them. The caller must not
// change the lists in it afterwards. After an error or Close, events still
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
	r.events = append(r.events, e)
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
	events, failed := r.events, r.err != nil
	r.events, r.armed = r.spare, false
	r.mu.Unlock()
	if failed {
		return
	}
	if err := r.writeEvents(events); err != nil {
		r.mu.Lock()
		r.err, r.refuse, r.events = fmt.Errorf("record %s: %w", r.name, err), true, nil
		r.mu.Unlock()
		close(r.failed)
		return
	}
	clear(events) // release the memory that they point to
	r.spare = events[:0]
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

// writeEvents writes whole lines only, so that a reader can read what reached the disk
// before an error.
func (r *Recorder) writeEvents(events []Event) error {
	buf := r.buf[:0]
	defer func() { r.buf = buf }()
	for i := range events {
		e := &events[i]
		line, err := AppendEvent(buf, e)
		if err != nil {
			err = Malform(e.Index+2, "facts", "%s: %v", e.F, err)
		} else if m := r.v.add(e, e.Index+2); m != nil { // the header is line 1
			err = m
		}
		if err != nil {
			return errors.Join(err, r.write(buf))
		}
		if buf = line; len(buf) >= batchBytes {
			if err := r.write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	return r.write(buf)
}

func (r *Recorder) write(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	_, err := r.w.Write(lines)
	return err
}
