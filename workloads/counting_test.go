package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/locks"
)

var (
	plainly    = counting{ownerless: true, Params: Params{Keys: []string{"a"}, TTL: 8 * time.Second, HoldMin: 20 * time.Millisecond, HoldMax: 20 * time.Millisecond}}
	errUnclear = errors.New("connection reset")
)

// inTurns runs turns of the counter in virtual time.
func inTurns(t *testing.T, set func(*bench), w counting, turns int, look func(*bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, history.Header{})
		set(b)
		for range turns {
			w.turn(t.Context(), b.client)
		}
		look(b)
	})
}

func TestTurn(t *testing.T) {
	set := func(b *bench) {
		b.conn.grant = guest.Grant{Until: ptr(7 * time.Second), Nodes: []string{"redis-1", "redis-3"}}
	}
	w := plainly
	w.Wait = time.Second
	inTurns(t, set, w, 2, func(b *bench) {
		once := `
			3 invoke acquire 3.1 a ttl=8s wait=1s
			3 ok acquire 3.1 until=7s node=redis-1,redis-3
			3 invoke check 3.1
			3 ok check 3.1
			3 invoke read 3.1 plain
			3 ok read 3.1 plain value=0
			3 invoke check 3.1
			3 ok check 3.1
			3 invoke write 3.1 plain value=1
			3 ok write 3.1 plain value=1
			3 invoke check 3.1
			3 ok check 3.1
			3 invoke release 3.1
			3 ok release 3.1`
		again := strings.NewReplacer("3.1", "3.2", "value=0", "value=1", "value=1", "value=2").Replace(once)
		h := b.want(once + again)
		if held := h.Events[8].Time - h.Events[5].Time; held != 20*time.Millisecond {
			t.Errorf("held for %s between read and write, want 20ms", held)
		}
		told := `
			begin
			asking 3 "3.1" a []
			acquiring 3 "3.1" a []
			acquired 3 "3.1" a [redis-1 redis-3]
			awake? 3
			checked 3 "3.1" a [redis-1 redis-3]
			awake? 3
			releasing 3 "3.1" a [redis-1 redis-3]
			released 3 "3.1" a [redis-1 redis-3]
			end`
		b.wantTold(told + strings.ReplaceAll(told, "3.1", "3.2"))
	})
}

// After a refusal nothing is released, and the same process tries again.
func TestTurnRefused(t *testing.T) {
	set := func(b *bench) { b.conn.answers["acquire"] = always(fmt.Errorf("acquire: %w", locks.ErrTaken)) }
	inTurns(t, set, plainly, 2, func(b *bench) {
		b.want(`
			3 invoke acquire 3.1 a ttl=8s
			3 fail acquire 3.1 error=taken
			3 invoke acquire 3.2 a ttl=8s
			3 fail acquire 3.2 error=taken`)
		b.wantTold(`
			begin
			acquiring 3 "3.1" a []
			waiting 3 "" a []
			end
			begin
			acquiring 3 "3.2" a []
			waiting 3 "" a []
			end`)
	})
}

// After an unknown acquire the client releases the lock, with a new process, because the old one may still be acquiring.
func TestTurnUnknown(t *testing.T) {
	set := func(b *bench) { b.conn.answers["acquire"] = always(errUnclear) }
	inTurns(t, set, plainly, 2, func(b *bench) {
		h := b.want(`
			3 invoke acquire 3.1 a ttl=8s
			3 info acquire 3.1 error=connection reset
			1003 invoke release 3.1
			1003 ok release 3.1
			1003 invoke acquire 3.2 a ttl=8s
			1003 info acquire 3.2 error=connection reset
			2003 invoke release 3.2
			2003 ok release 3.2`)
		for _, e := range h.Events {
			if e.Client != 3 {
				t.Errorf("event %d is client %d's", e.Index, e.Client)
			}
		}
		told := "begin\nacquiring 3 \"3.1\" a []\nreleasing 3 \"3.1\" a []\nend\n"
		b.wantTold(told + strings.ReplaceAll(told, "3.1", "3.2"))
	})
}

// After each error of an operation the client releases the lock that it may hold, and writes nothing unless it is sure.
func TestTurnErrors(t *testing.T) {
	begin := "3 invoke acquire 3.1 a ttl=8s\n3 ok acquire 3.1\n"
	looked := begin + "3 invoke check 3.1\n3 ok check 3.1\n"
	read := looked + "3 invoke read 3.1 plain\n3 ok read 3.1 plain value=0\n"
	sure := read + "3 invoke check 3.1\n3 ok check 3.1\n3 invoke write 3.1 plain value=1\n"
	wrote := sure + "3 ok write 3.1 plain value=1\n3 invoke check 3.1\n3 ok check 3.1\n3 invoke release 3.1\n"
	back, retired := "\n3 invoke release 3.1\n3 ok release 3.1", "\n1003 invoke release 3.1\n1003 ok release 3.1"
	tests := []struct {
		name   string
		op     string
		answer func(context.Context) error
		want   string
		value  int64
	}{
		{"lost at once", "check", always(guest.ErrLost), begin + "3 invoke check 3.1\n3 fail check 3.1 error=lost" + back, 0},
		{"lost before the write", "check", the(2, guest.ErrLost), read + "3 invoke check 3.1\n3 fail check 3.1 error=lost" + back, 0},
		{"check unknown", "check", always(errUnclear), begin + "3 invoke check 3.1\n3 info check 3.1 error=connection reset" + retired, 0},
		{"read unknown", "touch", always(errUnclear), looked + "3 invoke read 3.1 plain\n3 info read 3.1 plain error=connection reset" + retired, 0},
		{"write unknown", "touch", the(2, errUnclear), sure + "3 info write 3.1 plain value=1 error=connection reset" + retired, 0},
		{"not held", "release", always(locks.ErrNotHeld), wrote + "3 fail release 3.1 error=not-held", 1},
		{"release unknown", "release", always(errUnclear), wrote + "3 info release 3.1 error=connection reset", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			set := func(b *bench) { b.conn.answers[test.op] = test.answer }
			inTurns(t, set, plainly, 1, func(b *bench) {
				b.want(test.want)
				b.client.Guarded.Final(func(_, _ string, value int64) {
					if value != test.value {
						t.Errorf("the counter is %d, want %d", value, test.value)
					}
				})
				if last := b.hooks.told[len(b.hooks.told)-2:]; !slices.Equal(last, []string{`released 3 "3.1" a []`, "end"}) {
					t.Errorf("at last the hooks were told %q", last)
				}
			})
		})
	}
}

// A client that is gone records nothing and ends. A client that exceeds the limit is killed and therefore gone.
func TestGone(t *testing.T) {
	acquired := "3 invoke acquire 3.1 a ttl=8s\n3 ok acquire 3.1\n"
	for op, want := range map[string]string{
		"acquire": "3 invoke acquire 3.1 a ttl=8s\n3 info acquire 3.1 error=%s",
		"check":   acquired + "3 invoke check 3.1\n3 info check 3.1 error=%s",
		"touch":   acquired + "3 invoke check 3.1\n3 ok check 3.1\n3 invoke read 3.1 plain\n3 info read 3.1 plain error=%s",
	} {
		for name, answer := range map[string]func(context.Context) error{
			"the guest is gone": always(guest.ErrGone), "no answer: context deadline exceeded": silence,
		} {
			t.Run(op+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t, history.Header{})
					b.conn.answers[op] = answer
					// The limit ends the test if a client does not stop.
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					plainly.Run(ctx, b.client)
					if ctx.Err() != nil {
						t.Error("it lives on until the run ends")
					}
					h := b.want(fmt.Sprintf(want, name))
					told := strings.Join(b.hooks.told, "\n")
					if strings.Contains(told, "released") || !strings.HasSuffix(told, "end") {
						t.Errorf("the hooks were told:\n%s", told)
					}
					overdue := strings.Contains(told, "overdue 3: ")
					if took := h.Events[len(h.Events)-1].Time; overdue != (took == 10*time.Second) || overdue != (name != "the guest is gone") {
						t.Errorf("overdue %v after %s; the limit is 10s", overdue, took)
					}
					if held, err := b.client.Acquire(ctx, locks.Request{Keys: []string{"a"}}); held != nil || !errors.Is(err, guest.ErrGone) {
						t.Errorf("the dead acquire: %v, %v", held, err)
					}
				})
			})
		}
	}
}

// The limit begins after the wait that the request allows. The end of the run does not interrupt an operation: it ends and is
// recorded.
func TestOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, history.Header{})
		b.conn.answers["acquire"] = silence
		w := plainly
		w.Wait = 5 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w.Run(ctx, b.client)
		h := b.read()
		if took := h.Events[1].Time - h.Events[0].Time; took != 15*time.Second || len(h.Events) != 2 {
			t.Errorf("given up after %s, %d events; want 15s, 2", took, len(h.Events))
		}
		if told := b.hooks.told; len(told) != 5 || !strings.HasPrefix(told[3], "overdue 3: acquire took longer than ") {
			t.Errorf("the hooks were told %q", told)
		}
	})
}

// TestOverdueTouch: a request without an answer has the name that the author of the guest knows.
func TestOverdueTouch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, history.Header{})
		b.conn.answers["touch"] = silence
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		plainly.Run(ctx, b.client)
		if told := b.hooks.told; !slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, "overdue 3: touch took longer than ") }) {
			t.Errorf("the hooks were told %q", told)
		}
	})
}

// A paused client begins no operation. It invokes the touch after the pause.
func TestTouchWaitsUntilAwake(t *testing.T) {
	set := func(b *bench) { b.hooks.awake = func() { time.Sleep(3 * time.Second) } }
	inTurns(t, set, plainly, 1, func(b *bench) {
		touches := 0
		h := b.read()
		for i, e := range h.Events {
			if e.Type != history.Invoke || e.F != history.FRead && e.F != history.Write {
				continue
			}
			touches++
			if slept := e.Time - h.Events[i-1].Time; slept < 3*time.Second {
				t.Errorf("%s was invoked %s after the event before, while the client stood still", e.F, slept)
			}
		}
		if touches != 2 {
			t.Errorf("%d touches", touches)
		}
	})
}

// A lock with tokens guards the fenced form, which refuses an overtaken client.
func TestFenced(t *testing.T) {
	overtake := func(b *bench) { _, _ = b.client.Guarded.Touch("a", formFenced, 8, nil, func(int64, error) {}) }
	begin := "3 invoke acquire 3.1 a ttl=8s\n3 ok acquire 3.1 token=7\n3 invoke check 3.1\n3 ok check 3.1\n3 invoke read 3.1 fenced token=7\n"
	sure := begin + "3 ok read 3.1 fenced token=7 value=0\n3 invoke check 3.1\n3 ok check 3.1\n3 invoke write 3.1 fenced token=7 value=1\n"
	end := "\n3 invoke release 3.1\n3 ok release 3.1"
	for _, test := range []struct {
		name string
		set  func(*bench)
		want string
	}{
		{"in order", func(*bench) {}, sure + "3 ok write 3.1 fenced token=7 value=1\n3 invoke check 3.1\n3 ok check 3.1" + end},
		{"overtaken before it reads", overtake, begin + "3 fail read 3.1 fenced token=7 error=stale-token" + end},
		{"overtaken before it writes", func(b *bench) {
			touches := 0
			b.conn.answers["touch"] = func(context.Context) error {
				if touches++; touches == 2 {
					overtake(b)
				}
				return nil
			}
		}, sure + "3 fail write 3.1 fenced token=7 value=1 error=stale-token" + end},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := func(b *bench) { b.conn.grant.Token = ptr(uint64(7)); test.set(b) }
			inTurns(t, set, plainly, 1, func(b *bench) { b.want(test.want) })
		})
	}
}

// A step may extend the hold of a client, which then checks each second that it still holds.
func TestHoldAskedFor(t *testing.T) {
	set := func(b *bench) { b.hooks.hold = map[Event]time.Duration{Acquired: 2500 * time.Millisecond} }
	inTurns(t, set, plainly, 1, func(b *bench) {
		var checks []time.Duration
		var wrote time.Duration
		for _, e := range b.read().Events {
			switch {
			case e.Type == history.Invoke && e.F == history.Check:
				checks = append(checks, e.Time)
			case e.Type == history.Invoke && e.F == history.Write:
				wrote = e.Time
			}
		}
		want := []time.Duration{0, time.Second, 2 * time.Second, 2500 * time.Millisecond, 2500 * time.Millisecond}
		if !slices.Equal(checks, want) || wrote != 2500*time.Millisecond {
			t.Errorf("checks at %v, written at %s; want %v, 2.5s", checks, wrote, want)
		}
	})
}

// An unsupported operation is not a refusal. It ends the run.
func TestUnfit(t *testing.T) {
	set := func(b *bench) { b.conn.answers["acquire"] = always(fmt.Errorf("%w: no waiting", locks.ErrUnsupported)) }
	inTurns(t, set, plainly, 1, func(b *bench) {
		b.want("3 invoke acquire 3.1 a ttl=8s\n3 fail acquire 3.1 error=unsupported: no waiting")
		b.wantTold("begin\nacquiring 3 \"3.1\" a []\nunfit: unsupported: no waiting\nend")
	})
}

// The end of the run ends a hold early, and the client releases.
func TestRunGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, history.Header{})
		w := plainly
		w.HoldMin, w.HoldMax = time.Hour, time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		w.Run(ctx, b.client)
		h := b.read()
		last := h.Events[len(h.Events)-1]
		if last.F != history.Release || last.Type != history.OK || last.Time != 90*time.Second {
			t.Errorf("at last: %s", events(h)[len(h.Events)-1])
		}
	})
}

// A correct lock loses no increments.
func TestClientsCountTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, history.Header{})
		var held sync.Mutex
		b.conn.answers["acquire"] = func(context.Context) error {
			if !held.TryLock() {
				return locks.ErrTaken
			}
			return nil
		}
		b.conn.answers["release"] = func(context.Context) error { held.Unlock(); return nil }
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var all sync.WaitGroup
		for id := range 4 {
			c := b.newClient(id)
			c.Guarded = b.client.Guarded
			all.Go(func() { plainly.Run(ctx, c) })
		}
		all.Wait()
		wrote := int64(0)
		for _, e := range b.read().Events {
			if e.F == history.Write && e.Type == history.OK {
				wrote++
			}
		}
		b.client.Guarded.Final(func(_, _ string, value int64) {
			if value != wrote || wrote < 100 {
				t.Errorf("counted to %d in %d writes", value, wrote)
			}
		})
	})
}

// Each client draws its holds from the scenario's range, both ends included, with its own randomness.
func TestDrawn(t *testing.T) {
	c := (&bench{t: t}).newClient(1)
	seen := map[time.Duration]bool{}
	for range 200 {
		seen[drawn(c, 3, 5)] = true
	}
	if len(seen) != 3 || !seen[3] || !seen[5] || drawn(c, 4, 4) != 4 {
		t.Errorf("drawn from 3..5: %v", seen)
	}
}
