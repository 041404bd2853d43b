package nemesis

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/workloads"
)

// Triggers lets a step wait for an event of any client, and holds that client until the fault is in
// effect.
type Triggers struct {
	armed atomic.Pointer[trigger]
	// trying is the operation in the middle of which a step shall start, until it ends.
	trying atomic.Pointer[tried]

	mu    sync.Mutex
	seen  map[reached]int // how often a client has reached an event
	turns int             // clients between Begin and End
	gate  chan struct{}   // closed when turns may begin again; nil while they may
	idle  chan struct{}   // closed when no turn is under way and none may begin
}

// reached is an event of one client.
type reached struct {
	client int
	event  workloads.Event
}

// wanted are the moments for which a step waits.
type wanted struct {
	event  workloads.Event
	mode   *locks.Mode // nil: either
	client *int        // nil: any
	nth    int         // of the client's moments; 0: any
}

type trigger struct {
	wanted
	hold time.Duration
	// within, if not nil, holds a request or reply in the middle of the operation. See
	// [world.Requests].
	within   func(client int) world.Held
	caught   chan caught   // takes one
	missed   chan struct{} // closed when the only moment that the step wants is over
	injected chan struct{} // closed when the client may go on
}

// caught is the client that a step has waited for.
type caught struct {
	moment workloads.Moment
	held   *onItsWay // nil if it is not in the middle of an operation
}

// tried is one client's operation.
type tried struct {
	armed  *trigger
	moment workloads.Moment
	over   chan struct{} // closed when it has ended
}

// ends reports whether the operation has ended when its client reaches a moment. A renewal can come
// until the release of the same session.
func (op *tried) ends(m workloads.Moment) bool {
	if op.moment.Client != m.Client {
		return false
	}
	return op.armed.event != Renewing || m.Session == op.moment.Session && m.Event == workloads.Releasing
}

// first returns the event that starts the wait. A renewal is expected from the grant on.
func (w wanted) first() workloads.Event {
	if w.event == Renewing {
		return workloads.Acquired
	}
	return w.event
}

// wants reports whether the step starts at a moment, the n-th of its kind.
func (w wanted) wants(m workloads.Moment, n int) bool {
	return w.first() == m.Event && (w.mode == nil || *w.mode == m.Mode) &&
		(w.client == nil || *w.client == m.Client) && (w.nth == 0 || w.nth == n)
}

// Reached is called by a client at every event. It blocks the client for which a step waits until
// the fault is in effect, and returns how long that client holds its lock; 0 means as usual.
func (t *Triggers) Reached(ctx context.Context, m workloads.Moment) time.Duration {
	if op := t.trying.Load(); op != nil && op.ends(m) && t.trying.CompareAndSwap(op, nil) {
		close(op.over)
		t.rearm(op.armed) // before this event is considered, which may be the next suitable one
	}
	n := t.count(m)
	armed := t.armed.Load()
	if armed == nil || !armed.wants(m, n) || !t.armed.CompareAndSwap(armed, nil) {
		return 0
	}
	if armed.within != nil {
		t.try(armed, m)
		if armed.event == Renewing {
			return armed.hold // the client holds now, and the renewal is to come
		}
		return 0
	}
	armed.caught <- caught{moment: m}
	select {
	case <-armed.injected:
	case <-ctx.Done():
	}
	return armed.hold
}

// count counts a moment and returns its number among the equal moments of its client.
func (t *Triggers) count(m workloads.Moment) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen == nil {
		t.seen = map[reached]int{}
	}
	at := reached{m.Client, m.Event}
	t.seen[at]++
	return t.seen[at]
}

// over reports whether the only moment that a step wants has passed.
func (t *Triggers) over(w wanted) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return w.client != nil && w.nth > 0 && t.seen[reached{*w.client, w.first()}] >= w.nth
}

// try lets an operation run up to the request that the step wants. If it ends before, as a refusal
// takes fewer requests than a grant, the step waits for the next operation.
func (t *Triggers) try(armed *trigger, m workloads.Moment) {
	op := &tried{armed, m, make(chan struct{})}
	t.trying.Store(op)
	it := &onItsWay{Held: armed.within(m.Client)}
	go func() {
		defer func() {
			if !it.kept.Load() {
				it.GoOn()
			}
		}()
		select {
		case <-it.Reached():
			t.trying.CompareAndSwap(op, nil)
			armed.caught <- caught{m, it}
			<-armed.injected
		case <-op.over:
		case <-armed.injected:
		}
	}()
}

// Begin is called by a client before it tries to acquire. It blocks while a step waits for idle
// clients, until the run ends.
func (t *Triggers) Begin(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.gate != nil && ctx.Err() == nil {
		gate := t.gate
		t.mu.Unlock()
		select {
		case <-gate:
		case <-ctx.Done():
		}
		t.mu.Lock()
	}
	t.turns++
}

// End is called when the client has released its lock, or got none.
func (t *Triggers) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turns--
	if t.turns == 0 && t.idle != nil {
		close(t.idle)
		t.idle = nil
	}
}

// still keeps clients from trying until open is called; idle is closed when the last operation has
// ended.
func (t *Triggers) still() (idle <-chan struct{}, open func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	gate, quiet := make(chan struct{}), make(chan struct{})
	t.gate = gate
	if t.turns == 0 {
		close(quiet)
	} else {
		t.idle = quiet
	}
	return quiet, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.gate, t.idle = nil, nil
		close(gate)
	}
}

// arm waits for the next wanted moment, or, with within, for the middle of the operation that it begins.
func (t *Triggers) arm(w wanted, hold time.Duration, within func(int) world.Held) *trigger {
	armed := &trigger{w, hold, within, make(chan caught, 1), make(chan struct{}), make(chan struct{})}
	if t.over(w) {
		close(armed.missed)
		return armed
	}
	t.armed.Store(armed)
	return armed
}

// rearm waits for the next moment, unless the step has given up or wanted only this one.
func (t *Triggers) rearm(armed *trigger) {
	if t.over(armed.wanted) {
		close(armed.missed)
		return
	}
	t.armed.CompareAndSwap(nil, armed)
	select {
	case <-armed.injected:
		t.disarm(armed)
	default:
	}
}

// disarm stops waiting; a client that was just caught goes on.
func (t *Triggers) disarm(armed *trigger) {
	t.armed.CompareAndSwap(armed, nil)
}
