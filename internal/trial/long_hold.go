package trial

import (
	"sync"
	"time"

	"lockbench/nemesis"
	"lockbench/workloads"
)

// longHold is the hold of a client that a step with `until` asked to hold on, until the servers are back, or have another
// leader, and another client was answered. Without the answer nothing has tested the lock.
type longHold struct {
	mu       sync.Mutex
	step     nemesis.Planned
	deadline time.Time
	happened bool // what the step waits for
	answered bool // another client was answered after that
}

// begin begins the hold of the client that triggered a step.
func (l *longHold) begin(step nemesis.Planned, deadline time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.step, l.deadline, l.happened, l.answered = step, deadline, false, false
}

// session returns the session that holds on, or "".
func (l *longHold) session() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.step.By == nil {
		return ""
	}
	return l.step.By.Session
}

// healed notes that the fault of a step is over.
func (l *longHold) healed(step int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.happened = l.happened || l.step.Step.Until == nemesis.UntilHealed && l.step.ID == step
}

// promoted notes that another server became the leader.
func (l *longHold) promoted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.happened = l.happened || l.step.Step.Until == nemesis.UntilPromoted
}

// reached notes the answers that other clients get.
func (l *longHold) reached(m workloads.Moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	by := l.step.By
	if l.happened && by != nil && m.Client != by.Client && m.Key == by.Key && (m.Event == workloads.Acquired || m.Event == workloads.Waiting) {
		l.answered = true
	}
}

// goesOn reports whether the hold of a session goes on.
func (l *longHold) goesOn(session string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	by := l.step.By
	return by != nil && by.Session == session && !l.answered && time.Now().Before(l.deadline)
}

// longestHold returns for how long the client that triggered a step holds at most.
func (t *Trial) longestHold(p nemesis.Planned) time.Duration {
	switch {
	case p.Step.Until == "":
		return *p.Hold
	case t.Subject.ttl > 0:
		return max(*p.Hold, t.Subject.ttl-t.Subject.ttl/8)
	default:
		return *p.Hold + eventLimit
	}
}
