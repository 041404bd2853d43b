package history

import "slices"

// Takeover is a node that took itself for the master.
type Takeover struct {
	At   int
	Node string
}

// Unordered are the takeovers that no fault of the plan explains: since their episode began
// nothing had struck a server or a link. On a machine that is too busy a master that
// answers late is taken for dead, and a lock may break by that in fair weather.
//
// What a fault brought about late belongs to it: a failover that was decided while the
// master was gone may be carried out after it is back. So one fault explains whatever
// follows up to the end of its episode.
func (h *History) Unordered() []Takeover {
	var all []Takeover
	first := true
	for pos, seen := range FactsOf[Promoted](h) {
		// The first node leads from the start: that it does is no takeover before another's.
		begins := first && ParseParty(seen.Node).Number == 1
		if first = false; begins {
			continue
		}
		if seen.Node != "" && !seen.Ordered && !h.struck(pos) {
			all = append(all, Takeover{pos, seen.Node})
		}
	}
	return all
}

// struck tells whether a fault had begun in the episode of a position that concerns more
// than clients.
func (h *History) struck(pos int) bool {
	from := 0
	for _, s := range h.Episodes() {
		if s.At <= pos {
			from = s.At
		}
	}
	return slices.ContainsFunc(h.Faults(), func(f Fault) bool {
		return f.Begins >= from && f.Begins <= pos && !f.onlyClients()
	})
}

func (f *Fault) onlyClients() bool {
	return len(f.Targets) > 0 && !slices.ContainsFunc(f.Targets, func(name string) bool {
		return !ParseParty(name).IsClient()
	})
}
