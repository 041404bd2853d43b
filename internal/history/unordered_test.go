package history

import (
	"slices"
	"testing"
)

// A promotion is a fault's if one had struck a server or a link since its episode began.
func TestUnordered(t *testing.T) {
	var s teller
	s.probe(Promoted{"redis-2", false}) // 0: before anything
	s.probe(Episode{1})
	s.probe(Promoted{"redis-3", false}) // 2: in fair weather
	s.fault(1, "pause", "begins", "", "client-3")
	s.probe(Promoted{"redis-1", false}) // 4: who pauses a client orders no promotion
	s.fault(2, "kill", "begins", "", "redis-1")
	s.probe(Promoted{"", false}) // 6: no master
	s.probe(Promoted{"redis-2", false})
	s.fault(2, "kill", "healed", "", "redis-1")
	s.probe(Promoted{"redis-3", false}) // 9: decided while it was gone, perhaps
	s.probe(Episode{2})
	s.probe(Promoted{"redis-1", false}) // 11: a new episode
	s.probe(Promoted{"redis-2", true})  // ordered by hand
	var fair teller
	fair.probe(Promoted{"redis-1", false}) // it leads from the start
	fair.probe(Promoted{"redis-1", false})
	for how, h := range fair.histories(t) {
		if got := h.Unordered(); len(got) != 1 || got[0].At != 1 {
			t.Errorf("%s: unordered %v, want the second", how, got)
		}
	}
	for how, h := range s.histories(t) {
		var at []int
		for _, takeover := range h.Unordered() {
			at = append(at, takeover.At)
		}
		if want := []int{0, 2, 4, 11}; !slices.Equal(at, want) {
			t.Errorf("%s: unordered at %v, want %v", how, at, want)
		}
	}
}
