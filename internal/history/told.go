package history

import "slices"

// collect keeps the place of an event of the nemesis or a probe.
func (h *History) collect(pos int, e *Event) {
	if e.Process == Nemesis {
		h.Nemesis = append(h.Nemesis, pos)
		return
	}
	if e.Facts != nil {
		h.Probes = append(h.Probes, pos)
	}
}

// derive finds faults, episodes and recovery periods in the collected events.
func (h *History) derive() {
	h.Faults = faults(h)
	h.Warnings = append(h.Warnings, unknownFaults(h.Faults)...)
	from := -1 // of the recovery period that has not ended
	for _, pos := range h.Probes {
		seen := h.Events[pos].Facts
		if seen.Episode != nil {
			h.Episodes = append(h.Episodes, EpisodeStart{pos, seen.Number})
		}
		switch {
		case seen.Quiet == QuietBegins:
			from = pos
		case seen.Quiet == QuietEnds && from >= 0:
			h.Quiet = append(h.Quiet, Stretch{From: from, To: pos})
			from = -1
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
	for _, pos := range h.Probes {
		if h.Events[pos].Facts.ClockStep != nil {
			return pos
		}
	}
	return len(h.Events)
}
