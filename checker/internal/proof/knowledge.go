package proof

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Proof is one promise that is broken in a history.
type Proof struct {
	What   string
	Class  string   // the class of the verdict, if the definitions name one
	Checks []string // at least one of these must find it
	Text   string
}

// told lists the checks of which one must find a proof. Two certain holders are found as an overlap, as a wrong answer, or
// as a lease that was handed over.
var told = map[string][]string{
	"double grant":             {"exclusion"},
	"worked on":                {"exclusion"},
	"two certain holders":      {"exclusion", "results", "lease"},
	"handed over early":        {"exclusion", "results", "lease"},
	"released without holding": {"results", "lease"},
	"renewed without holding":  {"results"},
	"released twice":           {"results"},
	"not held and then held":   {"results"},
	"evicted":                  {"results"},
	"refused though free":      {"results"},
	"token fell":               {"fencing"},
	"token repeated":           {"fencing"},
	"old token accepted":       {"resource"},
	"written twice":            {"resource"},
	"stale write":              {"resource"},
	"overtaken":                {"fairness"},
	"lease short":              {"lease"},
	"lease long":               {"lease"},
	"lost wake-up":             {"liveness"},
	"no progress":              {"liveness"},
}

// OfClients reports whether clients can have caused it without a mistake of the lock.
func (p Proof) OfClients() bool {
	return p.What == "worked on" || p.What == "written twice" || p.What == "stale write"
}

// slack is larger than the tolerance of the checkers for clocks.
const slack = 6 * time.Millisecond

// Prove returns the violations that the clients can prove with a history in the notation of the golden files.
func Prove(text string) ([]Proof, error) {
	h, err := read(text)
	if err != nil {
		return nil, err
	}
	x := newProver(h)
	rules := []func(){
		x.beliefs, x.works, x.holders, x.unheard, x.answers, x.tokens, x.refusals,
		x.queue, x.probes, x.wakes, x.progress, x.counters, x.stale,
	}
	for _, rule := range rules {
		rule()
	}
	return x.proofs, nil
}

type prover struct {
	h      *history
	known  []*knowledge
	struck int // the position of the first fault other than a short pause of a client
	proofs []Proof
}

// knowledge is what the history shows of a session's client.
type knowledge struct {
	*session
	x       *prover
	granted int           // position of the grant, or -1
	ttl     time.Duration // the length of the requested lease, or 0
	renewed time.Duration // the lease that the library renews, or 0
	hazy    bool          // the acquire waited, and the grant does not have the end of the lease
	notice  int           // the last position before a notice of a loss at which it certainly held
	claim   int           // the client counts on the lock before this position
	confirm int           // an answer shows that it held until then
}

const (
	end   = math.MaxInt                  // after the last position
	never = time.Duration(math.MaxInt64) // after all times
)

func newProver(h *history) *prover {
	x := &prover{h: h, struck: end}
	for _, s := range h.sessions {
		x.known = append(x.known, x.know(s))
	}
	begun := map[string]int{}
	for p, e := range h.events {
		if e.who != "nemesis" {
			continue
		}
		if e.phase == "begins" {
			begun[e.field["step"]] = p
		}
	}
	for step, p := range begun {
		if !x.short(step, p) {
			x.struck = min(x.struck, p)
		}
	}
	// Two faults in direct succession stop renewals for their total time.
	if len(begun) > 1 {
		for _, p := range begun {
			x.struck = min(x.struck, p)
		}
	}
	return x
}

// short reports whether a fault is a pause of a client that is too short to end a lease.
func (x *prover) short(step string, p int) bool {
	e := x.h.events[p]
	lease := never
	for _, t := range x.known {
		if t.renewed > 0 {
			lease = min(lease, t.renewed)
		}
	}
	for _, o := range x.h.events[p:] {
		if o.who == "nemesis" && o.field["step"] == step && o.phase == "healed" && o.field["targets"] == e.field["targets"] {
			return e.what == "pause" && o.time-e.time < lease*6/10
		}
	}
	return false
}

func (x *prover) time(p int) time.Duration { return x.h.events[p].time }

func (x *prover) prove(what, class, format string, args ...any) {
	x.proofs = append(x.proofs, Proof{what, class, told[what], fmt.Sprintf(format, args...)})
}

func (x *prover) is(word string) bool { return slices.Contains(x.h.header.Model, word) }

func (x *prover) know(s *session) *knowledge {
	t := &knowledge{session: s, x: x, granted: -1, notice: end, claim: end, confirm: -1}
	asked := x.h.events[s.acquire.call]
	t.ttl = asked.span("ttl")
	if s.acquire.outcome == done {
		t.granted = s.acquire.answer
		e := x.h.events[t.granted]
		if e.has("renewed") {
			t.renewed = e.span("lease")
		}
		t.hazy = t.ttl > 0 && asked.span("wait") > 0 && !e.has("until")
		t.ends()
	}
	return t
}

// signs returns the positions at which the client acted as the holder.
func (t *knowledge) signs() []int {
	var signs []int
	for _, o := range t.ops {
		if o.what == "release" {
			continue
		}
		stale := o.outcome == failed && t.x.h.events[o.answer].error == "stale-token"
		if o.outcome == done || stale {
			signs = append(signs, o.call)
		}
	}
	return signs
}

// last returns the latest sign before a position, or the grant.
func (t *knowledge) last(p int) int {
	last := t.granted
	for _, sign := range t.signs() {
		if sign < p {
			last = max(last, sign)
		}
	}
	return last
}

// ends computes the position at which the client stops to count on the lock, and the position up to which the server
// certainly kept the hold.
func (t *knowledge) ends() {
	x := t.x
	returned, worked := end, end // the first answer to a release; the call of the first release with ok
	released := end              // the call of the first release; later calls confirm nothing
	for _, o := range t.ops {
		if o.what == "release" {
			released = min(released, o.call)
		}
	}
	overruled := func(p int) bool {
		return slices.ContainsFunc(t.ops, func(o op) bool {
			return (o.what == "check" || o.what == "renew") && o.outcome == done && o.call > p && o.call < released
		})
	}
	for _, o := range t.ops {
		if o.what != "release" {
			if o.what == "renew" && o.outcome == done {
				t.confirm = max(t.confirm, o.call)
			}
			continue
		}
		t.claim, t.notice = min(t.claim, o.call), min(t.notice, o.call-1)
		if o.outcome != maybe {
			returned = min(returned, o.answer)
		}
		if o.outcome == done {
			worked = min(worked, o.call)
			t.confirm = max(t.confirm, o.call)
		}
	}
	news := func(p, claim int) {
		t.claim = min(t.claim, claim)
		t.notice = min(t.notice, t.last(p))
	}
	before := func(p int) int { // the position after the last sign; without a sign, the hold is empty
		if last := t.last(p); last > t.granted {
			return last + 1
		}
		return t.granted
	}
	for _, o := range t.ops {
		if o.outcome != failed || o.what != "check" && o.what != "renew" {
			continue
		}
		t.notice = min(t.notice, t.last(o.call)) // even if another session overrules it
		switch {
		case overruled(o.call) || worked < o.answer:
		case o.what == "renew":
			news(o.call, o.call)
		default:
			news(o.call, before(o.call))
		}
	}
	if p := t.lost; p >= 0 {
		t.notice = min(t.notice, t.last(p))
		if p < returned && !overruled(p) {
			news(p, before(p))
		}
	}
	if p := t.died; p >= 0 && p < returned {
		t.claim = min(t.claim, before(p))
	}
	if t.renewed > 0 || !x.alone(t) {
		t.confirm = -1 // answers after the end of the lease prove nothing
	}
}

// alone reports whether the session's owner has no other session on its keys.
func (x *prover) alone(t *knowledge) bool {
	return !slices.ContainsFunc(x.h.sessions, func(o *session) bool {
		return o != t.session && o.owner == t.owner && overlap(o.keys, t.keys)
	})
}

// leaseEnd returns the earliest end of the lease, with the renewals that were called by a position.
func (t *knowledge) leaseEnd(p int) time.Duration {
	if t.ttl == 0 {
		return never
	}
	x := t.x
	first := x.time(t.acquire.call) + t.ttl
	if e := x.h.events[t.granted]; e.has("until") {
		first = x.time(t.acquire.call) + e.span("until")
	}
	var renewals []op
	for _, o := range t.ops {
		if o.what == "renew" && o.call <= p && o.outcome != failed {
			renewals = append(renewals, o)
		}
	}
	moved := func(o op) bool { // by another renewal that was answered
		return slices.ContainsFunc(renewals, func(later op) bool {
			return later.outcome == done && later.answer <= p && o.outcome == done && o.answer <= p && o.answer < later.call
		})
	}
	earliest := first
	if slices.ContainsFunc(renewals, func(o op) bool { return o.outcome == done && o.answer <= p }) {
		earliest = never
	}
	for _, o := range renewals {
		if moved(o) {
			continue
		}
		d := x.h.events[o.call].span("ttl")
		if o.outcome == done && o.answer <= p && x.h.events[o.answer].has("until") {
			d = x.h.events[o.answer].span("until")
		}
		earliest = min(earliest, x.time(o.call)+d)
	}
	return earliest
}

// within reports whether the lease lasted from the grant to a position.
func (t *knowledge) within(p int, margin time.Duration) bool {
	for q := t.granted; q <= p; q++ {
		if e := t.leaseEnd(q); e != never && t.x.time(q)+margin >= e {
			return false
		}
	}
	// A library renews a grant only after its answer.
	soon := t.x.time(t.granted)-t.x.time(t.acquire.call) < t.renewed*6/10
	return t.renewed == 0 || p < t.x.struck && soon
}

// certain reports whether the session must have held the lock on the server at a position.
func (t *knowledge) certain(p int) bool {
	switch {
	case t.granted < 0 || p < t.granted:
		return false
	case p <= t.confirm:
		return true
	case p > t.notice:
		return false
	case t.ttl == 0 && t.died >= 0 && p > t.last(t.died):
		return false // the library of a dead client does not renew, and a hold without a lease ends with its client
	}
	return t.within(p, slack)
}

// believes reports whether the client counts on the lock at a position with good reason.
func (t *knowledge) believes(p int) bool {
	return t.granted >= 0 && t.granted <= p && p < t.claim && t.within(p, 0)
}

// conflicts reports whether two sessions cannot hold together.
func conflicts(s, t *knowledge) bool {
	return s != t && s.owner != t.owner && overlap(s.keys, t.keys) && (!s.shared || !t.shared)
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(k string) bool { return slices.Contains(b, k) })
}
