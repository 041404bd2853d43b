package proxy

import (
	"io"
	"sync"
	"sync/atomic"
)

// flow is one direction of one connection.
type flow struct {
	link  *link
	queue *queue
	hold  atomic.Pointer[heldRequest] // keeps back what comes next; nil nearly always
}

func newFlow(l *link) *flow { return &flow{link: l, queue: newQueue()} }

// begin starts to read the stream.
func (f *flow) begin(c *conn, from io.Reader, requests io.Writer) {
	f.link.carry(&source{from: from, queue: f.queue, requests: requests, killed: c.killed}, f.queue)
}

// pump is the gate: it writes what the queue holds whenever the link lets it,
// until the stream has ended.
//
//	held:     wait
//	silenced: lose, and say nothing of it
//	dropping: lose, and remember
//	lost something, and no longer dropping: end the connection
//	else:     write
func (f *flow) pump(c *conn, to farEnd) {
	defer f.queue.discard()
	lossy := false
	for {
		st := f.link.state.Load()
		var ready, decided <-chan struct{}
		held := f.hold.Load()
		switch {
		case held != nil && held.fate.Load() == silenced:
			switch chunk, end := f.queue.next(); {
			case end:
				return // not even that; the connection lives until the client has had enough
			case chunk == nil:
				ready = f.queue.ready
			default:
				continue
			}
		case held != nil && f.queue.some():
			held.arrived()
			decided = held.decided
		case st.held():
			// Only a change helps.
		case lossy && !st.dropping:
			c.kill()
			return
		default:
			chunk, end := f.queue.next()
			switch {
			case chunk != nil && st.dropping:
				lossy = true
				f.link.lost.Add(int64(len(chunk)))
				continue
			case chunk != nil:
				// A chunk that passed the gate is on the wire: a cut that comes during this
				// write does not call it back.
				if _, err := to.Write(chunk); err != nil {
					// The far end is gone. The other direction learns of it by reading, and
					// carries the news back at its own pace.
					return
				}
				continue
			case end && st.dropping:
				lossy = true // the end itself is lost
			case end:
				_ = to.CloseWrite()
				return
			default:
				ready = f.queue.ready
			}
		}
		select {
		case <-st.changed:
		case <-ready:
		case <-decided:
			if held.fate.Load() == passes {
				f.hold.Store(nil)
			}
		case <-c.killed:
			return
		}
	}
}

// source is the reading end of a flow, as toxiproxy wants it.
type source struct {
	from     io.Reader
	queue    *queue
	requests io.Writer // hears of it; nil: nobody does
	killed   <-chan struct{}
}

// Read gives what the socket gives. It stops reading while too much is under way,
// as a full TCP window would. A reset is an end like any other.
func (s *source) Read(p []byte) (int, error) {
	if !s.queue.room(s.killed) {
		return 0, io.EOF
	}
	n, err := s.from.Read(p)
	if n > 0 {
		s.queue.expect(n)
		if s.requests != nil {
			_, _ = s.requests.Write(p[:n])
		}
	}
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// underWayMax is how many bytes of one flow may be delayed or held.
const underWayMax = 16 << 20

// queue is where bytes wait for the gate. Writing to it never blocks: toxiproxy
// holds a lock of the whole link while it waits for a writer, so that a delay
// could not be ended, nor a connection begun, while the link is cut.
type queue struct {
	ready chan struct{} // has a token when there may be something new
	ended chan struct{} // closed when all has been read and delayed

	mu        sync.Mutex
	chunks    [][]byte
	closed    bool
	discarded bool
	underWay  int           // bytes read from the socket and not yet taken from here
	drained   chan struct{} // closed and replaced when underWay shrinks; nil if nobody waits
}

var _ io.WriteCloser = (*queue)(nil)

func newQueue() *queue {
	return &queue{ready: make(chan struct{}, 1), ended: make(chan struct{})}
}

// Write appends. It never fails: a writer that fails leaves toxiproxy's goroutines
// behind, waiting for somebody to take what they hold.
func (q *queue) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.discarded {
		return len(p), nil
	}
	q.chunks = append(q.chunks, append([]byte(nil), p...))
	q.wake()
	return len(p), nil
}

// Close marks the end of the stream.
func (q *queue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.ended)
		q.wake()
	}
	return nil
}

func (q *queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// next takes the first chunk; end says that there will be none any more.
func (q *queue) next() (chunk []byte, end bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.chunks) == 0 {
		return nil, q.closed
	}
	chunk = q.chunks[0]
	q.chunks[0] = nil
	q.chunks = q.chunks[1:]
	q.shrink(len(chunk))
	return chunk, false
}

// some says whether there is a chunk to take.
func (q *queue) some() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.chunks) > 0
}

// discard throws away what there is and what may come.
func (q *queue) discard() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.discarded = true
	q.chunks = nil
	q.shrink(q.underWay)
}

// expect counts bytes that are on their way here.
func (q *queue) expect(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.discarded {
		q.underWay += n
	}
}

func (q *queue) shrink(n int) {
	q.underWay -= n
	if q.drained != nil {
		close(q.drained)
		q.drained = nil
	}
}

// room waits until there is room; false if the connection was killed before.
func (q *queue) room(killed <-chan struct{}) bool {
	for {
		q.mu.Lock()
		if q.underWay < underWayMax {
			q.mu.Unlock()
			return true
		}
		if q.drained == nil {
			q.drained = make(chan struct{})
		}
		drained := q.drained
		q.mu.Unlock()
		select {
		case <-drained:
		case <-killed:
			return false
		}
	}
}
