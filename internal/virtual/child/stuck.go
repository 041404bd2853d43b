package child

import (
	"time"

	"lockbench/internal/virtual/sim"
)

const (
	// lookEvery is the time between two looks of a watch.
	lookEvery = time.Second
	// stillLooks is how many looks in a row may find no progress, for any reason.
	stillLooks = 60
	// frozenLooks is how many looks in a row may find that nothing can proceed. One would be enough in theory.
	frozenLooks = 5
)

// Watched calls do and returns its result, or why virtual time does not proceed, with the advice for the user. moved grows
// while it proceeds. After such a reason do may go on, because goroutines cannot be ended from outside.
func Watched[T any](do func() T, moved func() int64, advice string) (result T, why string) {
	ended := make(chan T, 1)
	go func() { ended <- do() }()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for w := (watch{}); why == ""; {
		select {
		case result = <-ended:
			return result, ""
		case <-tick.C:
			why = w.look(moved(), advice, sim.LookAt)
		}
	}
	return result, why
}

// watch detects from outside that a simulation does not proceed. It counts looks instead of measuring time, because an
// overloaded machine delays the looks as well as the simulation. The zero value is ready to use.
type watch struct {
	progress      int64
	still, frozen int
}

// look returns why the simulation cannot proceed, with the advice for the user, or an empty string. progress grows while
// the simulation proceeds.
func (w *watch) look(progress int64, advice string, lookAt func() sim.Standstill) (why string) {
	if progress != w.progress {
		*w = watch{progress: progress}
		return ""
	}
	w.still++
	at := lookAt()
	if w.frozen++; !at.Frozen() {
		w.frozen = 0
	}
	switch {
	case w.frozen >= frozenLooks:
		return at.Told(advice)
	case w.still >= stillLooks:
		return "a library computes forever, or waits for something outside the simulation: it must open every connection with Client.Store.Dial (go-redis: Dialer). " + advice
	}
	return ""
}

// stood returns how long the simulation has not proceeded.
func (w *watch) stood() time.Duration { return time.Duration(w.still) * lookEvery }
