package sweep

// walk is the exact search. It decides the refusals, the acquires of unknown outcome and the owners that neither cores nor
// bounds decide. It goes through the events in order and keeps every state in which the lock can be: which sessions hold,
// which unknown acquires have had their hold, and which of the open claims are met. A claim is a refusal, which needs a
// conflicting session that holds at some instant between call and return, or the answer "not held", which needs an instant
// at which its session does not hold.
//
// The search changes a state only when an event needs the change:
//
//   - After its core, a session holds until a conflicting session comes, or until its release has returned. Until then it
//     blocks no other session, and it explains refusals.
//
//   - A session comes when its acquire has returned, or when a refusal returns that no other session explains.
//
//   - A session whose acquire is unknown and whose release was ok comes and goes in one instant: before a conflicting
//     session comes, or when its release returns. In the first case the search follows both possibilities: the session came
//     and went, or it has not come yet.
//
//   - A session that may never have held is tried only where it explains a refusal that the newcomer does not explain. After
//     the newcomer, it would be too late. For example, a refused reader needs a writer that fits only between the cores of
//     two readers:
//
//     reader   ├──core──┤       ├──core──┤
//     refused       ├──────────────┤
//     a writer           ├─────┤
//
//     The same is true for an owner of a lock that refuses an owner because of its own hold:
//
//     owner x            ├──core──┤
//     x, refused    ├────────┤
//     owner y      ├──┤
//
// These rules lose no order of the operations, and they leave few sessions to try: docs/checker.md has the reasons.
//
// The search is exponential only in the number of unknown acquires that are open at once.
type walk struct {
	*lock
	events       []event
	states, next []state
	tied         set      // unknown acquires outside pools, from their call until they are certainly over
	claims       []claim  // open, in the order of their calls
	waiting      []uint32 // granted sessions whose acquires were called and have not returned, in the order of returns
	pools        []pool   // unknown acquires that are only counted
	blamed       uint32   // the refusal for which a session was let in last
	work         int
	overflow     bool // there are too many states
	partial      bool // there are too many pools, so the search ignores some unknown acquire
}

// state is a possible state of the lock.
type state struct {
	in   set              // sessions that hold
	done set              // tied sessions whose hold has begun, and may be over
	met  set              // claims that are met, by their calls
	used [poolsMax]uint32 // by pool: the number of sessions whose hold has begun
	idle uint32           // a bit for each pool: a session of its owner and mode holds, and may end at any time
}

// pool holds the unknown acquires without an answered release. Its sessions have the same mode and the
// same owner, or owners that have no other session.
type pool struct {
	holder
	young []uint32 // sessions that cannot have ended yet, in the order of their earliest ends
	ripe  uint32   // the number of sessions that may have ended
}

// claim is a strict refusal, or the answer "not held".
type claim struct {
	call    uint32
	session uint32
	refusal bool
}

// holder describes a session that may hold, or any session of a pool.
type holder struct {
	session uint32 // or None
	owner   uint32 // None if the owner has no other session
	shared  bool
}

const (
	poolsMax  = 32
	statesMax = 1 << 14
	workMax   = 1 << 25 // states over all events of a lock, without the first state of each event; takes some seconds
)

const tooMany = "more combinations of operations with unknown outcome are open at once than can be looked at"

// search decides the open refusals by a walk.
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

// step applies one event to every state.
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

// settle updates the data that all states share after an event.
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

// fail reports that no state is left, and continues as if the operation had not happened.
func (w *walk) fail(e event) {
	w.next = append(w.next, w.states...)
	rule, whose := RefusedThoughFree, w.blamed // the session that came to explain it is in conflict now
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
