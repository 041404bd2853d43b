//go:build unix

// Package bench measures how the time to read and to judge a history grows with its length. `make bench` runs it;
// `go test` only checks the measured histories.
package bench

import (
	"bytes"
	"flag"
	"syscall"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
)

var eventsFlag = flag.Int("events", 100_000, "the length of the longer history")

// growthGoal is the largest factor of the time for ten times the history. n log n reaches 12 on an idle machine and 20 on a
// busy one, and a square 100.
const growthGoal = 30

// worthTelling is the least time for which growth is computed.
const worthTelling = 2 * time.Millisecond

// BenchmarkJudge reads and judges each case in two lengths, and fails if the time grows faster than sorting. The shorter
// history is judged ten times from copies, because one that fits into the caches of the processor is judged faster.
//
//	go test -run '^$' -bench . -benchtime 1x ./checker/bench
//	go test -run '^$' -bench 'Judge/renewals$' -benchtime 1x -cpuprofile cpu.out ./checker/bench
//	go test -run '^$' -bench 'Judge/run$' -benchtime 1x -benchmem ./checker/bench -events 1000000
func BenchmarkJudge(b *testing.B) {
	for _, c := range cases() {
		b.Run(c.name, func(b *testing.B) {
			const copies = 10
			small, large := lines(b, c, *eventsFlag/copies), lines(b, c, *eventsFlag)
			var read, judged, readSmall, judgedSmall time.Duration
			for b.Loop() {
				least(&readSmall, &judgedSmall, b, small, copies)
				least(&read, &judged, b, large, 1)
			}
			for what, times := range map[string][2]time.Duration{"read": {readSmall, read}, "judge": {judgedSmall, judged}} {
				growth := copies * times[1].Seconds() / times[0].Seconds()
				b.ReportMetric(growth, what+"-growth")
				b.ReportMetric(float64(times[1].Nanoseconds())/float64(*eventsFlag), what+"-ns/event")
				if growth > growthGoal && times[1] > worthTelling {
					b.Errorf("%s, %s: ten times the history takes %.1f times as long, goal %d", c.what, what, growth, growthGoal)
				}
			}
		})
	}
}

// least reads and judges copies of a history, three times, and sets the least times of all copies so far.
func least(read, judged *time.Duration, b *testing.B, text []byte, copies int) {
	for range 3 {
		all := make([]*history.History, copies)
		begin := used(b)
		for i := range all {
			var err error
			if all[i], err = history.Read(bytes.NewReader(text)); err != nil {
				b.Fatal(err)
			}
		}
		between := used(b)
		for _, h := range all {
			checker.Judge(h, checker.Options{})
		}
		set(read, between-begin)
		set(judged, used(b)-between)
	}
}

// used returns the processor time of this process, which other load on the machine disturbs less than the time of day.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func set(least *time.Duration, took time.Duration) {
	if *least == 0 || took < *least {
		*least = took
	}
}

func lines(t testing.TB, c Case, n int) []byte {
	t.Helper()
	text, err := c.history(n)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The measured histories are well-formed, have their stated length, and get their intended verdict.
func TestCasesAreJudged(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			for _, n := range []int{1200, 2400} {
				h, err := history.Read(bytes.NewReader(lines(t, c, n)))
				if err != nil {
					t.Fatal(err)
				}
				if much := len(h.Events) + len(h.Sessions[0].Keys) + mentioned(h); much < n*3/4 || much > n*3/2 {
					t.Errorf("%d events: got %d events, keys and names", n, much)
				}
				r := checker.Judge(h, checker.Options{})
				if r.Verdict != c.verdict || r.Broken() != "" {
					first, _ := r.First()
					t.Errorf("%d events: got %s, want %s: %s %s %s", n, r.Verdict, c.verdict, first.Text, r.Why(), r.Broken())
				}
			}
		})
	}
}

// mentioned returns the number of remaining names in the facts of probes.
func mentioned(h *history.History) (n int) {
	for _, pos := range h.Probes {
		if left := h.Events[pos].Facts.Left; left != nil {
			n += len(left.Names)
		}
	}
	return n
}
