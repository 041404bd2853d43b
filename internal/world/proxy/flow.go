package proxy

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// flow is one direction of one connection.
type flow struct {
	link  *link
	queue *queue
	hold  atomic.Pointer[heldRequest] // holds the next chunk; almost always nil
}

func newFlow(l *link) *flow { return &flow{link: l, queue: newQueue()} }

// begin starts to read the stream.
func (f *flow) begin(c *conn, from io.Reader, requests io.Writer) {
	f.link.carry(&source{from: from, queue: f.queue, requests: requests, life: c.life}, f.queue)
}

// pump writes the queued bytes to the far end whenever the link lets it, until the stream ends.
//
//	held:     wait
//	silenced: drop, even the end of the stream
//	dropping: drop, and remember that bytes were lost
//	lossy, and no longer dropping: end the connection
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
				return // the connection stays open until the client gives it up
			case chunk == nil:
				ready = f.queue.ready
			default:
				continue
			}
		case held != nil && f.queue.some():
			held.arrived()
			decided = held.decided
		case st.held():
			// Wait for a change.
		case lossy && !st.drop:
			c.kill()
			return
		default:
			chunk, end := f.queue.next()
			switch {
			case chunk != nil && st.drop:
				lossy = true
				f.link.lost.Add(int64(len(chunk)))
				continue
			case chunk != nil:
				// A cut during this write does not call the chunk back.
				if _, err := to.Write(chunk); err != nil {
					// The far end is gone. The other direction notices when it reads.
					return
				}
				continue
			case end && st.drop:
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
		case <-c.life.Done():
			return
		}
	}
}

// source is the reading end of a flow, in toxiproxy's terms.
type source struct {
	from     io.Reader
	queue    *queue
	requests io.Writer       // parses what is read; may be nil
	life     context.Context // of the connection
}

// Read reads from the socket. It waits while too many bytes are under way, as a full TCP window
// would. A reset is reported as the end of the stream.
func (s *source) Read(p []byte) (int, error) {
	if s.queue.room.Acquire(s.life, int64(len(p))) != nil {
		return 0, io.EOF
	}
	n, err := s.from.Read(p)
	s.queue.room.Release(int64(len(p) - n))
	if n > 0 && s.requests != nil {
		_, _ = s.requests.Write(p[:n])
	}
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// underWayMax is how many bytes of one flow may be delayed or held.
const underWayMax = 16 << 20

// queue holds the bytes that wait for pump. Writing never blocks, because toxiproxy holds a lock
// of the whole link while it writes: a blocked writer would prevent ending a delay or opening a
// connection while the link is cut.
type queue struct {
	ready chan struct{}       // has a token when there may be a new chunk
	ended chan struct{}       // closed when the writer has finished
	room  *semaphore.Weighted // is taken by the bytes read from the socket and not yet taken from here

	mu        sync.Mutex
	chunks    [][]byte
	closed    bool
	discarded bool
}

var _ io.WriteCloser = (*queue)(nil)

func newQueue() *queue {
	return &queue{ready: make(chan struct{}, 1), ended: make(chan struct{}), room: semaphore.NewWeighted(underWayMax)}
}

// Write appends. It never fails, because a failing writer leaks toxiproxy's goroutines.
func (q *queue) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.discarded {
		q.room.Release(int64(len(p)))
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

// next takes the first chunk; end reports that no more will come.
func (q *queue) next() (chunk []byte, end bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.chunks) == 0 {
		return nil, q.closed
	}
	chunk = q.chunks[0]
	q.chunks[0] = nil
	q.chunks = q.chunks[1:]
	q.room.Release(int64(len(chunk)))
	return chunk, false
}

// some reports whether a chunk is queued.
func (q *queue) some() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.chunks) > 0
}

// discard drops all queued and future chunks.
func (q *queue) discard() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, chunk := range q.chunks {
		q.room.Release(int64(len(chunk)))
	}
	q.discarded, q.chunks = true, nil
}
