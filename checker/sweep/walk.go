package sweep

// walk is the exact search. It decides together the refusals, the acquires of unknown outcome
// and the owners that neither cores nor bounds decide. It goes through the events in order and
// keeps every state that the lock can be in: which sessions hold, which unknown acquires have
// had their hold, and which of the claims that are under way are met. A claim is a refusal,
// which needs a session in its way that holds at some instant between call and return; or the
// answer "not held", which needs such an instant at which its session does not hold.
//
// Nothing happens before an event needs it:
//
//   - After its core a session holds on until a session that conflicts with it comes, or until
//     its release has returned. Until then it is in the way of none, and explains refusals.
//
//   - A session comes when its acquire has returned, or when a refusal returns that nothing
//     else has met.
//
//   - A session whose acquire is unknown and whose release was ok comes and goes in one
//     instant: before a session comes that conflicts with it, or when its release returns.
//     In the first case the search follows both ways: it came and went, or it did not yet.
//
//   - A session that need not have held at all comes and goes like that only where it meets a
//     claim that the newcomer does not meet, because later is too late. Readers hide such an
//     instant: take a refused reader, two cores of readers, and a writer that fits between
//     them only.
//
//     reader   ├──core──┤       ├──core──┤
//     refused       ├──────────────┤
//     a writer           ├─────┤
//
//     So does an owner that comes to a lock that refuses the same owner:
//
//     owner x            ├──core──┤
//     x, refused    ├────────┤
//     owner y      ├──┤
//
// This loses nothing, and few of the sessions that can be let in early to meet a claim need be
// tried: docs/checker.md says why.
//
// The search is exponential only in the unknown acquires that are open at once.
type walk struct {
	*lock
	events       []event
	states, next []state
	tied         set      // unknown acquires that are not counted, from their call until they are certainly over
	claims       []claim  // under way, in the order of their calls
	waiting      []uint32 // granted sessions whose acquires were called and have not returned, in the order of returns
	pools        []pool   // unknown acquires that are counted
	blamed       uint32   // the refusal for which a session was let in last
	work         int
	overflow     bool // there are more states than can be looked at
	partial      bool // some unknown acquire counts as one that never happened, because there are too many pools
}

// state is one that the lock may be in.
type state struct {
	in   set              // sessions that hold
	done set              // tied sessions that have, or have had, their hold
	met  set              // claims that are met, by their calls
	used [poolsMax]uint32 // by pool: how many have, or have had, theirs
	idle uint32           // by pool: a session of that owner and mode holds, and may be gone at any time
}

// pool holds the unknown acquires without an answered release. Its sessions have the same mode and the
// same owner, or owners that have no other session.
type pool struct {
	holder
	young []uint32 // sessions that cannot be gone yet, in the order in which they can
	ripe  uint32   // how many may be gone
}

// claim is a strict refusal, or the answer "not held".
type claim struct {
	call    uint32
	session uint32
	refusal bool
}

// holder is a session that may hold, or stands for any session of a pool.
type holder struct {
	session uint32 // or None
	owner   uint32 // None if it has no other session
	shared  bool
}

const (
	poolsMax  = 32
	statesMax = 1 << 14
	workMax   = 1 << 25 // states over all events of a lock, without the first one of each event: some seconds
)

const tooMany = "more combinations of operations with unknown outcome are open at once than can be looked at"

// search decides the refusals that are open by a walk.
func (l *lock) search() {
	w := newWalk(l)
	for _, e := range w.events {
		w.step(e)
		if w.work += len(w.states) - 1; w.overflow || w.work > workMax {
			l.why = tooMany
			return
		}
	}
}

// step follows one event in every state.
func (w *walk) step(e event) {
	switch e.what {
	case called:
		w.call(e)
		return
	case mayEnd:
		w.ripen(e.session)
		return
	case claimed, doubted:
		w.claim(e)
		return
	}
	w.next = w.next[:0]
	for _, k := range w.states {
		switch e.what {
		case began:
			w.begin(k, e)
		case ended:
			w.end(k, e)
		case refusal:
			w.explain(k, e)
		case denied:
			w.deny(k, e)
		}
		if len(w.next) > 2*statesMax {
			if w.next = w.best(w.next); len(w.next) > statesMax {
				w.overflow = true
				return
			}
		}
	}
	if len(w.next) == 0 {
		w.fail(e)
	}
	w.states, w.next = w.next, w.states[:0]
	w.settle(e)
	w.states = w.best(w.states)
	w.overflow = w.overflow || len(w.states) > statesMax
}

// settle moves the data that all states share past an event.
func (w *walk) settle(e event) {
	switch e.what {
	case began:
		w.waiting = w.waiting[1:]
	case ended:
		w.tied = w.tied.without(e.session)
		for i := range w.states {
			w.states[i].done = w.states[i].done.without(e.session)
		}
	case refusal:
		w.unclaim(e)
	case denied:
		w.unclaim(e)
		if s := &w.sessions[e.session]; w.tied.has(e.session) && !s.released && e.pos >= s.notHeldLast {
			w.repool(e)
		}
	}
}

// fail reports that no state is left, and goes on as if the operation had not been.
func (w *walk) fail(e event) {
	w.next = append(w.next, w.states...)
	rule, whose := RefusedThoughFree, w.blamed // the session that was let in for it is in the way now
	switch e.what {
	case ended:
		rule, whose = ReleasedWithoutHolding, e.session
	case refusal:
		whose = e.session
	case began:
		for i := range w.next {
			w.next[i].in, w.next[i].idle = set{e.session}, 0
		}
	case denied:
		for i := range w.next {
			w.next[i].in = w.next[i].in.without(e.session)
		}
	}
	if w.partial {
		w.why = tooMany
		return
	}
	w.found(rule, whose, None)
}
