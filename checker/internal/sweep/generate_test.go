package sweep_test

import (
	"math/rand/v2"
	"slices"

	"lockbench/checker/internal/sweep"
)

// play has the parameters of random histories.
type play struct {
	strict bool // refusals claim that the lock was held
	shared bool // some acquires are shared
	owners int  // the number of owners; 0: each session is its own owner
	twice  bool // a session may have concurrent releases
}

// actor is the state of a client between two events.
type actor struct {
	owner   uint32
	session uint32
	op      int  // the operation without a return, or -1
	second  int  // a concurrent release, or -1
	held    bool // the client knows that it holds
	granted bool
	doubt   bool // an outcome of this session is unknown
	began   bool
}

// history draws a history of 2 to 5 clients and up to 14 operations. A simulated lock answers mostly correctly, so that about
// half of the histories are linearizable. With random answers, hardly any would be.
func (p play) history(rng *rand.Rand) *sweep.Ops {
	o := &sweep.Ops{}
	p.into(o, rng)
	return o
}

// into draws a history and reuses the memory of another one, because tests draw millions.
func (p play) into(o *sweep.Ops, rng *rand.Rand) {
	clients, lies := 2+rng.IntN(4), 0.0
	if rng.IntN(2) == 0 {
		lies = 0.15
	}
	p.draw(o, rng, clients, 2+rng.IntN(13), lies)
}

// long draws a long history of a correct lock.
func (p play) long(rng *rand.Rand, clients, ops int) *sweep.Ops {
	o := &sweep.Ops{}
	p.draw(o, rng, clients, ops, 0)
	return o
}

func (p play) draw(o *sweep.Ops, rng *rand.Rand, clients, ops int, lies float64) {
	copyTo(o, &sweep.Ops{}) // keeps its memory
	actors := make([]actor, clients, max(clients, 8))
	for i := range actors {
		actors[i].op, actors[i].second = -1, -1
		if p.owners > 0 {
			actors[i].owner = uint32(i % p.owners)
		}
	}
	l := truth{holders: make([]hold, 0, 8)}
	next := uint32(0)
	at := uint32(0)
	for range 6 * ops {
		a := &actors[rng.IntN(len(actors))]
		if p.twice && a.op >= 0 && a.second < 0 && o.All[a.op].Kind == sweep.Release && len(o.All) < ops && rng.IntN(2) == 0 {
			a.second = invoke(o, at, a.session, sweep.Release)
			at++
			continue
		}
		if a.op >= 0 {
			if a.second >= 0 && rng.IntN(2) == 0 {
				a.op, a.second = a.second, a.op
			}
			p.answer(rng, o, a, &l, lies, at)
			a.op, a.second = a.second, -1
			at++
			continue
		}
		if len(o.All) == ops {
			continue
		}
		if p.call(rng, o, a, &next, at) {
			at++
		}
	}
	// Operations without a return at the end stay unknown.
	for i := range o.All {
		if o.All[i].Ret == 0 {
			o.All[i].Ret, o.All[i].Out = sweep.Never, sweep.Unknown
		}
	}
}

// call adds the next call of an actor, and reports whether there is one.
func (p play) call(rng *rand.Rand, o *sweep.Ops, a *actor, next *uint32, at uint32) bool {
	acquires := !a.began || !a.doubt && !a.held && rng.IntN(8) > 0
	if a.began && !a.held && a.doubt && rng.IntN(3) == 0 {
		acquires = true // begins another session
	}
	kind := sweep.Release
	if acquires {
		kind = sweep.Acquire
		*a = actor{owner: a.owner, session: *next, op: -1, second: -1, began: true}
		*next++
		if p.owners > 0 {
			o.Owners = append(o.Owners, a.owner)
		}
		if p.shared && rng.IntN(2) == 0 {
			kind = sweep.AcquireShared
		}
	} else if !a.granted && !a.doubt || !a.held && rng.IntN(5) > 0 {
		return false // there is nothing to release, or it is released; sometimes it is released again
	}
	a.op = invoke(o, at, a.session, kind)
	return true
}

// invoke adds the call of an operation.
func invoke(o *sweep.Ops, at, session uint32, k sweep.Kind) (op int) {
	o.All = append(o.All, sweep.Op{at, 0, session, k, sweep.OK})
	return len(o.All) - 1
}

// answer adds the return of the outstanding operation, or makes its outcome unknown.
func (p play) answer(rng *rand.Rand, o *sweep.Ops, a *actor, l *truth, lies float64, at uint32) {
	i := a.op
	acquire := o.All[i].Kind != sweep.Release
	unknown := rng.IntN(6) == 0
	happens := l.fits(a, o.All[i].Kind, p)
	if happens && unknown && rng.IntN(3) == 0 {
		happens = false // the request never arrives
	}
	if unknown {
		o.All[i].Ret, o.All[i].Out = sweep.Never, sweep.Unknown
		a.doubt = true
	} else {
		o.All[i].Ret = at
		if rng.Float64() < lies {
			happens = !happens
		}
		switch {
		case happens:
			o.All[i].Out = sweep.OK
		case acquire && p.strict && rng.IntN(4) > 0:
			o.All[i].Out = sweep.StrictFail
		default:
			o.All[i].Out = sweep.Fail
		}
	}
	if happens {
		l.apply(a, o.All[i].Kind)
	}
	switch {
	case acquire && o.All[i].Out == sweep.OK:
		a.held, a.granted = true, true
	case acquire && o.All[i].Out != sweep.Unknown:
		a.began = false // a refused attempt is over
	case !acquire:
		a.held = false
	}
}

// truth is a correct lock.
type truth struct{ holders []hold }

type hold struct {
	session uint32
	shared  bool
	owner   uint32
}

// indexOf returns the index of a session among the holders, or -1.
func (l *truth) indexOf(session uint32) int {
	return slices.IndexFunc(l.holders, func(h hold) bool { return h.session == session })
}

func (l *truth) fits(a *actor, k sweep.Kind, p play) bool {
	holds := l.indexOf(a.session) >= 0
	switch {
	case k == sweep.Release:
		return holds
	case holds:
		return false
	}
	for _, h := range l.holders {
		if !(h.shared && k == sweep.AcquireShared) && (p.owners == 0 || h.owner != a.owner) {
			return false
		}
	}
	return true
}

func (l *truth) apply(a *actor, k sweep.Kind) {
	if k == sweep.Release {
		l.holders = slices.DeleteFunc(l.holders, func(h hold) bool { return h.session == a.session })
		return
	}
	l.holders = append(l.holders, hold{a.session, k == sweep.AcquireShared, a.owner})
}

// shape has the outcome of a session's acquire and of its releases.
type shape struct {
	acquire  sweep.Out
	releases []sweep.Out
	shared   bool
}

var shapes = []shape{
	{sweep.OK, nil, false},
	{sweep.OK, []sweep.Out{sweep.OK}, false},
	{sweep.OK, []sweep.Out{sweep.Fail}, false},
	{sweep.OK, []sweep.Out{sweep.Unknown}, false},
	{sweep.Unknown, nil, false},
	{sweep.Unknown, []sweep.Out{sweep.OK}, false},
	{sweep.Unknown, []sweep.Out{sweep.Fail}, false},
	{sweep.Unknown, []sweep.Out{sweep.Unknown}, false},
	{sweep.StrictFail, nil, false},
	{sweep.Fail, nil, false},
	// A client that cleans up repeats releases without an answer.
	{sweep.OK, []sweep.Out{sweep.Unknown, sweep.OK}, false},
	{sweep.OK, []sweep.Out{sweep.Unknown, sweep.Fail}, false},
	{sweep.Unknown, []sweep.Out{sweep.Unknown, sweep.OK}, false},
	{sweep.Unknown, []sweep.Out{sweep.Unknown, sweep.Fail}, false},
}

// writers are the shapes without failed releases, which matter only for the plain mutex.
func writers() []shape {
	return slices.DeleteFunc(slices.Clone(shapes), func(s shape) bool {
		return len(s.releases) > 1 || len(s.releases) == 1 && s.releases[0] == sweep.Fail && s.acquire == sweep.OK || s.acquire == sweep.Fail
	})
}

// readersAndWriters are shapes of readers and of writers.
func readersAndWriters() []shape {
	all := writers()
	for _, s := range writers() {
		s.shared = true
		all = append(all, s)
	}
	return all
}

// interleave calls each with every history of up to the given number of sessions, until each returns false. Sessions are numbered
// in the order of their acquires, so that no two histories differ only in names. At most one session of a history
// repeats its release, because there would be too many histories otherwise.
//
// All calls get the same memory, so a caller that keeps a history must copy it. Each session is its own owner if no owners are
// given.
func interleave(sessions int, shapes []shape, owners []uint32, each func(*sweep.Ops) bool) {
	o := &sweep.Ops{}
	open := make([]running, 0, sessions)
	var walk func(repeats bool, at uint32) bool
	walk = func(repeats bool, at uint32) bool {
		if owners != nil {
			o.Owners = owners[:len(open)]
		}
		if len(open) > 0 && done(open) && !each(o) {
			return false
		}
		for i, was := range open {
			if !was.left() {
				continue
			}
			open[i] = was.step(o, uint32(i), at)
			on := walk(repeats, at+1)
			was.back(o)
			open[i] = was
			if !on {
				return false
			}
		}
		if len(open) == sessions {
			return true
		}
		begun := uint32(len(open))
		for _, s := range shapes {
			if repeats && len(s.releases) > 1 {
				continue
			}
			was := running{shape: s}
			open = append(open, was.step(o, begun, at))
			on := walk(repeats || len(s.releases) > 1, at+1)
			was.back(o)
			open = open[:begun]
			if !on {
				return false
			}
		}
		return true
	}
	walk(false, 0)
}

// running is a session in the middle of its shape.
type running struct {
	shape
	done int // the number of completed operations
	op   int // the one without a return
	open bool
}

// left reports whether events are missing. An unknown operation has no return.
func (r running) left() bool { return r.open || r.done <= len(r.releases) }

// step adds the next event of the session.
func (r running) step(o *sweep.Ops, session, at uint32) running {
	if r.open {
		o.All[r.op].Ret = at
		r.open = false
		r.done++
		return r
	}
	kind, out := sweep.Acquire, r.acquire
	if r.shared {
		kind = sweep.AcquireShared
	}
	if r.done > 0 {
		kind, out = sweep.Release, r.releases[r.done-1]
	}
	r.op = len(o.All)
	o.All = append(o.All, sweep.Op{at, sweep.Never, session, kind, out})
	if out == sweep.Unknown {
		r.done++
	} else {
		r.open = true
	}
	return r
}

// back removes the last event, which belongs to the session.
func (r running) back(o *sweep.Ops) {
	if r.open {
		o.All[r.op].Ret = sweep.Never
		return
	}
	o.All = o.All[:len(o.All)-1]
}

func done(open []running) bool {
	for _, r := range open {
		if r.left() {
			return false
		}
	}
	return true
}

func clone(o *sweep.Ops) *sweep.Ops {
	c := &sweep.Ops{}
	copyTo(c, o)
	return c
}

// copyTo copies o to c.
func copyTo(c, o *sweep.Ops) {
	c.All = append(c.All[:0], o.All...)
	c.Owners = append(c.Owners[:0], o.Owners...)
}
