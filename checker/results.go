package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
	"lockbench/locks"
)

// ruleGrantedDead is the rule for a grant whose lease was over when the library answered.
const ruleGrantedDead = "granted-dead"

// ruleEvicted is the rule for a holder that was answered "not held" within its lease.
const ruleEvicted = "evicted"

// results checks whether the answers of a lock were true: that a release or a renewal worked,
// that the client did not hold the lock, that another client held it.
//
// The check exclusion judges the clients that counted on the lock, and results judges the answers
// of the lock. For a lock without leases, both find nothing if and only if the history is
// linearizable; package sweep decides that. A release or renewal that was answered with ok also
// proves that the session had held without a break until the call (proven.go).
func results(l *ledger, _ Report) Result {
	a := answers{ledger: l, reported: map[string]bool{}}
	for i := range l.All {
		a.session(&l.All[i])
	}
	var why []string
	for _, k := range l.Keys {
		a.proven(k)
		if doubt := a.sweep(k); doubt != "" && !slices.Contains(why, doubt) {
			why = append(why, doubt)
		}
	}
	r := violated(a.findings)
	if r.Verdict == Valid && len(why) > 0 {
		r.Verdict, r.Why = Unknown, strings.Join(why, "; ")
	}
	return r
}

// answers collects the wrong answers.
type answers struct {
	*ledger
	findings []Finding
	reported map[string]bool // rules and sessions that were reported
}

func (a *answers) found(rule string, d *hold.Hold, key string, at int, text string, other *hold.Hold, positions ...int) {
	s := d.Session
	id := rule + " " + s.Name
	if a.reported[id] {
		return
	}
	a.reported[id] = true
	f := Finding{Rule: rule, Key: key, Event: at, Text: text, Sessions: []string{s.Name}}
	shown := append([]int{s.Acquire.Invoke, s.Acquire.Return}, positions...)
	if other != nil {
		f.Sessions = append(f.Sessions, other.Session.Name)
		shown = append(shown, other.Session.Acquire.Invoke, other.Session.Acquire.Return)
	}
	shown = slices.DeleteFunc(shown, func(pos int) bool { return pos < 0 })
	slices.Sort(shown)
	f.Events = slices.Compact(shown)
	a.findings = append(a.findings, f)
}

// session judges the answers to one session without regard to other sessions.
func (a *answers) session(d *hold.Hold) {
	s := d.Session
	if end, dead := a.Dead(d); dead {
		a.found(ruleGrantedDead, d, s.Keys[0], d.Grant,
			fmt.Sprintf("the lock granted %q to %s at %s, but %s the lease had ended at %s",
				s.Keys[0], client(d, nil), secondsAt(a.ledger, d.Grant), byWhom(d), seconds(end)), nil)
	}
	released, refused := -1, -1 // indexes in s.Ops: the first release with ok, the first answer "not held"
	worked := len(a.h.Events)   // the call of the first release that worked or may have worked
	for i, op := range s.Ops {
		switch {
		case op.F == history.Release && !a.NotHeld(op):
			worked = min(worked, op.Invoke)
		case (op.F == history.Release || op.F == history.Renew) && a.NotHeld(op) && (refused < 0 || op.Return < s.Ops[refused].Return):
			refused = i
		}
	}
	key := s.Keys[0]
	held := -1                // the index of the first answer that it held, after an answer that it did not hold
	var renewals []history.Op // that were answered with ok
	for i, op := range s.Ops {
		release := op.F == history.Release
		if !release && op.F != history.Renew || op.Outcome != history.Done {
			continue
		}
		if !release {
			renewals = append(renewals, op)
		}
		if released >= 0 && release && !a.owned.mayHold(d, op) {
			a.found("released-twice", d, key, op.Return,
				fmt.Sprintf("the lock confirmed at %s that %s has released %q, and again at %s",
					secondsAt(a.ledger, s.Ops[released].Return), client(d, nil), key, secondsAt(a.ledger, op.Return)), nil, s.Ops[released].Return, op.Return)
		}
		if released >= 0 && !release && s.Ops[released].Return < op.Invoke && !a.owned.mayHold(d, op) {
			a.found("released-without-holding", d, key, op.Return,
				fmt.Sprintf("the lock confirmed at %s that %s has renewed %q, but at %s that it has released it",
					secondsAt(a.ledger, op.Return), client(d, nil), key, secondsAt(a.ledger, s.Ops[released].Return)), nil, s.Ops[released].Return, op.Return)
		}
		if refused >= 0 && s.Ops[refused].Return < op.Invoke && (held < 0 || op.Return < s.Ops[held].Return) && d.Granted() && !a.owned.mayHold(d, op) {
			held = i
		}
		if release && released < 0 {
			released = i
		}
	}
	// If two calls were under way at once, either may have taken effect first.
	for _, op := range s.Ops {
		if (op.F == history.Release || op.F == history.Renew) && a.NotHeld(op) && d.Granted() && op.Return < worked &&
			(held < 0 || op.Return < s.Ops[held].Return) && (a.Runs(d, op, op.Return) || a.renewedAtOnce(d, op, renewals)) && !a.owned.mayHaveGivenBack(d, op) {
			a.evicted(d, op)
			break
		}
	}
	for _, op := range s.Ops {
		if m, ok := a.handedOn(d, op); ok && m.Grant < worked && !a.owned.mayHaveGivenBack(d, op) {
			a.found(ruleEvicted, d, key, op.Return,
				fmt.Sprintf("the lock answered %s at %s that it does not hold %q, but %s was granted it at %s, during the release and within the lease",
					client(d, m), secondsAt(a.ledger, op.Return), key, client(m, d), secondsAt(a.ledger, m.Grant)), m, op.Invoke, op.Return)
			break
		}
	}
	if held >= 0 {
		no, yes := s.Ops[refused], s.Ops[held]
		a.found(ruleEvicted, d, key, yes.Return,
			fmt.Sprintf("the lock answered %s at %s that it does not hold %q, but at %s that it has %s it, so it had held",
				client(d, nil), secondsAt(a.ledger, no.Return), key, secondsAt(a.ledger, yes.Return), done(yes)), nil, no.Return, yes.Return)
	}
}

// byWhom names what tells that a lease was over when it was granted.
func byWhom(d *hold.Hold) string {
	if d.Lease.Kind == hold.Answered {
		return "no fault delayed it, so"
	}
	return "by its own word"
}

// renewedAtOnce reports whether a renewal worked that was under way when the session was answered
// "not held". That contradicts the answer: if the renewal took effect first, its lease still runs,
// and if the session had ended first, the renewal could not work.
//
//	renew ──────────────────── ok, lease 1 s
//	    renew ── not held
func (a *answers) renewedAtOnce(d *hold.Hold, op history.Op, renewals []history.Op) bool {
	return slices.ContainsFunc(renewals, func(r history.Op) bool {
		return r.Invoke < op.Return && op.Return < r.Return && a.Runs(d, op, r.Return)
	})
}

// resendMin is the shortest time after which a library sends a request again that got no answer.
const resendMin = 200 * time.Millisecond

// handedOn returns a grant to another client during a release that was answered "not held", while the lease of the session
// certainly ran. If the release freed the lock, the answer is false. If not, the client had lost the lock within its lease:
//
//	client 1  acquire ok, lease 550 ms   release ────────────────── not held
//	client 2                                acquire ── ok    lease ends
//
// A correct lock can give such an answer in these cases, which do not count:
//
//   - It releases on one server after another, as RedLock does. The lock is free on a majority before the release reaches
//     the other servers, where the lease has ended by then. So the lock must have one server, or claim to decide in one step.
//   - Its library sends the release again because the first answer was lost, and the first release worked. So no fault may
//     concern the client from its acquire on, and the answer must come sooner than a library sends anything again.
//   - A server lost the grant. So no server may have had a fault before the answer.
//   - The other grant took effect before that of the session, or the grant of the session was over when it was answered. So the
//     other client must have asked after an answer that came within the lease.
//   - The refused session has several keys, one of which was lost, or is a reader, whose lease other readers share.
func (a *answers) handedOn(d *hold.Hold, op history.Op) (*hold.Hold, bool) {
	s := d.Session
	if op.F != history.Release || !a.NotHeld(op) || !d.Granted() || a.MayBeLate(d) || len(s.Keys) > 1 || s.Mode == locks.Shared ||
		!oneStep(a.ledger) || op.Return >= a.durable || a.h.Events[op.Return].Time-a.h.Events[op.Invoke].Time >= resendMin {
		return nil, false
	}
	granted := a.Keys[s.KeyAt[0]].Granted
	first, _ := slices.BinarySearchFunc(granted, op.Invoke, func(m *hold.Hold, pos int) int { return m.Grant - pos })
	for _, m := range granted[first:] {
		before := history.Op{F: op.F, Invoke: op.Invoke, Return: m.Grant}
		if m.Grant >= min(op.Return, d.Ends.Lapse) || !a.Runs(d, before, m.Grant) {
			break
		}
		if hold.Conflict(d, m) && m.Session.Acquire.Invoke > d.Grant {
			hit := slices.ContainsFunc(a.h.Faults, func(f history.Fault) bool {
				return f.Begins < op.Return && (f.Healed < 0 || f.Healed > s.Acquire.Invoke) && f.Concerns(s.Client)
			})
			return m, !hit
		}
	}
	return nil, false
}

// oneStep reports whether one server decides who holds the lock.
func oneStep(l *ledger) bool {
	return l.h.Header.Claims.Strict || l.h.Header.Topology == string(locks.Single)
}

// evicted reports a session that was answered "not held" while its lease ran.
func (a *answers) evicted(d *hold.Hold, op history.Op) {
	a.found(ruleEvicted, d, d.Session.Keys[0], op.Return,
		fmt.Sprintf("the lock answered %s at %s that it does not hold %q, %s", client(d, nil), secondsAt(a.ledger, op.Return), d.Session.Keys[0], a.until(d, op)), nil, op.Invoke, op.Return)
}

// done names the effect of a successful operation.
func done(op history.Op) string {
	if op.F == history.Renew {
		return "renewed"
	}
	return "released"
}

// until describes the end that a lease would have had.
func (a *answers) until(d *hold.Hold, op history.Op) string {
	if d.Renewed() {
		return "although its library renewed its lease and it had not been released"
	}
	if !a.Runs(d, op, op.Return) {
		return "although a renewal that was under way at the same time worked, and its lease runs"
	}
	if deadline, _ := d.LeaseEnd(op.Return); deadline != hold.Never {
		return fmt.Sprintf("although its lease ran until %s and it had not been released", seconds(deadline))
	}
	return "although it had not been released"
}
