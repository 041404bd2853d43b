package nemesis

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/internal/history"
	"lockbench/workloads"
)

// For every event, the step starts at the event, knows it, and stops its client until the fault is in effect.
func TestEpisodeWhen(t *testing.T) {
	for _, event := range Events {
		if event == Idle || event == Renewed || event == Renewing {
			continue // clients do not report these; see below and TestTriggerRenewing
		}
		t.Run(string(event), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				step, hold := when(event), 3*time.Second
				step.Hold = &hold
				b.add("fault", step, func(_ context.Context, s Scene) (Undo, error) {
					s.Begin(nil, "")
					b.say("struck by %+v", *s.Moment)
					time.Sleep(time.Millisecond)
					return Nothing, nil
				})
				var clients sync.WaitGroup
				for client, other := range append(Events, event) {
					if other == event && client < len(Events) {
						continue // the event that counts comes last
					}
					clients.Go(func() {
						time.Sleep(time.Duration(client+1) * time.Second)
						hold := b.runner.Triggers.Reached(t.Context(), workloads.Moment{Event: other, Client: client})
						if hold != 0 {
							b.say("client %d goes on and holds for %s", client, hold)
						}
					})
				}
				if err := b.episode(t.Context()); err != nil {
					t.Fatal(err)
				}
				clients.Wait()
				synctest.Wait()
				last := len(Events)
				at := fmt.Sprintf("%ds ", last+1)
				later := fmt.Sprintf("%d.001s ", last+1)
				want := fmt.Sprintf("struck by %+v", workloads.Moment{Event: event, Client: last})
				got := strings.Join(b.notes, "\n")
				for _, line := range []string{at + "fault begins", at + want, later + "fault bites", later + fmt.Sprintf("client %d goes on and holds for 3s", last), later + "fault healed"} {
					if !strings.Contains(got, line) {
						t.Errorf("missing %q in:\n%s", line, got)
					}
				}
			})
		})
	}
}

// `renewed` starts when a server keeps a held key for longer than before. It does not start while a lease only runs down, even
// if answers are late.
func TestEpisodeWhenRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		c := b.runner.Cluster.(*fake)
		c.keeps(b.runner.Crew.Holders()[0].Key, 4*time.Second)
		time.AfterFunc(3*time.Second, func() { c.keeps(b.runner.Crew.Holders()[0].Key, 4*time.Second) })
		b.add("fault", when(Renewed), func(_ context.Context, s Scene) (Undo, error) {
			s.Begin(nil, "")
			b.say("%s of client %d", s.Moment.Event, s.Moment.Client)
			return Nothing, nil
		})
		if err := b.episode(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(b.notes, "\n")
		if !strings.Contains(got, "s renewed of client 2") || !strings.HasPrefix(got, "3") {
			t.Errorf("want that it strikes after 3s, for client 2:\n%s", got)
		}
	})
}

// If a key is released and granted to another client, the server also keeps it for longer, perhaps before the release
// returns. That is not a renewal.
func TestEpisodeWhenRenewedIsAnothersGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		c, crew := b.runner.Cluster.(*fake), b.runner.Crew.(*fakeCrew)
		key := crew.Holders()[0].Key
		c.keeps(key, 4*time.Second)
		time.AfterFunc(3*time.Second, func() {
			crew.mu.Lock()
			crew.holders[0].Event = workloads.Releasing
			crew.mu.Unlock()
			c.keeps(key, 4*time.Second)
		})
		b.step("fault", when(Renewed))
		if err := b.episode(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(b.notes, "\n"); !strings.Contains(got, "fails: fault: no lock was renewed within 20s") {
			t.Errorf("got:\n%s", got)
		}
	})
}

// Without a renewal, the step fails with that reason.
func TestEpisodeWithoutRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.runner.Cluster.(*fake).keeps(b.runner.Crew.Holders()[0].Key, time.Minute)
		b.step("fault", when(Renewed))
		if err := b.episode(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(b.notes, "\n"); !strings.Contains(got, "fails: fault: no lock was renewed within 20s") {
			t.Errorf("got:\n%s", got)
		}
	})
}

// `idle` starts while no client is in a turn. Clients begin again after the fault is in effect.
func TestEpisodeWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.step("fault", when(Idle))
		ctx, cancel := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		var turns int
		var mu sync.Mutex
		for range 3 {
			clients.Go(func() {
				for ctx.Err() == nil {
					b.runner.Triggers.Begin(ctx)
					mu.Lock()
					turns++
					mu.Unlock()
					sleep(ctx, 100*time.Millisecond)
					mu.Lock()
					turns--
					mu.Unlock()
					b.runner.Triggers.End()
					sleep(ctx, 10*time.Millisecond)
				}
			})
		}
		sleep(ctx, time.Second+50*time.Millisecond)
		note := b.runner.Note
		b.runner.Note = func(p Planned, phase string, targets []string, text string) {
			mu.Lock()
			defer mu.Unlock()
			if turns != 0 && (phase == history.Begins || phase == history.Bites) {
				t.Errorf("%s while %d clients are in a turn", phase, turns)
			}
			note(p, phase, targets, text)
		}
		if err := b.episode(ctx); err != nil {
			t.Fatal(err)
		}
		sleep(ctx, 20*time.Millisecond) // longer than clients pause between turns
		synctest.Wait()
		mu.Lock()
		if turns == 0 {
			t.Error("the step is over, and no client has begun again")
		}
		mu.Unlock()
		cancel()
		clients.Wait()
		if len(b.notes) != 4 {
			t.Errorf("%q", b.notes)
		}
	})
}

// An event that never comes fails only its step.
func TestEpisodeGoesOnWithoutTheEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.runner.Triggers.Begin(t.Context()) // some client is always in a turn
		b.step("never", when(workloads.Checked))
		b.step("restless", when(Idle))
		b.step("next", Planned{})
		if err := b.episode(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.want(
			"20s never fails: never: no client reached the moment \"checked\" within 20s",
			"40s restless fails: restless: clients were not idle within 20s",
			"40s next begins", "40.001s next bites", "40.001s next heals", "40.002s next healed",
		)
		// A step that has given up stops no client.
		b.runner.Triggers.Reached(t.Context(), workloads.Moment{Event: workloads.Checked})
		b.runner.Triggers.Begin(t.Context())
	})
}
