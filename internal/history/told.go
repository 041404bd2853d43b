package history

import "slices"

// placed is a fact, and the position of its event.
type placed struct {
	at   int
	fact Fact
}

// collect keeps the place of an event of the nemesis or a probe.
func (h *History) collect(pos int, e *Event) {
	if e.Process == Nemesis {
		h.Nemesis = append(h.Nemesis, pos)
		return
	}
	for _, f := range e.Facts {
		h.facts = append(h.facts, placed{pos, f})
	}
}

// derive finds faults, episodes and recovery periods in the collected events.
func (h *History) derive() {
	h.Faults = faults(h)
	h.Warnings = append(h.Warnings, unknownFaults(h.Faults)...)
	for pos, f := range FactsOf[Episode](h) {
		h.Episodes = append(h.Episodes, EpisodeStart{pos, f.Number})
	}
	from := -1 // of the recovery period that has not ended
	for pos, f := range FactsOf[Quiet](h) {
		if !f.Begins && from >= 0 {
			h.Quiet = append(h.Quiet, Stretch{From: from, To: pos})
		}
		if from = -1; f.Begins {
			from = pos
		}
	}
	if from >= 0 {
		h.Quiet = append(h.Quiet, Stretch{From: from, To: len(h.Events), Open: true})
	}
}

// EpisodeStart is where an episode begins.
type EpisodeStart struct{ At, Number int }

// EpisodeAt returns the episode of a position. Events before the first episode begins
// belong to the first, because a lock may break before any fault. A history without
// episodes counts as one, the first, and then ok is false.
func (h *History) EpisodeAt(pos int) (number int, ok bool) {
	starts := h.Episodes
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

// ClockStep returns the position from which times are not trusted, because the machine was
// suspended or its clock was corrected, and no fault had ordered it. It is the number of
// events if there is none.
func (h *History) ClockStep() int {
	at := len(h.Events)
	for pos := range FactsOf[ClockStep](h) {
		at = min(at, pos)
	}
	return at
}
