package trial

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/seed"
	"lockbench/internal/world"
	"lockbench/nemesis"
	"lockbench/workloads"
)

// replaceMax limits how many clients are replaced in one lock's run, in case every guest dies at its start.
const replaceMax = 100

// crew is the clients of one lock's run. It opens them, runs the workload in each, replaces clients that die, and tracks
// holders and waiters.
type crew struct {
	cluster   world.Cluster
	recorder  *history.Recorder
	triggers  *nemesis.Triggers
	guarded   *workloads.Guarded
	subject   *Subject
	seed      uint64
	limit     time.Duration // of one operation
	openLimit time.Duration
	log       func(string)
	missteps  *Missteps
	reduction Reduction
	fail      func(error) // ends the lock's run
	granted   func(m workloads.Moment)
	unknown   func() // called after an acquire with unknown outcome
	longHold  *longHold

	roster
	wg       sync.WaitGroup
	last     int // the highest client number so far
	warned   bool
	replaced int
}

var (
	_ nemesis.Crew    = (*crew)(nil)
	_ workloads.Hooks = (*crew)(nil)
)

// start opens n clients concurrently and runs them until ctx ends.
func (c *crew) start(ctx context.Context, n int) error {
	ids := c.reduction.clients(n)
	c.roster.begin(ids)
	opened := make([]*member, len(ids))
	errs := make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() { opened[i], errs[i] = c.open(ctx, id) })
	}
	wg.Wait()
	c.last = n - 1
	if err := unopened(errs, c.subject); err != nil {
		return err
	}
	for _, m := range opened {
		c.wg.Add(1)
		go c.live(ctx, m)
	}
	return nil
}

func (c *crew) open(ctx context.Context, id int) (*member, error) {
	spec := c.subject.client
	spec.ID, spec.Seed = id, seed.Derive(c.seed, fmt.Sprintf("client/%d", id))
	spec.Log, spec.OpenLimit = c.log, c.openLimit
	spec.Warn = func(text string) { c.warn(id, text) }
	spec.Lost = func(session string) { c.lost(id, session) }
	spec.Queued = func(session string) { c.queued(id, session) }
	client, err := c.cluster.Open(ctx, spec)
	if err != nil {
		return nil, err // names the client
	}
	m := &member{id: id, client: client}
	c.mu.Lock()
	c.members[id] = m
	c.mu.Unlock()
	return m, nil
}

// warn logs a line that a client wrote outside the protocol and records the first one, because its author should know it
// at once. The notes at the end count the others. Like queued, it does not block.
func (c *crew) warn(id int, text string) {
	text = fmt.Sprintf("client %d: %s", id, text)
	c.log(text)
	c.mu.Lock()
	first := !c.warned
	c.warned = true
	c.mu.Unlock()
	if first {
		c.wg.Go(func() {
			paceOf(c.cluster).settle(fmt.Sprintf("%s/warned", history.ClientParty(id)))
			c.recorder.Record(history.Probed(history.Warned{Warning: text}))
		})
	}
}

// lost records a library's notice that it lost a lock. Notices for sessions that the client does not hold are only logged,
// because they would corrupt the history.
func (c *crew) lost(id int, session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.ContainsFunc(c.holders, func(h workloads.Moment) bool { return h.Session == session && h.Client == id }) {
		c.log(fmt.Sprintf("client %d says that session %s is lost, which it does not hold", id, session))
		return
	}
	c.recorder.Record(history.Event{Process: history.Process(id), Client: int32(id), Type: history.Info, F: history.Lost, Session: session})
}

// queued records that an acquire entered the lock's queue. It does not block, because its caller must go on reading
// answers.
func (c *crew) queued(id int, session string) {
	c.wg.Go(func() {
		paceOf(c.cluster).settle(fmt.Sprintf("%s/queued/%s", history.ClientParty(id), session))
		c.recorder.Record(history.Probed(history.Queued{Sessions: []string{session}}))
	})
}

// live runs a client and, after its death, the client that replaces it.
func (c *crew) live(ctx context.Context, m *member) {
	defer c.wg.Done()
	defer func() {
		if p := recover(); p != nil {
			c.fail(panicked("a workload", p))
		}
	}()
	for {
		work := &workloads.Client{
			ID: m.id, Conn: m.client.Conn(), Rand: seed.Rand(c.seed, fmt.Sprintf("workload/%d", m.id)),
			Recorder: c.recorder, Guarded: c.guarded, Hooks: c, Limit: c.limit,
			Ownerless: !c.subject.Claims.Reentrant, Bounded: c.subject.Claims.Bounded,
		}
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			<-m.client.Conn().Gone()
			c.bury(m)
		}()
		threads := work.Threads(c.subject.workload)
		for _, t := range threads {
			paceOf(c.cluster).client(t)
		}
		through := c.reduction.live(ctx, m.id, c.subject.workload, threads)
		c.dismiss(m)
		<-watched
		if through || ctx.Err() != nil {
			return
		}
		var err error
		if m, err = c.replace(ctx); err != nil {
			if ctx.Err() == nil {
				c.fail(err)
			}
			return
		}
	}
}

// dismiss closes a client and forgets it.
func (c *crew) dismiss(m *member) {
	c.mu.Lock()
	m.closing = true
	killed := m.killed
	c.mu.Unlock()
	gone := false
	select {
	case <-m.client.Conn().Gone():
		gone = true
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.limit)
	defer cancel()
	if err := m.client.Close(ctx); err != nil {
		c.log(fmt.Sprintf("close client %d: %v", m.id, err))
	}
	c.missteps.Heard(m.id, m.client, (gone || m.client.Conn().DiedInClose()) && !killed)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.members, m.id)
	c.forget(m.id)
}

// bury records the unexpected end of a client. Faults that kill clients call it before the kill, because afterwards the
// client is already removed.
func (c *crew) bury(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.dead || m.closing {
		return
	}
	m.dead = true
	c.recorder.Record(history.Event{Process: history.Process(m.id), Client: int32(m.id), Type: history.Info, F: history.Died})
	c.forget(m.id)
}

func (c *crew) replace(ctx context.Context) (*member, error) {
	c.mu.Lock()
	c.replaced++
	c.last++
	id, replaced := c.last, c.replaced
	c.mu.Unlock()
	if replaced > replaceMax {
		return nil, fmt.Errorf("%d clients have died in one run; their output is in the logs in the results folder", replaced)
	}
	return c.open(ctx, id)
}

// stop waits until every client has released its locks and is closed. The context of start must have ended.
func (c *crew) stop() { c.wg.Wait() }

// Keys returns the names of the locks that clients use.
func (c *crew) Keys() []string { return c.subject.keys }

// Pause stops a client. The client is marked as stopped first, so that no operation begins in between.
func (c *crew) Pause(ctx context.Context, id int) error {
	m := c.get(id)
	if m == nil {
		return fmt.Errorf("client %d is gone", id)
	}
	c.mu.Lock()
	if m.stopped == nil {
		m.stopped = make(chan struct{})
	}
	c.mu.Unlock()
	return m.client.Pause(ctx)
}

// Resume continues a client. It does nothing if the client is gone.
func (c *crew) Resume(ctx context.Context, id int) error {
	m := c.get(id)
	if m == nil {
		return nil
	}
	err := m.client.Resume(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.stopped != nil {
		close(m.stopped)
		m.stopped = nil
	}
	if m.dead {
		return nil
	}
	return err
}

// Kill kills a client.
func (c *crew) Kill(ctx context.Context, id int) error {
	m := c.get(id)
	if m == nil {
		return fmt.Errorf("client %d is gone", id)
	}
	c.mu.Lock()
	m.killed = true
	c.mu.Unlock()
	c.bury(m)
	return m.client.Kill(ctx)
}

// Awake waits until a client is not paused.
func (c *crew) Awake(ctx context.Context, id int) {
	m := c.get(id)
	if m == nil {
		return
	}
	c.mu.Lock()
	stopped := m.stopped
	c.mu.Unlock()
	if stopped != nil {
		<-stopped
	}
}

// Begin marks the start of a turn: all that a client does from an acquire until the release.
func (c *crew) Begin(ctx context.Context) { c.triggers.Begin(ctx) }

// End marks the end of a turn.
func (c *crew) End() { c.triggers.End() }

// Reached updates holders and waiters, and triggers faults that wait for this moment.
func (c *crew) Reached(ctx context.Context, m workloads.Moment) time.Duration {
	c.mu.Lock()
	switch m.Event {
	case workloads.Acquired:
		c.holders = append(c.holders, m)
		delete(c.waiters, m.Client)
		c.granted(m)
	case workloads.Entered:
		c.granted(m)
	case workloads.Releasing:
		for i := range c.holders {
			if c.holders[i].Session == m.Session {
				c.holders[i].Event = workloads.Releasing
			}
		}
	case workloads.Released:
		c.releases[m.Client]++
		c.holders = slices.DeleteFunc(c.holders, func(h workloads.Moment) bool { return h.Session == m.Session })
	case workloads.Waiting, workloads.Asking:
		c.waiters[m.Client] = true
	}
	c.mu.Unlock()
	c.longHold.reached(m)
	return c.triggers.Reached(ctx, m)
}

// HoldsOn reports whether a step asks the client of a session to hold on.
func (c *crew) HoldsOn(session string) bool {
	if c.longHold.session() != session {
		return false
	}
	paceOf(c.cluster).settle("holds-on/" + session) // others are answered in instants of their own
	return c.longHold.goesOn(session)
}

// Overdue kills a client that has not answered within the limit.
func (c *crew) Overdue(id int, why error) {
	c.log(fmt.Sprintf("client %d is killed: %v", id, why))
	c.missteps.Killed(id, why)
	ctx, cancel := context.WithTimeout(context.Background(), c.limit)
	defer cancel()
	if err := c.Kill(ctx, id); err != nil {
		c.log(fmt.Sprintf("kill client %d: %v", id, err))
	}
}

// Unknown counts an acquire with unknown outcome.
func (c *crew) Unknown() { c.unknown() }

// Unfit ends the run, because the lock cannot do what the workload needs. For locks of the catalog that is known before
// the run; a user's lock that gets here has wrong capabilities.
func (c *crew) Unfit(err error) {
	err = fmt.Errorf("the lock cannot do what the workload needs: %w", err)
	if _, known := c.subject.Input.Lock.Entry(); known {
		err = world.Unsupported{Why: err}
	}
	c.fail(err)
}

func panicked(where string, p any) error { return fmt.Errorf("%s panicked: %v", where, p) }
