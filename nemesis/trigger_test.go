package nemesis

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/workloads"
)

// Only the client whose event triggers the step is stopped, until the fault has taken effect. Only this client holds for
// longer.
func TestTriggerHoldsOneClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tr Triggers
		armed := tr.arm(wanted{event: workloads.Checked}, 5*time.Second, nil)
		type answer struct {
			client int
			hold   time.Duration
		}
		answers := make(chan answer, 5)
		reach := func(e workloads.Event, client int) {
			go func() {
				answers <- answer{client, tr.Reached(t.Context(), workloads.Moment{Event: e, Client: client})}
			}()
			synctest.Wait()
		}
		reach(workloads.Acquired, 1) // another event
		if got := <-answers; got != (answer{1, 0}) {
			t.Errorf("another moment: %v", got)
		}
		reach(workloads.Checked, 2)
		select {
		case got := <-answers:
			t.Fatalf("the client that was waited for goes on before the fault has struck: %v", got)
		case m := <-armed.caught:
			if m.moment.Client != 2 {
				t.Errorf("caught client %d", m.moment.Client)
			}
		}
		reach(workloads.Checked, 3) // the same event of the next client
		if got := <-answers; got != (answer{3, 0}) {
			t.Errorf("the next client: %v", got)
		}
		close(armed.injected)
		if got := <-answers; got != (answer{2, 5 * time.Second}) {
			t.Errorf("the client that was waited for: %v", got)
		}
		tr.disarm(armed)
		if hold := tr.Reached(t.Context(), workloads.Moment{Event: workloads.Checked, Client: 4}); hold != 0 {
			t.Errorf("no step waits any more, and a client shall hold for %s", hold)
		}
	})
}

func TestTriggerDisarmed(t *testing.T) {
	var tr Triggers
	first := tr.arm(wanted{event: workloads.Acquired}, time.Second, nil)
	second := tr.arm(wanted{event: workloads.Acquired}, 2*time.Second, nil)
	tr.disarm(first) // it is not armed any more, and must not remove the other trigger
	close(second.injected)
	if hold := tr.Reached(t.Context(), workloads.Moment{Event: workloads.Acquired}); hold != 2*time.Second {
		t.Errorf("held for %s, want 2s", hold)
	}
}

// A client that waits for the fault continues when the run ends.
func TestTriggerEndsWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tr Triggers
		tr.arm(wanted{event: workloads.Acquired}, 0, nil)
		_, open := tr.still()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		tr.Reached(ctx, workloads.Moment{Event: workloads.Acquired})
		tr.Begin(ctx)
		open()
		if got := time.Since(start(ctx)); got != time.Second {
			t.Errorf("let go after %s, want 1s", got)
		}
	})
}

// start is the time at which a context with a limit of a second was created.
func start(ctx context.Context) time.Time {
	deadline, _ := ctx.Deadline()
	return deadline.Add(-time.Second)
}

// Idle comes when the last turn has ended. No turn begins until the gate opens.
func TestIdleWaitsForTurnsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tr Triggers
		ctx := t.Context()
		tr.Begin(ctx)
		tr.Begin(ctx)
		idle, open := tr.still()
		began := make(chan bool, 1)
		go func() {
			tr.Begin(ctx)
			began <- true
		}()
		look := func(when string, wantIdle, wantBegan bool) {
			synctest.Wait()
			isIdle, hasBegun := false, false
			select {
			case <-idle:
				isIdle = true
			default:
			}
			select {
			case hasBegun = <-began:
			default:
			}
			if isIdle != wantIdle || hasBegun != wantBegan {
				t.Errorf("%s: idle %v, begun %v; want %v, %v", when, isIdle, hasBegun, wantIdle, wantBegan)
			}
		}
		look("two turns under way", false, false)
		tr.End()
		look("one turn under way", false, false)
		tr.End()
		look("none under way", true, false)
		open()
		look("opened", true, true)
		tr.End()
		idle, open = tr.still()
		look("no operation has begun", true, false)
		open()
	})
}

// A step in the middle of an operation takes the first operation that gets so far. The client gets its answer when the fault
// is in effect. No client is stopped before.
func TestTriggerWithinAnOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tr Triggers
		reached := map[int]chan struct{}{}
		heard := map[int]int{}
		armed := tr.arm(wanted{event: workloads.Acquiring}, 0, func(client int) world.Held {
			reached[client] = make(chan struct{})
			return fakeHeld{reached: reached[client], goOn: func() { heard[client]++ }}
		})
		moment := func(e workloads.Event, client int) {
			tr.Reached(t.Context(), workloads.Moment{Event: e, Client: client})
			synctest.Wait()
		}
		moment(workloads.Acquiring, 1)
		moment(workloads.Acquiring, 2) // one at a time
		moment(workloads.Waiting, 1)   // refused, after fewer requests
		moment(workloads.Acquiring, 1) // again, possibly the same client
		moment(workloads.Acquiring, 1)
		moment(workloads.Acquired, 1)
		moment(workloads.Acquiring, 3)
		if len(reached) != 2 || heard[1] != 3 || heard[3] != 0 {
			t.Fatalf("held back for %v, let pass %v; want 1 three times and let go, and 3", reached, heard)
		}
		close(reached[3])
		if m := (<-armed.caught).moment; m.Client != 3 {
			t.Errorf("caught client %d, want 3", m.Client)
		}
		synctest.Wait()
		if heard[3] != 0 {
			t.Error("client 3 hears the answer before the fault has struck")
		}
		tr.disarm(armed)
		close(armed.injected)
		synctest.Wait()
		if heard[3] != 1 {
			t.Errorf("client 3 was let go %d times", heard[3])
		}
	})
}

// A step that gives up does not wait for operations under way.
func TestTriggerWithinGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tr Triggers
		gone := 0
		armed := tr.arm(wanted{event: workloads.Releasing}, 0, func(int) world.Held {
			return fakeHeld{reached: make(chan struct{}), goOn: func() { gone++ }}
		})
		tr.Reached(t.Context(), workloads.Moment{Event: workloads.Releasing, Client: 1})
		tr.disarm(armed)
		close(armed.injected)
		synctest.Wait()
		tr.Reached(t.Context(), workloads.Moment{Event: workloads.Released, Client: 1})
		tr.Reached(t.Context(), workloads.Moment{Event: workloads.Releasing, Client: 1})
		if gone != 1 || tr.armed.Load() != nil {
			t.Errorf("let go %d times, armed %v; want once, and nothing armed", gone, tr.armed.Load())
		}
	})
}

// A request that the fault holds continues when the fault releases it.
func TestTriggerWithinKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tr Triggers
		reached := make(chan struct{})
		went := 0
		armed := tr.arm(wanted{event: workloads.Releasing}, 0, func(int) world.Held {
			return fakeHeld{reached: reached, goOn: func() { went++ }}
		})
		tr.Reached(t.Context(), workloads.Moment{Event: workloads.Releasing, Client: 1})
		close(reached)
		it := <-armed.caught
		it.held.kept.Store(true)
		close(armed.injected)
		synctest.Wait()
		if went != 0 {
			t.Error("it goes on although the fault keeps it")
		}
		it.held.GoOn()
		if went != 1 {
			t.Errorf("it went on %d times", went)
		}
	})
}

// fakeHeld is a held request of a test.
type fakeHeld struct {
	reached chan struct{}
	goOn    func()
	lose    func(silent bool)
}

func (f fakeHeld) Reached() <-chan struct{} { return f.reached }
func (f fakeHeld) GoOn()                    { f.goOn() }
func (f fakeHeld) Lose(silent bool)         { f.lose(silent) }

// A step that names a mode lets requests of the other mode pass.
func TestTriggerOfOneMode(t *testing.T) {
	var tr Triggers
	shared := locks.Shared
	armed := tr.arm(wanted{event: workloads.Acquired, mode: &shared}, time.Second, nil)
	close(armed.injected)
	for _, want := range []struct {
		mode locks.Mode
		hold time.Duration
	}{{locks.Exclusive, 0}, {locks.Shared, time.Second}} {
		if hold := tr.Reached(t.Context(), workloads.Moment{Event: workloads.Acquired, Mode: want.mode}); hold != want.hold {
			t.Errorf("%s: the client holds for %v, want %v", want.mode, hold, want.hold)
		}
	}
}

// A renewal may come at any time between a grant and the release of its session. The client that was granted the lock holds as
// long as the step says, and goes on at once.
func TestTriggerRenewing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tr Triggers
		requests := map[int]chan struct{}{}
		armed := tr.arm(wanted{event: Renewing}, 3*time.Second, func(client int) world.Held {
			requests[client] = make(chan struct{})
			return fakeHeld{reached: requests[client], goOn: func() {}}
		})
		reach := func(client int, e workloads.Event, session string) time.Duration {
			hold := tr.Reached(t.Context(), workloads.Moment{Event: e, Client: client, Session: session})
			synctest.Wait()
			return hold
		}
		if hold := reach(1, workloads.Acquired, "1.1"); hold != 3*time.Second {
			t.Errorf("the client holds for %v, want 3s", hold)
		}
		reach(1, workloads.Checked, "1.1")
		reach(1, workloads.Releasing, "1.2") // of another thread
		reach(2, workloads.Acquired, "2.1")
		if len(requests) != 1 {
			t.Fatalf("requests of %d clients are awaited, want those of client 1 alone", len(requests))
		}
		reach(1, workloads.Releasing, "1.1") // no renewal has come, so the next grant counts
		reach(2, workloads.Acquired, "2.2")
		reach(2, workloads.Checked, "2.2")
		close(requests[2])
		synctest.Wait()
		select {
		case c := <-armed.caught:
			if c.moment.Session != "2.2" || c.held == nil {
				t.Errorf("caught %+v, want the request of session 2.2", c)
			}
		default:
			t.Error("the renewal of session 2.2 does not start the step")
		}
		close(armed.injected)
	})
}

// A step may want the n-th moment of one client. It does not wait for it once that moment is over.
func TestTriggerOfOneMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tr Triggers
		want := wanted{event: workloads.Acquired, client: new(1), nth: 2}
		armed := tr.arm(want, time.Second, nil)
		close(armed.injected)
		for i, at := range []struct {
			client int
			hold   time.Duration
		}{{0, 0}, {0, 0}, {1, 0}, {1, time.Second}, {1, 0}} {
			if hold := tr.Reached(t.Context(), workloads.Moment{Event: workloads.Acquired, Client: at.client}); hold != at.hold {
				t.Errorf("moment %d, of client %d: held for %v, want %v", i, at.client, hold, at.hold)
			}
		}
		select {
		case <-tr.arm(want, 0, nil).missed:
		default:
			t.Error("a step waits for a moment that is over")
		}
		want.event = workloads.Releasing
		within := tr.arm(want, 0, func(int) world.Held {
			return fakeHeld{reached: make(chan struct{}), goOn: func() {}}
		})
		for _, e := range []workloads.Event{workloads.Releasing, workloads.Released, workloads.Releasing} {
			tr.Reached(t.Context(), workloads.Moment{Event: e, Client: 1})
		}
		synctest.Wait()
		select {
		case <-within.missed:
			t.Error("the operation is given up before it has ended")
		default:
		}
		tr.Reached(t.Context(), workloads.Moment{Event: workloads.Released, Client: 1})
		synctest.Wait()
		select {
		case <-within.missed:
		default:
			t.Error("the operation ended without the request, and the step still waits")
		}
	})
}
