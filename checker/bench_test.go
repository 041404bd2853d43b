package checker

import (
	"fmt"
	"testing"
	"time"

	"lockbench/internal/history"
)

// BenchmarkExclusion judges histories of ten times the length: what an operation costs
// should stay, also beside a holder that never gives back what it holds.
func BenchmarkExclusion(b *testing.B) {
	for _, stuck := range []int{0, 1, 100} {
		for _, sessions := range []int{5_000, 50_000} {
			h := long(sessions, stuck)
			b.Run(fmt.Sprintf("stuck=%d/sessions=%d", stuck, sessions), func(b *testing.B) {
				for b.Loop() {
					Exclusion{}.Check(h, Options{})
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*sessions), "ns/session")
			})
		}
	}
}

// BenchmarkReading is the reference: a plain pass over the same events.
func BenchmarkReading(b *testing.B) {
	h := long(50_000, 0)
	var sum time.Duration
	for b.Loop() {
		for i := range h.Events {
			sum += h.Events[i].Time
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*50_000), "ns/session")
	_ = sum
}

// long makes a history of sessions in turn, each with a check, after some that are
// granted and never released.
func long(sessions, stuck int) *history.History {
	var events []history.Event
	add := func(e history.Event) {
		e.Index, e.Time = len(events), time.Duration(len(events))*time.Millisecond
		e.Client = int32(e.Process)
		events = append(events, e)
	}
	for i := range sessions {
		e := history.Event{Process: history.Process(i % 30), Session: fmt.Sprint(i), TTL: 8 * time.Second}
		if i < stuck {
			e.Process, e.TTL = history.Process(100+i), 0
		}
		for _, f := range []string{history.Acquire, history.Check, history.Release} {
			e.F, e.Key = f, ""
			if f == history.Acquire {
				e.Key = "a"
			}
			e.Type = history.Invoke
			add(e)
			e.Type, e.Key = history.OK, ""
			add(e)
			e.TTL = 0
			if i < stuck {
				break
			}
		}
	}
	h, err := history.Build(history.Header{}, events)
	if err != nil {
		panic(err)
	}
	return h
}
