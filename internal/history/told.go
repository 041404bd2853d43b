package history

import "slices"

// told is what a history derives from the events that are not operations, once, when it is built or read.
type told struct {
	nemesis  []int    // positions of the nemesis's events
	facts    []placed // of probes, in order
	faults   []Fault
	pauses   map[int32][]Pause // by client
	episodes []EpisodeStart
	quiet    []Stretch
	stepped  int // the position after the first clock step; 0 if there is none
}

// placed is a fact, and the position of its event.
type placed struct {
	at   int
	fact Fact
}

// add collects an event that belongs to no session.
func (t *told) add(pos int, e *Event) {
	switch {
	case e.Process == Nemesis:
		t.nemesis = append(t.nemesis, pos)
	case e.Process == Probe:
		for _, f := range e.Facts {
			t.facts = append(t.facts, placed{pos, f})
		}
	}
}

// tell derives the rest from the collected events.
func (h *History) tell() {
	t := &h.told
	t.faults, t.pauses = faults(h), pauses(h)
	h.Warnings = append(h.Warnings, unknownFaults(t.faults)...)
	from := -1 // of the recovery period that has not ended
	for _, p := range t.facts {
		switch f := p.fact.(type) {
		case Episode:
			t.episodes = append(t.episodes, EpisodeStart{p.at, f.Number})
		case Quiet:
			if !f.Begins && from >= 0 {
				t.quiet = append(t.quiet, Stretch{From: from, To: p.at})
			}
			from = -1
			if f.Begins {
				from = p.at
			}
		case ClockStep:
			if t.stepped == 0 {
				t.stepped = p.at + 1
			}
		}
	}
	if from >= 0 {
		t.quiet = append(t.quiet, Stretch{From: from, To: len(h.Events), Open: true})
	}
}

// EpisodeStart is where an episode begins.
type EpisodeStart struct{ At, Number int }

// Episodes returns the beginnings of episodes in order, or nothing if the history has no
// episodes.
func (h *History) Episodes() []EpisodeStart { return h.told.episodes }

// EpisodeAt returns the episode of a position. Events before the first episode begins
// belong to the first, because a lock may break before any fault. A history without
// episodes counts as one, the first, and then ok is false.
func (h *History) EpisodeAt(pos int) (number int, ok bool) {
	starts := h.told.episodes
	if len(starts) == 0 {
		return 1, false
	}
	after, _ := slices.BinarySearchFunc(starts, pos+1, func(s EpisodeStart, pos int) int { return s.At - pos })
	return starts[max(0, after-1)].Number, true
}

// Stretch is a part of a history: the positions from From to before To.
type Stretch struct {
	From, To int
	Open     bool // the history ends before it does
}

// Has reports whether a position lies in the stretch.
func (s Stretch) Has(pos int) bool { return s.From <= pos && pos < s.To }

// Quiet returns the recovery periods in order.
func (h *History) Quiet() []Stretch { return h.told.quiet }

// ClockStep returns the position from which times are not trusted, because the machine was
// suspended or its clock was corrected, and no fault had ordered it. It is the number of
// events if there is none.
func (h *History) ClockStep() int {
	if h.told.stepped == 0 {
		return len(h.Events)
	}
	return h.told.stepped - 1
}

// NemesisAt returns the positions of the nemesis's events in order.
func (h *History) NemesisAt() []int { return h.told.nemesis }
