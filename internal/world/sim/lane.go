package sim

import (
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
	key     uint64 // of its latencies
	class   class
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
	data []byte
	fin  bool
	talk any
}

// newLane opens a lane; id names it for its latencies.
func (n *network) newLane(link world.Link, id string, c class, deliver func(parcel)) *lane {
	l := &lane{net: n, link: link, key: hash(id) ^ n.seed*0x9e3779b97f4a7c15, class: c, deliver: deliver}
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
	l.ended, l.queue = true, nil
	if l.timer != nil {
		l.timer.Stop()
	}
	delete(l.net.lanes[l.link], l)
}

// send puts a message on its way. It never waits.
func (l *lane) send(p parcel) {
	n := l.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if l.ended || n.closed {
		return
	}
	p.due = l.due(time.Now().Add(l.latency() + n.links[l.link].delay))
	l.queue = append(l.queue, p)
	if len(l.queue) == 1 {
		l.arm()
	}
}

// latency draws the next message's; what it is depends on which message it is, and
// not on when or after whom it is drawn.
func (l *lane) latency() time.Duration {
	l.seq++
	lat := l.net.latency
	if lat.Spread <= 0 {
		return lat.Base
	}
	return lat.Base + time.Duration(mix(l.key+l.seq*0x9e3779b97f4a7c15)%uint64(lat.Spread))
}

// due is the first instant of the lane's class at or after at that keeps the order.
func (l *lane) due(at time.Time) time.Time {
	if !at.After(l.last) {
		at = l.last.Add(1)
	}
	l.last = l.class.next(at)
	return l.last
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

// again lets the queue go on after it stood still or was slowed down: nothing comes
// out at once that was not due, and everything in order. Needs net.mu.
func (l *lane) again() {
	now := time.Now()
	l.last = now
	if l.ended || len(l.queue) == 0 {
		return
	}
	soon := now.Add(l.net.latency.Base)
	late := soon.Add(l.net.latency.Spread + l.net.links[l.link].delay)
	for i := range l.queue {
		at := l.queue[i].due
		if at.Before(soon) {
			at = soon
		}
		if at.After(late) {
			at = late
		}
		l.queue[i].due = l.due(at)
	}
	l.arm()
}
