package history

import "slices"

// Takeover is the moment at which a node became leader.
type Takeover struct {
	At   int
	Node string
}

// Unordered returns the takeovers that no fault of the plan explains: no fault had acted on
// a server or a link since their episode began. On a busy machine a leader that answers
// late counts as dead, and a lock may break by that without any fault.
//
// A fault explains all takeovers up to the end of its episode: a failover that was decided
// while the leader was gone may be carried out after it is back.
func (h *History) Unordered() []Takeover {
	var all []Takeover
	first := true
	for _, pos := range h.Probes {
		seen := h.Events[pos].Facts.Promoted
		if seen == nil {
			continue
		}
		// The first node leads from the start, so its first promotion is not a takeover.
		begins := first && ParseParty(seen.Node).Number == 1
		if first = false; begins {
			continue
		}
		if seen.Node != "" && !seen.Ordered && !h.faultBefore(pos) {
			all = append(all, Takeover{pos, seen.Node})
		}
	}
	return all
}

// faultBefore reports whether a fault on more than clients had begun in the episode of a
// position.
func (h *History) faultBefore(pos int) bool {
	from := 0
	for _, s := range h.Episodes {
		if s.At <= pos {
			from = s.At
		}
	}
	return slices.ContainsFunc(h.Faults, func(f Fault) bool {
		return f.Begins >= from && f.Begins <= pos && !f.onlyClients()
	})
}

func (f *Fault) onlyClients() bool {
	return len(f.Targets) > 0 && !slices.ContainsFunc(f.Targets, func(name string) bool {
		return !ParseParty(name).IsClient()
	})
}
