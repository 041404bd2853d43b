package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockbench/internal/history"
	"lockbench/locks"
	"lockbench/workloads"
)

// bench is a runner in virtual time that stores its notes.
type bench struct {
	t       *testing.T
	runner  *Runner
	start   time.Time
	mu      sync.Mutex
	notes   []string
	pending Plan
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, start: time.Now()}
	c := newFake(locks.Single, 0)
	b.runner = &Runner{
		Cluster: c, Crew: sceneOf(c).Crew, Triggers: new(Triggers), EventLimit: 20 * time.Second,
		Note: func(p Planned, phase string, _ []string, text string) {
			if phase == history.Fails {
				text = ": " + text
			} else {
				text = ""
			}
			b.say("%s %s%s", p.Fault, phase, text)
		},
	}
	return b
}

// say stores a line with its time.
func (b *bench) say(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes = append(b.notes, fmt.Sprintf("%s ", time.Since(b.start))+fmt.Sprintf(format, args...))
}

func (b *bench) want(want ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if diff := cmp.Diff(want, b.notes); diff != "" {
		b.t.Errorf("what happened (-want +got):\n%s", diff)
	}
}

// step adds a step to the episode. Its fault takes some time to take effect and to heal.
func (b *bench) step(name string, p Planned) {
	b.add(name, p, func(_ context.Context, s Scene) (Undo, error) {
		s.Begin([]string{"redis-1"}, name)
		time.Sleep(time.Millisecond)
		return func(context.Context) error {
			time.Sleep(time.Millisecond)
			return nil
		}, nil
	})
}

func (b *bench) add(name string, p Planned, inject func(context.Context, Scene) (Undo, error)) {
	p.ID, p.Fault = len(b.pending)+1, Fault{Text: name, Inject: inject}
	b.pending = append(b.pending, p)
}

func (b *bench) episode(ctx context.Context) error { return b.runner.Episode(ctx, b.pending) }

func forTime(d time.Duration) Planned { return Planned{For: &d} }
func at(d time.Duration) Planned      { return Planned{At: &d} }
func when(e workloads.Event) Planned  { return Planned{Step: Step{When: e}} }

// Each step starts when the previous one is in effect. Steps without a time are healed at the end in reverse order, after
// steps with a time.
func TestEpisodeFromTopToBottom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.step("one", Planned{})
		b.step("two", forTime(10*time.Millisecond))
		b.step("spared", Planned{NA: "no servers"})
		b.step("three", Planned{})
		if err := b.episode(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.want(
			"0s one begins", "1ms one bites",
			"1ms two begins", "2ms two bites",
			"2ms three begins", "3ms three bites",
			"12ms two heals", "13ms two healed",
			"13ms three heals", "14ms three healed",
			"14ms one heals", "15ms one healed",
		)
	})
}

// `at` counts from the beginning of the episode and not from the previous step.
func TestEpisodeAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.step("one", at(5*time.Second))
		b.step("two", at(6*time.Second))
		b.step("late", at(time.Second))
		if err := b.episode(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.want(
			"5s one begins", "5.001s one bites",
			"6s two begins", "6.001s two bites",
			"6.001s late begins", "6.002s late bites",
			"6.002s late heals", "6.003s late healed",
			"6.003s two heals", "6.004s two healed",
			"6.004s one heals", "6.005s one healed",
		)
	})
}

// A fault whose effect was not seen fails and is undone too.
func TestEpisodeTakesBackWhatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.add("half", forTime(time.Hour), func(_ context.Context, s Scene) (Undo, error) {
			s.Begin(nil, "")
			return func(context.Context) error { b.say("half undone"); return nil }, errors.New("not seen")
		})
		b.add("none", Planned{}, func(context.Context, Scene) (Undo, error) { return nil, errors.New("no client holds a lock now") })
		b.add("brief", Planned{}, func(_ context.Context, s Scene) (Undo, error) { s.Begin(nil, ""); return nil, nil })
		if err := b.episode(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.want(
			"0s half begins", "0s half fails: half: not seen",
			"0s none fails: none: no client holds a lock now",
			"0s brief begins", "0s brief bites",
			"0s brief heals", "0s brief healed",
			"0s half heals", "0s half undone", "0s half healed",
		)
	})
}

// A fault that panics has failed, and all other faults are healed.
func TestEpisodeOutlivesPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.step("sound", Planned{})
		b.add("inject", Planned{}, func(context.Context, Scene) (Undo, error) { panic("oh") })
		b.add("each", Planned{}, func(context.Context, Scene) (Undo, error) {
			return nil, each([]string{"redis-1"}, func(string) error { panic("no") })
		})
		b.add("undo", Planned{}, func(context.Context, Scene) (Undo, error) {
			return func(context.Context) error { panic("ah") }, nil
		})
		b.add("timed", forTime(time.Second), func(context.Context, Scene) (Undo, error) {
			return func(context.Context) error { panic("uh") }, nil
		})
		err := b.episode(t.Context())
		for _, want := range []string{"heal undo: the fault's code panicked: ah", "heal timed: the fault's code panicked: uh"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		b.want(
			"0s sound begins", "1ms sound bites",
			"1ms inject fails: inject: the fault's code panicked: oh",
			"1ms each fails: each: the fault's code panicked: no",
			"1ms undo bites", "1ms timed bites",
			"1.001s timed heals", "1.001s timed fails: heal timed: the fault's code panicked: uh",
			"1.001s undo heals", "1.001s undo fails: heal undo: the fault's code panicked: ah",
			"1.001s sound heals", "1.002s sound healed",
		)
	})
}

// A fault that cannot be healed is an error, and the other faults are healed.
func TestEpisodeThatDoesNotHeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		broke := errors.New("it broke")
		b.step("sound", Planned{})
		b.add("stuck", Planned{}, func(_ context.Context, s Scene) (Undo, error) {
			return func(ctx context.Context) error {
				<-ctx.Done() // an undo has its own limit
				return errors.Join(broke, ctx.Err())
			}, nil
		})
		if err := b.episode(t.Context()); !errors.Is(err, broke) {
			t.Errorf("got %v, want %v", err, broke)
		}
		if got := time.Since(b.start); got != undoLimit+2*time.Millisecond {
			t.Errorf("it took %s, want the limit of an undo", got)
		}
		if last := b.notes[len(b.notes)-1]; !strings.HasSuffix(last, "sound healed") {
			t.Errorf("at last: %s", last)
		}
	})
}

// A fault that waits in vain fails, and the run continues. The context of a fault in effect lasts as long as the run.
func TestEpisodeInjectsForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		ended := false
		b.add("sound", Planned{}, func(ctx context.Context, s Scene) (Undo, error) {
			s.Begin(nil, "sound")
			return func(context.Context) error { ended = ctx.Err() != nil; return nil }, nil
		})
		b.add("stuck", Planned{}, func(ctx context.Context, s Scene) (Undo, error) {
			s.Begin(nil, "stuck")
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		if err := b.episode(t.Context()); err != nil {
			t.Error(err)
		}
		b.want("0s sound begins", "0s sound bites", "0s stuck begins", "2m0s stuck fails: stuck: not in effect within 2m0s",
			"2m0s sound heals", "2m0s sound healed")
		if ended {
			t.Error("the context of a fault in force ended before it was healed")
		}
	})
}

// The end of the run interrupts the episode at any point. Faults are healed with a context that has not ended.
func TestEpisodeCutShort(t *testing.T) {
	for name, last := range map[string]Planned{
		"in effect": forTime(time.Hour), "before its time": at(time.Hour),
		"before its event": when(workloads.Acquired), "before it is idle": when(Idle),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.runner.EventLimit = 2 * time.Hour
				b.runner.Triggers.Begin(t.Context())
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				var undone atomic.Int32 // faults are healed at the same time
				undo := func(ctx context.Context) error {
					undone.Add(1)
					_, limited := ctx.Deadline()
					if ctx.Err() != nil || !limited {
						t.Errorf("an undo was given a context that has ended (%v), or none with a limit", ctx.Err())
					}
					return nil
				}
				inject := func(context.Context, Scene) (Undo, error) { return undo, nil }
				b.add("first", Planned{}, inject)
				b.add("timed", forTime(30*time.Minute), inject)
				b.add("last", last, inject)
				b.add("not begun", Planned{}, func(ctx context.Context, _ Scene) (Undo, error) {
					<-ctx.Done()
					return undo, ctx.Err()
				})
				if err := b.episode(ctx); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(b.start); got != time.Second {
					t.Errorf("it ended after %s, want 1s", got)
				}
				want := int32(2)
				if name == "in effect" {
					want = 4
				}
				if got := undone.Load(); got != want {
					t.Errorf("%d were undone, want %d: %q", got, want, b.notes)
				}
				for _, note := range b.notes {
					if name != "in effect" && strings.Contains(note, "last") {
						t.Errorf("the step had not started: %s", note)
					}
				}
			})
		})
	}
}

// A client that was stopped continues, however its step ends.
func TestEpisodeLetsTheClientGo(t *testing.T) {
	for name, inject := range map[string]func(context.Context, Scene) (Undo, error){
		"failed":   func(context.Context, Scene) (Undo, error) { return nil, errors.New("no") },
		"panicked": func(context.Context, Scene) (Undo, error) { panic("oh") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.add("fault", when(workloads.Acquired), inject)
				go func() { _ = b.episode(t.Context()) }()
				synctest.Wait()
				// If the client were not released, all goroutines would be blocked, which fails the test.
				b.runner.Triggers.Reached(t.Context(), workloads.Moment{Event: workloads.Acquired})
			})
		})
	}
}

// A step on the holder that begins between two holds waits for the next holder.
func TestEpisodeAwaitsAHolder(t *testing.T) {
	for name, want := range map[string]string{"held": "0s struck 2", "free": "0s struck 3"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				if name == "free" {
					b.runner.Crew.(*fakeCrew).holders = nil
				}
				b.add("pause", Planned{Step: Step{Target: "holder"}}, func(_ context.Context, s Scene) (Undo, error) {
					h, _ := holder(s)
					b.say("struck %d", h.Client)
					return nil, nil
				})
				ended := make(chan error, 1)
				go func() { ended <- b.episode(t.Context()) }()
				synctest.Wait() // until it has ended or waits
				b.runner.Triggers.Reached(t.Context(), workloads.Moment{Event: workloads.Acquired, Client: 3})
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				if b.notes[0] != want {
					t.Errorf("%q, want first %q", b.notes, want)
				}
			})
		})
	}
}

// The runner shares the state that faults need about each other.
func TestEpisodeWithOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		kill := make1(t, Step{Fault: "kill", Target: "master"})
		short, long := forTime(time.Second), forTime(10*time.Second)
		short.Fault, long.Fault = kill, kill
		b.pending = Plan{short, long}
		if err := b.episode(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.want(
			"0s kill master begins", "0s kill master bites",
			"0s kill master begins", "0s kill master bites",
			"1s kill master heals", "1s kill master healed",
			"10s kill master heals", "10s kill master healed",
		)
		if state := b.runner.Cluster.(*fake).state(); state != "" {
			t.Errorf("left: %s", state)
		}
	})
}
