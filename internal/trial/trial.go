// Package trial runs one lock on one cluster under one plan. It starts the servers, runs the clients, injects and undoes
// the faults of the plan, and records the history.
//
//	Trial ── World.Run ──▶ cluster ── crew, nemesis ──▶ history.jsonl
//	Subprocess ── a trial in virtual time, in a separate process
//
// It does not judge the history.
package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/internal/secret"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/nemesis"
	"lockbench/workloads"
)

const (
	// grantsBefore and grantsAfter are the least numbers of grants before the first fault and after the last undo. With
	// fewer grants the judge's harness check fails.
	grantsBefore = 10
	grantsAfter  = 10
	// WarmGrants is the number of grants before the first episode.
	WarmGrants = 2 * grantsBefore
	// hopelessAfter is the number of acquires with unknown outcome that end a run if warmLimit passed without a grant.
	hopelessAfter = 20
	// warmLimit, eventLimit and healthLimit limit the waits for the first grants, for the trigger of a step, and for the
	// servers after faults are undone. They are long enough for machines under load.
	warmLimit   = 20 * time.Second
	eventLimit  = 20 * time.Second
	healthLimit = 40 * time.Second
	// answerLimit is how long an operation may take in addition to the delays that the plan can cause.
	answerLimit = 10 * time.Second
	// longestLease bounds these delays if they are in leases and the lease is not known yet.
	longestLease = time.Minute
	// progressSlack is how long, beyond the longest lease, a run waits for a lock that no client can get.
	progressSlack = 2 * time.Second
)

// Trial is one lock on one cluster under one plan.
type Trial struct {
	Subject *Subject
	Plan    nemesis.Plan
	World   world.World
	History io.Writer
	Log     func(string)
	Started time.Time
	// Enough reports whether the trial ends with this episode; nil: it never does. It is called after each episode except
	// the last, when the history so far is in its file.
	Enough func(episode int) bool
	// Missteps are mistakes of clients that no operation shows.
	Missteps Missteps

	pace     pace
	mask     *secret.Mask
	recorder *history.Recorder
	// grants, unknown and keyed decide when the next episode begins and ends. Only the running trial can answer that: in the
	// simulation, waiting for a file would take real time, in which virtual time stands still.
	grants   atomic.Int64
	unknown  atomic.Int64 // acquires of unknown outcome
	promoted atomic.Bool  // a fault is promoting a node
	keyed    keyTimes
	told     atomic.Int64              // the lease that the library told with its latest grant, if it told one
	held     atomic.Pointer[time.Time] // when the latest hold that a step asked for ends
	longHold longHold
	servers  *serverProbe
	calm     bool // the last recovery period is over
}

// Run runs the trial. An error is a failure of the harness; the events before it stay in the history.
func (t *Trial) Run(ctx context.Context) error {
	t.mask = maskOf(t.World)
	t.Missteps.Hello(t.Subject.Hello)
	in := t.Subject.Input
	reduction := in.reduction()
	t.Subject.Spec.Seed = in.Seed
	t.Plan.Prepare(&t.Subject.Spec)
	plan := t.Plan.For(t.World.Sketch(t.Subject.Spec))
	if lease := t.Subject.Lease(); lease > 0 { // otherwise the first grants tell it
		plan = plan.Leased(lease)
	}
	if in.NoFaults {
		plan = plan.Spared("--no-faults")
	}
	return t.World.Run(ctx, t.Subject.Spec, func(ctx context.Context, c world.Cluster) (err error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		t.pace = paceOf(c)
		t.recorder, err = history.New(reduction.writer(t.History), t.header(plan), t.pace.writeEvery())
		if err != nil {
			return fmt.Errorf("begin the history: %w", err)
		}
		defer func() { err = errors.Join(err, t.recorder.Close()) }()
		reduction.cutAfter(ctx, t.pace, t.recorder, cancel)
		go func() {
			select {
			case <-t.recorder.Failed():
				cancel(t.recorder.Err())
			case <-ctx.Done():
			}
		}()
		defer func() {
			// A foreign connection matters only if the lock's own clients are not answered.
			if proxy, ok := c.(rejecter); ok && t.grants.Load() == 0 && proxy.Rejected() > 0 {
				t.Missteps.Rejected(proxy.Rejected())
			}
			if on, ok := c.(shared); ok {
				if keys := on.StrayKeys(ctx); len(keys) > 0 {
					for i, key := range keys {
						keys[i] = t.mask.Text(key)
					}
					t.Missteps.Strayed(keys)
				}
			}
			if notes := t.Missteps.Notes(); len(notes) > 0 {
				t.recorder.Record(history.Probed(history.Noted{Notes: notes}))
			}
		}()
		t.servers = probeServers(c, func(e history.Event) { t.recorder.Record(e) }, t.mask)
		crew := t.crew(c, plan, cancel)
		work, stopWork := context.WithCancel(ctx)
		defer stopWork()
		if err := crew.start(work, in.Workload.Clients); err != nil {
			stopWork()
			crew.stop()
			return err
		}
		err = t.episodes(ctx, c, crew, plan)
		stopWork()
		crew.stop()
		if t.calm && ctx.Err() == nil {
			t.servers.left(ctx, t.Subject.ttl)
		}
		t.finalReads(crew.guarded)
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			err = errors.Join(err, cause)
		}
		return err
	})
}

// log writes a line without secrets to the harness's log.
func (t *Trial) log(line string) { t.Log(t.mask.Text(line)) }

// masker is a world that knows secrets.
type masker interface{ Mask() *secret.Mask }

// maskOf returns the mask for the secrets of a world, or nil.
func maskOf(w world.World) *secret.Mask {
	if m, ok := w.(masker); ok {
		return m.Mask()
	}
	return nil
}

// header returns the header of the history: the facts about the trial that the judge needs.
func (t *Trial) header(plan nemesis.Plan) history.Header {
	in := t.Subject.Input
	bounds := &history.Bounds{GrantsBefore: t.wanted(grantsBefore), GrantsAfter: t.wanted(grantsAfter), Episodes: in.Episodes}
	// A lock under test is judged only if a step of the plan applies to its servers, or if the user asked for no faults.
	// Controls have no servers and are always judged.
	control := t.Subject.Spec.Topology.Name == locks.None
	if plan.Concerns() || len(plan) > 0 && !in.NoFaults && !control {
		bounds.Bites = 1
	}
	if in.Reduction != nil {
		bounds = nil // a reduced trial need not reach the bounds
	}
	point, masters := string(in.Point), 0
	if control || in.NoFaults || in.Reduction != nil || len(plan) > 0 && !plan.Concerns() {
		point = ""
	}
	if t.Subject.Family == locks.Majority {
		masters = len(t.Subject.Spec.Topology.Nodes())
	}
	return history.Header{
		Point: point, Lease: t.Subject.Lease(), Masters: masters,
		Lockbench: history.Version, Scenario: in.Scenario, Lock: in.Lock.Name,
		Topology: string(t.Subject.Spec.Topology.Name), World: t.World.Name(), Seed: in.Seed, Started: t.Started,
		Model: t.Subject.JudgedAs(), Claims: t.Subject.Claims, Module: in.Lock.Sum, Bounds: bounds, Plan: PlanSteps(plan),
	}
}

func (t *Trial) crew(c world.Cluster, plan nemesis.Plan, fail context.CancelCauseFunc) *crew {
	longest := plan.Leased(longestLease).Longest()
	return &crew{
		cluster: c, recorder: t.recorder, triggers: &nemesis.Triggers{}, guarded: workloads.NewGuarded(),
		subject: t.Subject, seed: t.Subject.Input.Seed,
		limit: answerLimit + longest, openLimit: guest.OpenLimit + longest,
		log: t.log, missteps: &t.Missteps, reduction: t.Subject.Input.reduction(), fail: func(err error) { fail(err) },
		granted: func(m workloads.Moment) {
			t.grants.Add(1)
			if m.Lease > 0 {
				t.told.Store(int64(m.Lease))
			}
			t.keyed.mark(m.Key)
			t.servers.granted(m)
		},
		unknown: func() { t.unknown.Add(1) }, longHold: &t.longHold,
	}
}

// episodes injects the faults of each episode, with recovery periods between episodes.
func (t *Trial) episodes(ctx context.Context, c world.Cluster, crew *crew, plan nemesis.Plan) error {
	background, stopWatching := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer stopWatching()
	record := func(f history.Fact) { t.recorder.Record(history.Probed(f)) }
	watchers.Go(func() { watchClocks(background, record) })
	watchers.Go(func() { t.servers.watch(background) })
	watchers.Go(func() {
		t.pace.settle("roles")
		watchRoles(background, c, t.promoted.Load, func(f history.Fact) {
			record(f)
			t.longHold.promoted()
		})
	})
	t.pace.settle("trial")
	if t.warm(ctx); t.hopeless() {
		return nil
	}
	runner := &nemesis.Runner{Cluster: c, Crew: crew, Triggers: crew.triggers, EventLimit: eventLimit, Note: t.note}
	start, in := time.Now(), t.Subject.Input
	plan = plan.Leased(t.lease())
	for n := 1; n <= in.Episodes; n++ {
		record(history.Episode{Number: n})
		if err := runner.Episode(ctx, plan.Episode(n)); err != nil {
			// A fault that was not undone is in the history, so the verdict is unknown.
			t.log(fmt.Sprintf("episode %d: %v", n, err))
			return nil
		}
		if ctx.Err() != nil {
			return nil
		}
		if !t.healthy(ctx, c) {
			return nil
		}
		t.release(ctx, crew)
		spent := time.Since(start)
		// Enough judges the history, so it is called last: a trial that ends anyway is judged once, at its end.
		last := n == in.Episodes || spent+spent/time.Duration(n) > in.Limit || t.ends(n)
		t.servers.commands(c, crew.Clients())
		t.quiet(ctx, crew, last)
		t.servers.commands(c, crew.Clients())
		if last || ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

// release waits until the holds that steps asked for are over, so that the recovery period is one for their keys, too.
func (t *Trial) release(ctx context.Context, crew *crew) {
	if until := t.held.Load(); until != nil {
		pause(ctx, time.Until(*until))
	}
	for session := t.longHold.session(); session != "" && crew.holds(session) && pause(ctx, 20*time.Millisecond); {
	}
}

// lease returns the lease of the lock: what is known of it before the run, else what its library told with its grants.
func (t *Trial) lease() time.Duration {
	return cmp.Or(t.Subject.Lease(), time.Duration(t.told.Load()), nemesis.AssumedLease)
}

// ends reports whether the run has enough of the trial after this episode, by what was recorded.
func (t *Trial) ends(episode int) bool {
	t.recorder.Flush()
	return t.Enough != nil && t.Enough(episode)
}

// wanted returns how many grants are wanted before and after the faults: none if the plan counts moments from the
// beginning, because such a run is small.
func (t *Trial) wanted(grants int) int {
	if t.Plan.Counts() {
		return 0
	}
	return grants
}

// warm waits for the first grants. Too few are not an error here: the judge's harness check reports them.
func (t *Trial) warm(ctx context.Context) {
	deadline := time.Now().Add(warmLimit)
	want := t.wanted(WarmGrants)
	if r := t.Subject.Input.Reduction; r != nil {
		want = r.Warm
	}
	// On a busy machine many acquires may fail before the first grant.
	for t.grants.Load() < int64(want) && time.Now().Before(deadline) && pause(ctx, 10*time.Millisecond) {
	}
}

// hopeless reports whether none of the first acquires was answered, so that the clients probably cannot reach the servers.
func (t *Trial) hopeless() bool { return t.grants.Load() == 0 && t.unknown.Load() >= hopelessAfter }

// healthy waits until the servers answer and agree after faults are undone.
func (t *Trial) healthy(ctx context.Context, c world.Cluster) bool {
	ctx, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	for {
		err := c.Healthy(ctx)
		if err == nil {
			return true
		}
		if !pause(ctx, 20*time.Millisecond) {
			// The event belongs to no step.
			t.recorder.Record(history.Event{
				Process: history.Nemesis, Type: history.Info, F: "heal",
				Phase: history.Fails, Text: "the servers did not settle: " + t.mask.Text(err.Error()),
			})
			return false
		}
	}
}

// quiet waits for the recovery period after faults are undone. In the last one it also waits until each key was granted
// again, as far as a lease allows: a dead holder's lock expires with its lease.
func (t *Trial) quiet(ctx context.Context, crew *crew, last bool) {
	t.recorder.Record(history.Probed(history.QuietBegins))
	begin, in := time.Now(), t.Subject.Input
	before, wanted, served := t.grants.Load(), t.wanted(grantsAfter), in.reduction().Served
	if served > 0 {
		wanted = 0
	}
	pause(ctx, in.Quiet)
	limit := begin.Add(max(in.Quiet, t.lease()+progressSlack) * time.Duration(max(served, 1)))
	for last && time.Now().Before(limit) {
		if t.grants.Load()-before >= int64(wanted) && t.keyed.since(begin) == in.Workload.Keys && crew.served(served) {
			break
		}
		if !pause(ctx, 20*time.Millisecond) {
			break
		}
	}
	t.recorder.Record(history.Probed(history.QuietEnds))
	t.calm = last && ctx.Err() == nil
}

// note records a phase of a step.
func (t *Trial) note(p nemesis.Planned, phase string, targets []string, text string) {
	t.pace.step(p.ID)
	if phase == history.Bites && p.Hold != nil {
		t.held.Store(new(time.Now().Add(*p.Hold)))
		if p.By != nil && p.Step.Until != "" {
			t.longHold.begin(p, time.Now().Add(t.longestHold(p)))
		}
	}
	if phase == history.Healed {
		t.longHold.healed(p.ID)
	}
	text = t.mask.Text(text) // errors quote servers
	if kind, _ := nemesis.Find(p.Step.Fault); kind.Promotes {
		t.promoted.Store(phase == history.Begins || phase == history.Bites)
	}
	e := history.Event{
		Process: history.Nemesis, Type: history.Info, F: p.Step.Fault,
		Step: p.ID, Targets: targets, Phase: phase, Text: text,
	}
	if phase == history.Begins {
		e.Effect = p.Fault.Effects
		triggered(&e, p)
		if p.By != nil && p.Hold != nil {
			e.Hold = t.longestHold(p)
		}
	}
	t.recorder.Record(e)
}

// triggered adds the session that triggered a step to its begins event, so that the judge knows what the fault hit.
func triggered(e *history.Event, p nemesis.Planned) {
	if p.By == nil {
		return
	}
	e.Session, e.Request = p.By.Session, p.Step.Request
	switch p.Step.When {
	case workloads.Acquiring:
		e.Op = history.Acquire
	case workloads.Releasing:
		e.Op = history.Release
	case nemesis.Renewing:
		e.Op = history.Renew
	case workloads.Checked:
		if e.Request > 0 {
			e.Op = history.Renew
		}
	}
}

// finalReads reads every counter after the last write.
func (t *Trial) finalReads(g *workloads.Guarded) {
	const reader = history.Process(1 << 30) // no client has this number
	type last struct {
		key, form string
		value     int64
	}
	var all []last
	g.Final(func(key, form string, value int64) { all = append(all, last{key, form, value}) })
	slices.SortFunc(all, func(a, b last) int { return strings.Compare(a.key+a.form, b.key+b.form) })
	for _, l := range all {
		e := history.Event{Process: reader, Client: int32(reader), Type: history.Invoke, F: history.FRead, Key: l.key, Resource: l.form}
		t.recorder.Record(e)
		e.Type, e.Value = history.OK, new(l.value)
		t.recorder.Record(e)
	}
}

// pause sleeps. It reports whether it slept to the end.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
