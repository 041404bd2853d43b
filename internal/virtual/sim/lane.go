package sim

import (
	"slices"
	"time"

	"lockbench/internal/world"
)

// lane is one direction of a connection, or of the messages between two nodes. Messages come out in
// order, each after its own latency.
//
//	send ──▶ queue (in flight) ──▶ deliver
//	              │
//	              └─ stops while the link is cut or an end is stopped;
//	                 messages are lost at its end while replies are dropped
type lane struct {
	net     *network
	link    world.Link
	key     uint64       // of its latencies
	class   class        // the first of its classes
	width   int          // how many it has
	deliver func(parcel) // called in the instant of the delivery, without locks
	// past and toward ignore that the sender or the receiver is stopped. Probes set them.
	past, toward bool

	// Guarded by net.mu.
	seq   uint64
	last  time.Time // when the last message in the queue is due
	queue []parcel
	timer *time.Timer
	lost  bool
	ended bool
}

// parcel is a message in flight: bytes, the end of a stream, or a message between nodes.
type parcel struct {
	due  time.Time
	of   class // of the due
	data []byte
	// the identity of a message among those of lanes with the same id, from its content; 0: its number.
	what uint64
	fin  bool
	talk any
	load int // bytes of a probe
}

// The sizes on a throttled link: the overhead of a message, and a message between nodes, whose bytes
// are not simulated.
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

// newLane opens a lane. Its latencies depend on id. Lanes with one id share their latencies, so it does
// not matter which of its connections a client uses; the pool of its library decides that.
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

// end removes a lane with everything in flight.
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

// empty removes everything from the lane. Needs net.mu.
func (l *lane) empty() {
	for _, p := range l.queue {
		delete(l.net.taken, p.due.UnixNano())
	}
	l.queue = nil
}

// send sends a message. It never waits.
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
	if s.Rate > 0 {
		out = s.through(out, p.size())
		n.links[l.link] = s
	}
	p.of, p.due = c, l.due(out.Add(latency+s.lateness(drawn)), c)
	l.queue = append(l.queue, p)
	if len(l.queue) == 1 {
		l.arm()
	}
}

// through returns when a message that is sent now has entered a throttled link, after all messages
// sent before it on any connection.
func (s *linkState) through(now time.Time, size int64) time.Time {
	if s.free.Before(now) {
		s.free = now
	}
	s.free = s.free.Add(time.Duration(size * int64(time.Second) / s.Rate))
	return s.free
}

// lateness is the delay of the message with this draw.
func (s linkState) lateness(drawn uint64) time.Duration {
	late := s.Delay.By
	if jitter := s.Delay.Jitter; jitter > 0 {
		late += time.Duration(mix(drawn)%uint64(2*jitter+1)) - jitter
	}
	return late
}

// draw returns a message's latency and class, and their seed. They depend on the identity of the
// message, and not on the time or order of sending.
func (l *lane) draw(what uint64) (latency time.Duration, c class, drawn uint64) {
	n := l.net
	key := l.key
	if what == 0 {
		l.seq++
		key += l.seq * 0x9e3779b97f4a7c15
	} else {
		// A repeated message gets another latency.
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

// due returns the first free instant of a class, at or after a time, that keeps the order. A client may send
// two requests to a node that draw the same class, and their order must not be random. After a pause
// there may be more messages than classes, so the instant may be in a later grain.
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

// standsStill reports whether the lane is stopped. Needs net.mu.
func (l *lane) standsStill() bool {
	n := l.net
	return n.links[l.link].Cut ||
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

// fire delivers the head of the queue if it is due. The queue may have been delayed meanwhile.
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
	if n.links[l.link].Drop {
		l.lost = true
		n.mu.Unlock()
		return
	}
	n.mu.Unlock()
	n.moved.Add(1)
	l.deliver(p)
}

// again continues lanes in the order in which their next messages were due, because two lanes of one
// client may draw the same instant and the order of a map is random. Needs net.mu.
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

// again continues the queue after it was stopped or slowed down. Messages that were not due are not
// delivered at once, and the order stays. Needs net.mu.
func (l *lane) again() {
	now := time.Now()
	l.last = now
	if l.ended || len(l.queue) == 0 {
		return
	}
	soon := now.Add(l.net.latency.Base)
	s := l.net.links[l.link]
	late := soon.Add(l.net.latency.Spread + s.Delay.By + s.Delay.Jitter)
	if in := s.free.Sub(now); in > 0 {
		late = late.Add(in) // a throttled link has sent all of it by then
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
