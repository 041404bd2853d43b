package bench

import (
	"math/rand/v2"

	"lockbench/checker/internal/sweep"
)

// Case has the parameters of a history, so that two processes can generate the same one.
type Case struct {
	Name    string      `json:"name"`
	Model   sweep.Model `json:"model"`
	Ops     int         `json:"ops"` // acquires and releases, of all locks
	Locks   int         `json:"locks"`
	Clients int         `json:"clients"` // of each lock
	Unknown float64     `json:"unknown"` // share of operations
	Lost    int         `json:"lost"`    // the number of acquires that are lost on the way, at even distances
	Late    bool        `json:"late"`    // two clients hold at once near the end
	Shared  bool        `json:"shared"`  // most acquires are those of readers
	Seed    uint64      `json:"seed"`
}

// Histories generates the history of each lock.
func (c Case) Histories() []*sweep.Ops {
	all := make([]*sweep.Ops, max(1, c.Locks))
	for i := range all {
		rng := rand.New(rand.NewPCG(c.Seed, uint64(i)))
		all[i] = c.one(rng, c.Ops/len(all))
	}
	return all
}

// bencher is a client that is idle, waits, holds, or cleans up.
type bencher struct {
	op      int // the outstanding operation, or -1
	session uint32
	outer   []uint32 // outer sessions of a reentrant lock
	owner   uint32
	depth   int
	shared  bool
	holds   bool
	cleans  bool // an outcome is unknown, so it releases until it gets an answer
}

// one simulates clients that compete for a lock. Waiters are served in random order, and some give up. A client that does not
// know whether it was granted the lock releases it.
func (c Case) one(rng *rand.Rand, ops int) *sweep.Ops {
	o := &sweep.Ops{All: make([]sweep.Op, 0, ops)}
	clients := make([]bencher, c.Clients)
	for i := range clients {
		clients[i].op, clients[i].owner = -1, uint32(i)
	}
	l := benchLock{reentrant: c.Model.Reentrant}
	at, sessions := uint32(0), uint32(0)
	for len(o.All) < ops || outstanding(clients) {
		b := &clients[rng.IntN(len(clients))]
		switch {
		case b.op >= 0 && o.All[b.op].Kind == sweep.Release:
			c.released(rng, o, b, at)
		case b.op >= 0:
			if !c.acquired(rng, o, b, &l, at, len(o.All) >= ops) {
				continue
			}
		case len(o.All) >= ops:
			continue
		case b.holds || b.cleans:
			b.op = len(o.All)
			o.All = append(o.All, sweep.Op{Call: at, Ret: at + 1, Session: b.session, Kind: sweep.Release, Out: sweep.OK})
			if b.holds {
				l.release(b)
				if b.depth--; b.depth <= 0 {
					b.holds = false
				}
			}
		default:
			c.acquire(rng, o, b, &sessions, at)
		}
		at++
	}
	if c.Late {
		late(o)
	}
	return o
}

func outstanding(clients []bencher) bool {
	for i := range clients {
		if clients[i].op >= 0 {
			return true
		}
	}
	return false
}

func (c Case) acquire(rng *rand.Rand, o *sweep.Ops, b *bencher, sessions *uint32, at uint32) {
	kind := sweep.Acquire
	if b.depth > 0 {
		b.outer = append(b.outer, b.session)
	}
	b.session = *sessions
	*sessions++
	if c.Model.Reentrant {
		o.Owners = append(o.Owners, b.owner)
	}
	b.shared = c.Shared && rng.IntN(4) > 0
	if b.shared {
		kind = sweep.AcquireShared
	}
	// A request that is lost on its way, and whose client goes on to something else: it
	// never happens, but that is unknown, and a search has to try.
	lost := c.Lost > 0 && int(*sessions)%max(1, c.Ops/2/c.Lost) == 0
	if b.depth == 0 && (lost || rng.Float64() < c.Unknown/2) {
		o.All = append(o.All, sweep.Op{Call: at, Ret: sweep.Never, Session: b.session, Kind: kind, Out: sweep.Unknown})
		return
	}
	b.op = len(o.All)
	o.All = append(o.All, sweep.Op{Call: at, Ret: at + 1, Session: b.session, Kind: kind, Out: sweep.OK})
}

// acquired answers an acquire if possible, and reports whether anything happened.
func (c Case) acquired(rng *rand.Rand, o *sweep.Ops, b *bencher, l *benchLock, at uint32, over bool) bool {
	i := b.op
	switch {
	case l.fits(b):
		l.acquire(b)
		b.op, b.holds, b.depth = -1, true, b.depth+1
		if c.Model.Reentrant && b.depth == 1 && rng.IntN(4) == 0 && !over {
			b.holds = false // enters again before its release
		}
		o.All[i].Ret = at
		if b.depth == 1 && b.holds && rng.Float64() < c.Unknown/2 {
			o.All[i].Out, o.All[i].Ret = sweep.Unknown, sweep.Never
			b.cleans, b.holds = true, true
		}
	case over || rng.IntN(5*c.Clients) == 0:
		b.op = -1
		o.All[i].Ret, o.All[i].Out = at, sweep.Fail
		if b.depth > 0 {
			b.holds = true
			b.leave()
		}
	default:
		return false
	}
	return true
}

func (c Case) released(rng *rand.Rand, o *sweep.Ops, b *bencher, at uint32) {
	i := b.op
	b.op = -1
	o.All[i].Ret = at
	if b.cleans {
		b.cleans = false // it got an answer
		return
	}
	if b.depth == 0 && rng.Float64() < c.Unknown {
		o.All[i].Out, o.All[i].Ret = sweep.Unknown, sweep.Never
	}
	b.leave()
}

// leave returns to the outer session.
func (b *bencher) leave() {
	if n := len(b.outer); n > 0 {
		b.session, b.outer = b.outer[n-1], b.outer[:n-1]
	}
}

// late changes a refusal near the end to a grant while another client holds.
func late(o *sweep.Ops) {
	for i := len(o.All) - 1; i > 0; i-- {
		if o.All[i].Kind != sweep.Acquire || o.All[i].Out != sweep.OK {
			continue
		}
		for j := i - 1; j >= 0; j-- {
			// j is granted shortly before i, and keeps the lock because its release is removed.
			if o.All[j].Kind == sweep.Acquire && o.All[j].Out == sweep.OK && o.All[j].Ret < o.All[i].Ret && o.All[j].Ret > o.All[i].Call {
				drop(o, o.All[j].Session)
				return
			}
		}
	}
}

// drop replaces the releases of a session by refused acquires.
func drop(o *sweep.Ops, session uint32) {
	last := uint32(0)
	for _, op := range o.All {
		last = max(last, op.Session)
	}
	for i := range o.All {
		if o.All[i].Session == session && o.All[i].Kind == sweep.Release {
			last++
			o.All[i].Kind, o.All[i].Out, o.All[i].Session = sweep.Acquire, sweep.Fail, last
		}
	}
	renumber(o)
}

// renumber numbers sessions in the order of their acquires.
func renumber(o *sweep.Ops) {
	number := map[uint32]uint32{}
	for i, op := range o.All {
		n, ok := number[op.Session]
		if !ok {
			n = uint32(len(number))
			number[op.Session] = n
		}
		o.All[i].Session = n
	}
}

// benchLock is a correct lock.
type benchLock struct {
	reentrant bool
	readers   int
	writer    bool
	owner     *bencher
}

func (l *benchLock) fits(b *bencher) bool {
	switch {
	case b.shared:
		return !l.writer
	case l.reentrant && l.owner == b:
		return true
	}
	return !l.writer && l.readers == 0
}

func (l *benchLock) acquire(b *bencher) {
	if b.shared {
		l.readers++
		return
	}
	l.writer, l.owner = true, b
}

func (l *benchLock) release(b *bencher) {
	switch {
	case b.shared:
		l.readers--
	case b.depth <= 1:
		l.writer, l.owner = false, nil
	}
}
