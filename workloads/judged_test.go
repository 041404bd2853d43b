package workloads

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/locks"
)

// judged runs a workload on a lock in virtual time and judges the history. Reading the history checks the rules of the format.
func judged(t *testing.T, name string, p Params, h history.Header, faults ...fault) (*history.History, checker.Report) {
	t.Helper()
	entry, ok := Find(name)
	if name == renews.Name {
		entry, ok = renews, true
	}
	if !ok {
		t.Fatalf("no workload is called %q", name)
	}
	var got *history.History
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, h)
		lock := &memory{faults: map[fault]bool{}, record: func(e history.Event) { b.recorder.Record(e) }}
		for _, f := range faults {
			lock.faults[f] = true
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		work := entry.New(p)
		var all sync.WaitGroup
		for id := range 5 {
			c := b.newClient(id)
			c.Guarded, c.Conn = b.client.Guarded, memoryConn{lock, id}
			all.Go(func() { Live(ctx, work, c.Threads(work)) })
		}
		all.Wait()
		got = b.read()
	})
	return got, checker.Judge(got, checker.Options{})
}

// Every workload is valid with a correct lock, and violated with each wrong one.
func TestJudged(t *testing.T) {
	short := Params{Keys: []string{"a", "b"}, TTL: 8 * time.Second, Wait: 2 * time.Second,
		HoldMin: 2 * time.Millisecond, HoldMax: 20 * time.Millisecond}
	with := func(change func(*Params)) Params { p := short; change(&p); return p }
	for _, test := range []struct {
		workload string
		params   Params
		model    []string
		claims   locks.Claims
		grants   int
		faults   map[fault]string // and which checker finds out
	}{
		{"reentrant", short, []string{"mutex", "reentrant"}, locks.Claims{Bounded: true}, 150,
			map[fault]string{firstReleaseEnds: "exclusion", clientsNotThreads: "exclusion"}},
		{"readers-writers", short, []string{"rw", "reentrant"}, locks.Claims{Bounded: true}, 150,
			map[fault]string{readersComeIn: "exclusion", writersComeIn: "exclusion", firstReleaseEnds: "exclusion"}},
		{"fair", with(func(p *Params) { p.Keys = p.Keys[:1] }), []string{"mutex", "reentrant"}, locks.Claims{Bounded: true, Fair: true}, 100,
			map[fault]string{lastComesFirst: "fairness", everybodyIsWoken: "exclusion"}},
		{"many-keys", with(func(p *Params) { p.Keys = []string{"a", "b", "c", "d"} }), []string{"mutex"}, locks.Claims{Bounded: true}, 150,
			map[fault]string{onlyTheFirstKey: "exclusion"}},
		{"watchdog", with(func(p *Params) { p.TTL, p.HoldMin, p.HoldMax = 0, 400*time.Millisecond, 900*time.Millisecond }),
			[]string{"mutex"}, locks.Claims{Renewed: true}, 5, map[fault]string{neverRenewed: "exclusion"}},
		{"renews", short, []string{"mutex"}, locks.Claims{Bounded: true}, 100, map[fault]string{everybodyIsWoken: "exclusion"}},
		{"renewals", with(func(p *Params) { p.TTL, p.Wait, p.HoldMax = 100*time.Millisecond, 0, 40*time.Millisecond }),
			[]string{"mutex"}, locks.Claims{Bounded: true}, 40, map[fault]string{renewsWhatIsLost: "results"}},
		{"handoff", with(func(p *Params) { p.Keys = p.Keys[:1] }), []string{"mutex"}, locks.Claims{Bounded: true}, 100,
			map[fault]string{everybodyIsWoken: "exclusion"}},
	} {
		header := history.Header{Lock: "memory", Model: test.model, Claims: test.claims}
		t.Run(test.workload, func(t *testing.T) {
			h, report := judged(t, test.workload, test.params, header)
			if report.Verdict != checker.Valid {
				f, _ := report.First()
				t.Errorf("a lock that works is %s: %s %s", report.Verdict, report.Why(), f.Text)
			}
			granted := 0
			for _, s := range h.Sessions {
				if s.Acquire.Outcome == history.Done {
					granted++
				}
			}
			if granted < test.grants {
				t.Errorf("%d grants, want at least %d", granted, test.grants)
			}
		})
		for f, finder := range test.faults {
			t.Run(test.workload+", "+string(f), func(t *testing.T) {
				_, report := judged(t, test.workload, test.params, header, f)
				if c, ok := report.Check(finder); !ok || c.Verdict != checker.Violated {
					t.Errorf("%s says %s; all: %+v", finder, c.Verdict, report)
				}
			})
		}
	}
}
