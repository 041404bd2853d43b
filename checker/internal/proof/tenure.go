package proof

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Proof is one promise that a history shows to be broken.
type Proof struct {
	What   string
	Class  string   // of the verdict, if the definitions name one
	Checks []string // one of these has to find it
	Text   string
}

// told is who has to find what is proven. Where two certainly held, that is what the
// clients counted on, an answer that cannot be, or a lease that was handed over.
var told = map[string][]string{
	"double grant":             {"exclusion"},
	"worked on":                {"exclusion"},
	"too many permits":         {"exclusion"},
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

// OfClients tells whether clients can have brought it about without their lock.
func (p Proof) OfClients() bool {
	return p.What == "worked on" || p.What == "written twice" || p.What == "stale write"
}

// slack is more than what a judge may allow for clocks.
const slack = 6 * time.Millisecond

// Prove finds what the clients can prove by a history in the notation of the golden files.
func Prove(text string) ([]Proof, error) {
	h, err := read(text)
	if err != nil {
		return nil, err
	}
	x := newProver(h)
	if x.is("semaphore") {
		x.permits()
		return x.proofs, nil
	}
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
	h       *history
	tenures []*tenure
	struck  int // position of the first fault that is not a short pause of a client
	proofs  []Proof
}

// tenure is what a session's client was told.
type tenure struct {
	*session
	x       *prover
	granted int           // position of the grant, or -1
	ttl     time.Duration // of the lease that was asked for, or 0
	renewed time.Duration // the lease that the library renews, or 0
	hazy    bool          // it waited, and does not say until when its lease runs
	notice  int           // the last moment before bad news at which it held for certain
	claim   int           // it counts on the lock before that position
	confirm int           // an answer shows that it held until then
}

const (
	end   = math.MaxInt                  // after the last position
	never = time.Duration(math.MaxInt64) // after all times
)

func newProver(h *history) *prover {
	x := &prover{h: h, struck: end}
	for _, s := range h.sessions {
		x.tenures = append(x.tenures, x.tenure(s))
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
	// Two faults right after the other stop renewals for as long as both together.
	if len(begun) > 1 {
		for _, p := range begun {
			x.struck = min(x.struck, p)
		}
	}
	return x
}

// short tells whether a fault is a pause of a client that costs no lease.
func (x *prover) short(step string, p int) bool {
	e := x.h.events[p]
	lease := never
	for _, t := range x.tenures {
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

func (x *prover) tenure(s *session) *tenure {
	t := &tenure{session: s, x: x, granted: -1, notice: end, claim: end, confirm: -1}
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

// signs are the moments at which the client showed that it took itself for the holder.
func (t *tenure) signs() []int {
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

// last is the latest sign before a position, or the grant.
func (t *tenure) last(p int) int {
	last := t.granted
	for _, sign := range t.signs() {
		if sign < p {
			last = max(last, sign)
		}
	}
	return last
}

// ends finds when the claim ends, and until when the server cannot have let go.
func (t *tenure) ends() {
	x := t.x
	returned, worked := end, end // the first answer to a release; the call of the first that was ok
	released := end              // the call of the first release: later calls confirm nothing
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
	before := func(p int) int { // right after the last sign; without one nothing is left
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
		t.confirm = -1 // what is said after the lease is not held against these
	}
}

// alone tells whether the session's owner has no other on its keys.
func (x *prover) alone(t *tenure) bool {
	return !slices.ContainsFunc(x.h.sessions, func(o *session) bool {
		return o != t.session && o.owner == t.owner && overlap(o.keys, t.keys)
	})
}

// leaseEnd is the earliest end of the lease, as far as was asked by a position.
func (t *tenure) leaseEnd(p int) time.Duration {
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
	moved := func(o op) bool { // by another that was answered
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

// within tells whether the lease ran from the grant to a position.
func (t *tenure) within(p int, margin time.Duration) bool {
	for q := t.granted; q <= p; q++ {
		if e := t.leaseEnd(q); e != never && t.x.time(q)+margin >= e {
			return false
		}
	}
	// A library renews a grant only after it has heard of it.
	soon := t.x.time(t.granted)-t.x.time(t.acquire.call) < t.renewed*6/10
	return t.renewed == 0 || p < t.x.struck && soon
}

// certain tells whether the server must have kept the session as a holder at a position.
func (t *tenure) certain(p int) bool {
	switch {
	case t.granted < 0 || p < t.granted:
		return false
	case p <= t.confirm:
		return true
	case p > t.notice:
		return false
	case t.ttl == 0 && t.died >= 0 && p > t.last(t.died):
		return false // no library renews for a dead client, and without a lease the lock is gone
	}
	return t.within(p, slack)
}

// believes tells whether the client counts on the lock at a position and may do so.
func (t *tenure) believes(p int) bool {
	return t.granted >= 0 && t.granted <= p && p < t.claim && t.within(p, 0)
}

// conflicts tells whether two sessions cannot hold together, permits aside.
func conflicts(s, t *tenure) bool {
	return s != t && s.owner != t.owner && overlap(s.keys, t.keys) && (!s.shared || !t.shared)
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(k string) bool { return slices.Contains(b, k) })
}
