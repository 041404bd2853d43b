package trial

import (
	"fmt"
	"os/exec"
	"sync/atomic"
	"time"
)

const (
	// beatEvery is how often a process that tries a module says at least something.
	beatEvery = time.Second
	// silenceMax is how often in a row it may have said nothing when it is looked at.
	silenceMax = 60
)

// silence ends a process in which a module computes for ever. Nothing in it can: what it
// was compiled to never gives its processor back, and the process has one.
type silence struct {
	said  atomic.Bool
	stop  chan struct{}
	ended chan error // of one
}

// watch looks after the process of a trial whose clients are modules. It counts looks and
// not time: a machine that has no turn for anybody keeps looks from happening, too.
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
		_ = cmd.Process.Kill() // it may have ended in this moment
		w.ended <- fmt.Errorf("the process of the simulated run of %s with seed %d has said nothing for %v and was killed: a client of the module %s computes for ever, most likely",
			s.Input.Lock.Name, s.Input.Seed, time.Duration(limit)*beatEvery, s.Input.Lock.Module)
	}()
	return w
}

// heard notes that it has said something.
func (w *silence) heard() { w.said.Store(true) }

// end ends the watch, and says whether it has ended the process.
func (w *silence) end() error {
	close(w.stop)
	return <-w.ended
}
