package sim

import (
	"slices"
	"time"

	"lockbench/internal/world"
)

// lane is one direction of a connection, or of the talk between two nodes: what is
// sent comes out in order, each message after a latency of its own.
//
//	send ──▶ queue (in flight) ──▶ deliver
//	              │
//	              └─ stands still while the link is cut or an end is stopped;
//	                 what comes to its end while replies are dropped is lost
type lane struct {
	net     *network
	link    world.Link
	key     uint64       // of its latencies
	class   class        // the first of its classes
	width   int          // how many it has
	deliver func(parcel) // called in the instant of the delivery, without locks
	// past and toward say that the sender's, or the receiver's, being stopped does not
	// matter: a probe in its name.
	past, toward bool

	// Guarded by net.mu.
	seq   uint64
	last  time.Time // when the last message in the queue is due
	queue []parcel
	timer *time.Timer
	lost  bool
	ended bool
}

// parcel is a message in flight: bytes, the end of a stream, or something that
// nodes tell each other.
type parcel struct {
	due  time.Time
	of   class // of the due
	data []byte
	// what tells messages of one lane, and of its sisters, apart by what they say; 0:
	// they are told apart by their number.
	what uint64
	fin  bool
	talk any
	load int // bytes of a probe
}

// What a message takes of a narrow link beside its bytes, and what nodes say to each
// other, of which only the meaning is simulated.
const (
	wrapping  = 40
	talkBytes = 100
)

func (p parcel) size() int64 {
	size := wrapping + len(p.data) + p.load
	if p.talk != nil {
		size += talkBytes
	}
	return int64(size)
}

// newLane opens a lane; id names it for its latencies. Lanes of one id share them: it
// does not matter then on which of its connections a client says something, which is
// for its library's pool to choose, and not always twice in the same way.
func (n *network) newLane(link world.Link, id string, c class, width int, deliver func(parcel)) *lane {
	l := &lane{net: n, link: link, key: hash(id) ^ n.seed*0x9e3779b97f4a7c15, class: c, width: width, deliver: deliver}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lanes[link] == nil {
		n.lanes[link] = map[*lane]struct{}{}
	}
	n.lanes[link][l] = struct{}{}
	return l
}

// end takes a lane away with all that is in flight on it.
func (l *lane) end() {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	l.endLocked()
}

func (l *lane) endLocked() {
	if l.ended {
		return
	}
	l.ended = true
	l.empty()
	if l.timer != nil {
		l.timer.Stop()
	}
	delete(l.net.lanes[l.link], l)
}

// empty takes everything off the lane. Needs net.mu.
func (l *lane) empty() {
	for _, p := range l.queue {
		delete(l.net.taken, p.due.UnixNano())
	}
	l.queue = nil
}

// send puts a message on its way. It never waits.
func (l *lane) send(p parcel) {
	n := l.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if l.ended || n.closed {
		return
	}
	latency, c, drawn := l.draw(p.what)
	out := time.Now()
	s := n.links[l.link]
	if s.rate > 0 {
		out = s.through(out, p.size())
		n.links[l.link] = s
	}
	p.of, p.due = c, l.due(out.Add(latency+s.lateness(drawn)), c)
	l.queue = append(l.queue, p)
	if len(l.queue) == 1 {
		l.arm()
	}
}

// through is when a message that is sent now has got into a narrow link, after all that
// was sent before it, on whichever connection.
func (s *linkState) through(now time.Time, size int64) time.Time {
	if s.free.Before(now) {
		s.free = now
	}
	s.free = s.free.Add(time.Duration(size * int64(time.Second) / s.rate))
	return s.free
}

// lateness is the delay of the message that has drawn this.
func (s linkState) lateness(drawn uint64) time.Duration {
	late := s.delay.By
	if jitter := s.delay.Jitter; jitter > 0 {
		late += time.Duration(mix(drawn)%uint64(2*jitter+1)) - jitter
	}
	return late
}

// draw is a message's latency and class, and what they are made of. They depend on which
// message it is, and not on when or after whom it is sent.
func (l *lane) draw(what uint64) (latency time.Duration, c class, drawn uint64) {
	n := l.net
	key := l.key
	if what == 0 {
		l.seq++
		key += l.seq * 0x9e3779b97f4a7c15
	} else {
		// Said before by the same one: the next time it takes another while.
		key = mix(key ^ what)
		again := n.said[key]
		n.said[key]++
		key += uint64(again) * 0x9e3779b97f4a7c15
	}
	drawn = mix(key)
	latency = n.latency.Base
	if spread := n.latency.Spread; spread > 0 {
		latency += time.Duration(drawn % uint64(spread))
	}
	return latency, l.class + class((drawn>>40)%uint64(l.width)), drawn
}

// due is the first instant of a class at or after at that keeps the order and in which
// nothing else comes out: two requests of one client to one node may draw one class,
// and which of them is done first must not be a matter of luck. A node that goes on after
// a pause finds more of them than there are classes, so it may be in a later grain.
func (l *lane) due(at time.Time, c class) time.Time {
	if !at.After(l.last) {
		at = l.last.Add(1)
	}
	for ; ; at = at.Add(grain) {
		for i := range l.width {
			due := (l.class + (c-l.class+class(i))%class(l.width)).next(at)
			if !l.net.taken[due.UnixNano()] {
				l.last = due
				l.net.taken[due.UnixNano()] = true
				return due
			}
		}
	}
}

// standsStill says whether anything on the lane moves. Needs net.mu.
func (l *lane) standsStill() bool {
	n := l.net
	return n.links[l.link].cut ||
		!l.toward && n.frozen[l.link.To] != nil || !l.past && n.frozen[l.link.From] != nil
}

// arm sets the timer to the head of the queue. Needs net.mu.
func (l *lane) arm() {
	if l.ended || len(l.queue) == 0 || l.standsStill() {
		return
	}
	d := max(0, time.Until(l.queue[0].due))
	if l.timer == nil {
		l.timer = time.AfterFunc(d, l.fire)
		return
	}
	l.timer.Reset(d)
}

// fire delivers the head of the queue if it is due. It may come for nothing, when
// the queue was moved meanwhile.
func (l *lane) fire() {
	n := l.net
	n.mu.Lock()
	if l.ended || len(l.queue) == 0 || l.standsStill() {
		n.mu.Unlock()
		return
	}
	p := l.queue[0]
	if p.due.After(time.Now()) {
		l.arm()
		n.mu.Unlock()
		return
	}
	l.queue[0] = parcel{}
	l.queue = l.queue[1:]
	delete(n.taken, p.due.UnixNano())
	l.arm()
	if n.links[l.link].drop {
		l.lost = true
		n.mu.Unlock()
		return
	}
	n.mu.Unlock()
	n.moved.Add(1)
	l.deliver(p)
}

// again lets lanes go on, in the order in which their next messages were due. Two lanes of
// one client may want the same instant for them; the first has it, and which one comes
// first out of a map is a matter of luck. Needs net.mu.
func again(all []*lane) {
	all = slices.DeleteFunc(all, func(l *lane) bool {
		if len(l.queue) == 0 {
			l.last = time.Now()
		}
		return len(l.queue) == 0
	})
	slices.SortFunc(all, func(a, b *lane) int { return a.queue[0].due.Compare(b.queue[0].due) })
	for _, l := range all {
		l.again()
	}
}

// again lets the queue go on after it stood still or was slowed down: nothing comes
// out at once that was not due, and everything in order. Needs net.mu.
func (l *lane) again() {
	now := time.Now()
	l.last = now
	if l.ended || len(l.queue) == 0 {
		return
	}
	soon := now.Add(l.net.latency.Base)
	s := l.net.links[l.link]
	late := soon.Add(l.net.latency.Spread + s.delay.By + s.delay.Jitter)
	if in := s.free.Sub(now); in > 0 {
		late = late.Add(in) // a narrow link is through with all of it by then
	}
	for _, p := range l.queue {
		delete(l.net.taken, p.due.UnixNano())
	}
	for i := range l.queue {
		at := l.queue[i].due
		if at.Before(soon) {
			at = soon
		}
		if at.After(late) {
			at = late
		}
		l.queue[i].due = l.due(at, l.queue[i].of)
	}
	l.arm()
}
