package child

import (
	"time"

	"lockbench/internal/virtual/sim"
)

const (
	// LookEvery is the time between two looks of a [Watch].
	LookEvery = time.Second
	// stillLooks is how many looks in a row may find no progress, for any reason.
	stillLooks = 60
	// frozenLooks is how many looks in a row may find that nothing can proceed. One would be enough in theory.
	frozenLooks = 5
)

// Watch detects from outside that a simulation does not proceed. It counts looks instead of measuring time, because an
// overloaded machine delays the looks as well as the simulation. The zero value is ready to use.
type Watch struct {
	progress      int64
	still, frozen int
}

// Look returns why the simulation cannot proceed, with the advice for the user, or an empty string. progress grows while
// the simulation proceeds.
func (w *Watch) Look(progress int64, advice string) (why string) {
	return w.look(progress, advice, sim.LookAt)
}

func (w *Watch) look(progress int64, advice string, lookAt func() sim.Standstill) (why string) {
	if progress != w.progress {
		*w = Watch{progress: progress}
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
func (w *Watch) stood() time.Duration { return time.Duration(w.still) * LookEvery }
