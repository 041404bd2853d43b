package history

import "slices"

// Position returns the place in Events of the event with an index, or of the nearest one. In
// lockbench's own histories the two are the same; a history from elsewhere may have gaps.
func (h *History) Position(index int) int {
	if index >= 0 && index < len(h.Events) && h.Events[index].Index == index {
		return index
	}
	at, _ := slices.BinarySearchFunc(h.Events, index, func(e Event, index int) int { return e.Index - index })
	return max(min(at, len(h.Events)-1), 0)
}
