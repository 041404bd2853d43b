package sim

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/world"
)

// network has the state of all links: which ends can reach each other, and how fast.
type network struct {
	wire    service.Wire
	purpose func(function string) (Purpose, bool) // as [Model.Purpose]
	seed    uint64
	latency world.Latency
	moved   *atomic.Int64 // messages delivered

	mu       sync.Mutex // never held during a wait, which would stop the clock
	links    map[world.Link]linkState
	frozen   map[string]chan struct{} // stopped clients and nodes; closed when they continue
	lanes    map[world.Link]map[*lane]struct{}
	dials    map[slot]int              // connections made from one end to another
	attempts map[slot]int              // dials from one end to another
	taken    map[int64]bool            // the instants of deliveries
	said     map[uint64]uint32         // how often a message was sent before
	inUse    map[slot]bool             // numbers of open connections
	pairs    map[*pair]struct{}        // open connections of clients
	probes   map[world.Link]int        // PINGs sent on behalf of a client
	change   chan struct{}             // closed, and replaced, when a link or an end changes
	counts   map[string]map[string]int // commands, by client and name
	holds    map[string]*hold          // requests and replies to hold, by client
	closed   bool
}

// linkState is the state of a directed link.
type linkState struct {
	world.LinkState
	free time.Time // when a link with a limited rate has sent everything before
}

func newNetwork(seed uint64, l world.Latency, moved *atomic.Int64) *network {
	return &network{
		seed: seed, latency: l, moved: moved,
		links: map[world.Link]linkState{}, frozen: map[string]chan struct{}{},
		lanes: map[world.Link]map[*lane]struct{}{}, dials: map[slot]int{}, attempts: map[slot]int{}, taken: map[int64]bool{}, said: map[uint64]uint32{}, inUse: map[slot]bool{},
		pairs: map[*pair]struct{}{}, probes: map[world.Link]int{},
		change: make(chan struct{}), counts: map[string]map[string]int{}, holds: map[string]*hold{},
	}
}

// set changes the state of links and lets their messages continue. It returns the connections that have lost data on links
// which no longer drop it.
func (n *network) set(links []world.Link, to world.LinkState) (broken []*pair) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var moved []*lane
	lossy := map[*lane]bool{}
	for _, link := range links {
		now := n.links[link]
		for l := range n.lanes[link] {
			moved = append(moved, l)
			if now.Drop && !to.Drop && l.lost {
				l.lost, lossy[l] = false, true
			}
		}
		if now.LinkState = to; to.Rate == 0 {
			now.free = time.Time{}
		}
		if now == (linkState{}) {
			delete(n.links, link)
		} else {
			n.links[link] = now
		}
	}
	again(moved)
	n.changed()
	for p := range n.pairs {
		if lossy[p.up] || lossy[p.down] {
			broken = append(broken, p)
		}
	}
	inOrder(broken)
	return broken
}

// freeze stops an end, so that it neither receives nor sends.
func (n *network) freeze(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.frozen[name] == nil {
		n.frozen[name] = make(chan struct{})
	}
}

// thaw continues it.
func (n *network) thaw(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	stopped := n.frozen[name]
	if stopped == nil {
		return
	}
	delete(n.frozen, name)
	close(stopped)
	var moved []*lane
	for link, lanes := range n.lanes {
		if link.From == name || link.To == name {
			moved = slices.AppendSeq(moved, maps.Keys(lanes))
		}
	}
	again(moved)
	n.changed()
}

// stopped is closed when the end continues; nil while it runs.
func (n *network) stopped(name string) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.frozen[name]
}

// open reports whether a client and a node can reach each other. If not, it returns a channel that is closed at the next
// change.
func (n *network) open(a, b string) (ok bool, change <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	there, back := n.links[world.Link{From: a, To: b}], n.links[world.Link{From: b, To: a}]
	return !there.Cut && !back.Cut && !there.Drop && !back.Drop, n.change
}

// changed wakes all waiters for a link. Needs mu.
func (n *network) changed() {
	close(n.change)
	n.change = make(chan struct{})
}

// pairsWith returns the selected open connections in the same order in every run, because the order in which they are closed
// decides when their ends notice.
func (n *network) pairsWith(picked func(slot) bool) []*pair {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []*pair
	for p := range n.pairs {
		if picked(p.at) {
			out = append(out, p)
		}
	}
	inOrder(out)
	return out
}

func inOrder(all []*pair) {
	slices.SortFunc(all, func(a, b *pair) int {
		return cmp.Or(cmp.Compare(a.at.client, b.at.client), cmp.Compare(a.at.node, b.at.node),
			cmp.Compare(a.at.purpose, b.at.purpose), cmp.Compare(a.at.n, b.at.n))
	})
}

// forget ends all lanes from a node, with everything in flight: the node died.
func (n *network) forget(from string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for link, lanes := range n.lanes {
		if link.From != from {
			continue
		}
		for l := range lanes {
			l.empty()
			l.last = time.Time{}
		}
	}
}

// stop ends everything.
func (n *network) stop() {
	n.mu.Lock()
	n.closed = true
	for _, lanes := range n.lanes {
		for l := range lanes {
			l.endLocked()
		}
	}
	n.mu.Unlock()
	for _, p := range n.pairsWith(func(slot) bool { return true }) {
		p.breakOff()
	}
}

// chance returns the source of randomness of one decision, by its name.
func (n *network) chance(what string) *rand.Rand {
	return rand.New(rand.NewPCG(n.seed, hash(what)))
}
