package history

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	chunkEvents = 512
	// spareChunks bounds what is kept for the next burst: at 160 bytes an event
	// some 2.5 MB. What a longer burst needed beyond that goes back to Go.
	spareChunks = 32
	batchBytes  = 64 << 10
)

// RecorderOptions are what a recorder may be told.
type RecorderOptions struct {
	// DelayMax is how long an event may wait in memory, and so how much of the
	// end is lost if the process is killed outright. 0: 2 ms.
	DelayMax time.Duration
}

// Recorder gives a run's events their one order and writes them to its history.
//
//	Record ──▶ chunks in memory ──every DelayMax──▶ validate, encode ──▶ w
//	(callers)    (under the lock)                   (one goroutine)
//
// Callers are what is measured, so they pay for a lock, a clock and a copy, and
// never wait for the disk: events that the disk cannot take yet stay in memory.
//
// The clock is read under the lock that gives the index. Read before it, a caller
// that is held up between its clock and the lock would leave a time that goes back.
type Recorder struct {
	start   time.Time
	name    string // of what is written to, for errors
	w       io.Writer
	delay   time.Duration
	failed  chan struct{}
	wake    chan struct{}      // one token: there is something to write
	flushes chan chan struct{} // each is closed when what was there is written
	closing chan struct{}
	done    chan struct{} // the writer has ended
	buf     []byte        // the writer's

	mu     sync.Mutex
	count  int
	refuse bool // after an error or Close: events are counted, not kept
	awake  bool // the writer will look again by itself
	full   []*chunk
	tail   *chunk
	spare  []*chunk
	err    error
	closed bool
}

// chunk is a piece of the history on its way to the disk.
type chunk struct {
	n      int
	events [chunkEvents]Event
}

// New starts a recorder: times count from now, and the header is written at once.
// w is not closed by the recorder; a name that it has, as files do, stands in errors.
func New(w io.Writer, h Header, o RecorderOptions) (*Recorder, error) {
	if h.Lockbench == "" {
		h.Lockbench = Version
	}
	if o.DelayMax <= 0 {
		o.DelayMax = 2 * time.Millisecond
	}
	r := &Recorder{
		name: "history", w: w, delay: o.DelayMax,
		failed: make(chan struct{}), wake: make(chan struct{}, 1),
		flushes: make(chan chan struct{}), closing: make(chan struct{}), done: make(chan struct{}),
		tail: new(chunk), spare: []*chunk{new(chunk), new(chunk)},
	}
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
	go r.run(newValidator(&h))
	return r, nil
}

// Record appends an event and returns the index and the time that it got. Both
// are set here; what the caller left in them is ignored. The caller must not
// change what Extra points to afterwards. After an error or Close, events still
// get an index and a time but are not kept.
func (r *Recorder) Record(e Event) (index int, at time.Duration) {
	return r.record(&e) // inlined into the caller, which saves one copy
}

func (r *Recorder) record(e *Event) (index int, at time.Duration) {
	r.mu.Lock()
	index = r.count
	r.count++
	if r.refuse {
		at = time.Since(r.start)
		r.mu.Unlock()
		return index, at
	}
	c := r.tail
	if c.n == chunkEvents {
		c = r.grow()
	}
	kept := &c.events[c.n]
	c.n++
	*kept = *e
	// The clock is read after the copy, so that the copy's way to memory, which the
	// writer has just read from another core, and the clock overlap: a sixth less.
	at = time.Since(r.start)
	kept.Index, kept.Time = index, at
	wake := !r.awake
	r.awake = true
	r.mu.Unlock()
	if wake {
		// Waking costs more than all of the above. The writer stays awake while
		// events keep coming, so it is paid once a burst.
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
	return index, at
}

// Now is the time since the recorder started, on the clock of its events.
func (r *Recorder) Now() time.Duration { return time.Since(r.start) }

// Failed is closed at the first error in writing the history or in its form. What
// was recorded before stays readable; nothing is recorded any more.
func (r *Recorder) Failed() <-chan struct{} { return r.failed }

// Err returns that error, or nil. It names the history and, for an error of form, the line.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Flush writes what was recorded before the call. What goes wrong is told by Err.
func (r *Recorder) Flush() {
	written := make(chan struct{})
	select {
	case r.flushes <- written:
	case <-r.done:
		return
	}
	select {
	case <-written:
	case <-r.done:
	}
}

// Close writes what is left and returns the first error of the whole recording.
func (r *Recorder) Close() error {
	r.mu.Lock()
	if !r.closed {
		r.closed, r.refuse = true, true
		close(r.closing)
	}
	r.mu.Unlock()
	<-r.done
	return r.Err()
}

// grow takes the full chunk out of the callers' way. It needs the lock.
func (r *Recorder) grow() *chunk {
	r.full = append(r.full, r.tail)
	r.tail = r.fresh()
	return r.tail
}

func (r *Recorder) fresh() *chunk {
	last := len(r.spare) - 1
	if last < 0 {
		return new(chunk)
	}
	c := r.spare[last]
	r.spare = r.spare[:last]
	return c
}

// run is the writer's goroutine.
func (r *Recorder) run(v *validator) {
	defer close(r.done)
	for closing := false; !closing; {
		var flush chan struct{}
		select {
		case <-r.wake:
			closing, flush = r.pause()
		case flush = <-r.flushes:
		case <-r.closing:
			closing = true
		}
		for batch := r.take(nil); batch != nil; batch = r.take(batch) {
			if err := r.writeBatch(v, batch); err != nil {
				r.stop(fmt.Errorf("record %s: %w", r.name, err))
				return
			}
			flushed(flush)
			// While events keep coming they are written in batches and not one by one.
			if flush = nil; !closing {
				closing, flush = r.pause()
			}
		}
		flushed(flush)
	}
}

// flushed tells whoever waits in Flush, if anybody does.
func flushed(written chan struct{}) {
	if written != nil {
		close(written)
	}
}

// pause lets events gather, and tells whether the recorder is being closed, or who
// does not want to wait for more.
func (r *Recorder) pause() (closing bool, flush chan struct{}) {
	timer := time.NewTimer(r.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false, nil
	case flush = <-r.flushes:
		return false, flush
	case <-r.closing:
		return true, nil
	}
}

// take returns what is to be written, and gives back the batch before. Without
// anything to write it returns nil, and the next Record wakes the writer.
func (r *Recorder) take(written []*chunk) (batch []*chunk) {
	for _, c := range written {
		c.n = 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range written {
		if len(r.spare) < spareChunks {
			r.spare = append(r.spare, c)
		}
	}
	if r.tail.n > 0 {
		r.grow()
	}
	batch, r.full = r.full, nil
	r.awake = batch != nil
	return batch
}

// writeBatch writes whole lines only, so that what reaches the disk before an
// error can be read.
func (r *Recorder) writeBatch(v *validator, batch []*chunk) error {
	buf := r.buf[:0]
	defer func() { r.buf = buf }()
	for _, c := range batch {
		for i := range c.events[:c.n] {
			e := &c.events[i]
			line, err := AppendEvent(buf, e)
			if err != nil {
				err = Malform(e.Index+2, "facts", "%s: %v", e.F, err)
			} else if m := v.add(e, v.count+2); m != nil {
				err = m
			} else {
				buf = line
			}
			if err != nil {
				return errors.Join(err, r.write(buf))
			}
			if len(buf) >= batchBytes {
				if err := r.write(buf); err != nil {
					return err
				}
				buf = buf[:0]
			}
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

// stop ends the recording with an error.
func (r *Recorder) stop(err error) {
	r.mu.Lock()
	r.err, r.refuse = err, true
	r.full, r.spare, r.tail = nil, nil, nil
	r.mu.Unlock()
	close(r.failed)
}
