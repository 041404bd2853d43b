package trial

import (
	"fmt"
	"os/exec"
	"sync/atomic"
	"time"
)

const (
	// beatEvery is how often a process prints at least one message.
	beatEvery = time.Second
	// silenceMax is how many checks in a row may find no message.
	silenceMax = 60
)

// silence ends a process in which a WASM guest computes forever. The process cannot end
// itself: compiled guest code is not preempted, and the process has one processor.
type silence struct {
	said  atomic.Bool
	stop  chan struct{}
	ended chan error // of one
}

// watch watches the process of a trial whose clients are WASM guests. It counts checks
// instead of measuring time, because an overloaded machine delays the checks as well.
func (s Subprocess) watch(cmd *exec.Cmd) *silence {
	w := &silence{stop: make(chan struct{}), ended: make(chan error, 1)}
	if s.Input.Lock.Module == "" {
		w.ended <- nil
		return w
	}
	limit := s.SilenceMax
	if limit == 0 {
		limit = silenceMax
	}
	go func() {
		tick := time.NewTicker(beatEvery)
		defer tick.Stop()
		for looks := 0; looks < limit; looks++ {
			select {
			case <-w.stop:
				w.ended <- nil
				return
			case <-tick.C:
			}
			if w.said.Swap(false) {
				looks = 0
			}
		}
		_ = cmd.Process.Kill() // the process may already have exited
		w.ended <- fmt.Errorf("the process of the simulated run of %s with seed %d printed nothing for %v and was killed: a client of the module %s probably computes forever",
			s.Input.Lock.Name, s.Input.Seed, time.Duration(limit)*beatEvery, s.Input.Lock.Module)
	}()
	return w
}

// heard records that the process printed a message.
func (w *silence) heard() { w.said.Store(true) }

// end stops watching. Its error is not nil if the process was killed.
func (w *silence) end() error {
	close(w.stop)
	return <-w.ended
}
