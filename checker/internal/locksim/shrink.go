package locksim

import (
	"slices"
	"time"
)

// Shrink shrinks a plan as long as it fails. It removes clients, faults and steps, and simplifies steps and the lock. It
// tries at most the given number of plans.
func Shrink(p Plan, fails func(Plan) bool, tries int) Plan {
	for {
		smaller, found := Plan{}, false
		for _, q := range simpler(p) {
			if tries--; tries < 0 {
				return p
			}
			if fails(q) {
				smaller, found = q, true
				break
			}
		}
		if !found {
			return p
		}
		p = smaller
	}
}

// simpler returns the plans that are one change away, with the largest changes first.
func simpler(p Plan) []Plan {
	var all []Plan
	with := func(change func(*Plan)) {
		q := clone(p)
		change(&q)
		all = append(all, q)
	}
	for i := range p.Clients {
		if len(p.Clients[i]) > 0 {
			with(func(q *Plan) { q.Clients[i] = nil })
		}
	}
	for i := range p.Faults {
		with(func(q *Plan) { q.Faults = slices.Delete(q.Faults, i, i+1) })
	}
	if p.Quiet.Ends > 0 {
		with(func(q *Plan) { q.Quiet = Quiet{} })
	}
	for i, script := range p.Clients {
		for j, s := range script {
			if s.Do == Acquire {
				with(func(q *Plan) {
					q.Clients[i] = slices.DeleteFunc(q.Clients[i], func(o Step) bool { return o.ID == s.ID && o.Do == Acquire || o.Of == s.ID && o.Do != Acquire })
				})
			}
			with(func(q *Plan) { q.Clients[i] = slices.Delete(q.Clients[i], j, j+1) })
		}
	}
	for _, l := range simplerLocks(p.Lock) {
		with(func(q *Plan) { q.Lock = l })
	}
	for i, script := range p.Clients {
		for j, s := range script {
			for _, t := range simplerSteps(s) {
				with(func(q *Plan) { q.Clients[i][j] = t })
			}
		}
	}
	return all
}

func clone(p Plan) Plan {
	q := p
	q.Faults = slices.Clone(p.Faults)
	q.Clients = make([]Script, len(p.Clients))
	for i, s := range p.Clients {
		q.Clients[i] = slices.Clone(s)
	}
	return q
}

func simplerLocks(l Lock) []Lock {
	var all []Lock
	with := func(applies bool, change func(*Lock)) {
		if applies {
			m := l
			change(&m)
			all = append(all, m)
		}
	}
	with(l.Strict, func(m *Lock) { m.Strict = false })
	with(l.Watched, func(m *Lock) { m.Watched = false })
	with(l.Fair, func(m *Lock) { m.Fair = false })
	with(l.Queue, func(m *Lock) { m.Queue, m.Fair = false, false })
	with(l.Linger > 0, func(m *Lock) { m.Linger = 0 })
	with(l.Drift > 0, func(m *Lock) { m.Drift = 0 })
	with(l.OneOwner, func(m *Lock) { m.OneOwner = false })
	with(l.Shy, func(m *Lock) { m.Shy = false })
	with(l.NoWaits, func(m *Lock) { m.NoWaits = false })
	with(!l.Until, func(m *Lock) { m.Until = true })
	with(l.Careless, func(m *Lock) { m.Careless = false })
	with(l.Fenced, func(m *Lock) {
		m.Fenced = false
		m.Model = slices.DeleteFunc(slices.Clone(m.Model), func(w string) bool { return w == "fenced" })
	})
	with(l.Owners && !l.Enters, func(m *Lock) { m.Owners = false })
	return all
}

func simplerSteps(s Step) []Step {
	var all []Step
	with := func(applies bool, change func(*Step)) {
		if applies {
			t := s
			change(&t)
			all = append(all, t)
		}
	}
	plain := time.Millisecond
	with(s.Aside, func(t *Step) { t.Aside = false })
	with(s.Look > 0, func(t *Step) { t.Look = 0 })
	with(s.Seen > 0, func(t *Step) { t.Seen = 0 })
	with(s.Wait > 0, func(t *Step) { t.Wait = 0 })
	with(s.Shared, func(t *Step) { t.Shared = false })
	with(len(s.Keys) > 1, func(t *Step) { t.Keys = t.Keys[:1] })
	with(s.Do == Touch, func(t *Step) { t.Do = Check })
	with(s.Fate.LoseThere, func(t *Step) { t.Fate.LoseThere = false })
	with(s.Fate.LoseBack, func(t *Step) { t.Fate.LoseBack = false })
	with(s.Fate.There > plain, func(t *Step) { t.Fate.There = plain })
	with(s.Fate.Back > plain, func(t *Step) { t.Fate.Back = plain })
	with(s.Fate.Wrong, func(t *Step) { t.Fate.Wrong = false })
	with(s.After > plain, func(t *Step) { t.After = plain })
	return all
}
