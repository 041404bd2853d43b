package sim

import (
	"io"
	"sync"
)

// outlet is the standard output of a module. Writes never wait, and readers see the output after
// the turn of the module.
type outlet struct {
	written []byte // in this turn

	mu    sync.Mutex
	said  []byte
	ended bool
	wake  chan struct{} // with room for one token
}

func newOutlet() *outlet { return &outlet{wake: make(chan struct{}, 1)} }

func (o *outlet) write(b []byte) { o.written = append(o.written, b...) }

// publish makes the output readable.
func (o *outlet) publish() {
	if len(o.written) == 0 {
		return
	}
	o.mu.Lock()
	o.said = append(o.said, o.written...)
	o.mu.Unlock()
	o.written = o.written[:0]
	o.signal()
}

func (o *outlet) end() {
	o.mu.Lock()
	o.ended = true
	o.mu.Unlock()
	o.signal()
}

func (o *outlet) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Read waits for output.
func (o *outlet) Read(b []byte) (int, error) {
	for {
		o.mu.Lock()
		n, ended := copy(b, o.said), o.ended
		if o.said = o.said[n:]; len(o.said) == 0 {
			o.said = nil
		}
		o.mu.Unlock()
		switch {
		case n > 0:
			return n, nil
		case ended:
			return 0, io.EOF
		}
		<-o.wake
	}
}
