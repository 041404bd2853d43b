package stats

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"lockbench/checker"
	"lockbench/internal/history"
)

// Latency is how long some things took, in milliseconds, exact to a thousandth.
type Latency struct {
	N   int     `json:"n,omitempty"`
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
	// HDR is the whole distribution, an HdrHistogram of microseconds (V2, compressed,
	// base64), so that those of several runs can be put together: percentiles cannot.
	HDR string `json:"hdr,omitempty"`
	// hist is the same before it is written: to compress it takes longer than to judge
	// a short history, and a search judges thousands.
	hist *hdrhistogram.Histogram
}

// Equal compares the numbers; the same distribution may be there in either form.
func (l Latency) Equal(o Latency) bool {
	return l.N == o.N && l.P50 == o.P50 && l.P99 == o.P99 && l.Max == o.Max
}

// MarshalJSON writes the distribution with the rest.
func (l Latency) MarshalJSON() ([]byte, error) {
	type plain Latency
	if l.HDR == "" && l.hist != nil {
		text, err := l.hist.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return nil, fmt.Errorf("encode a histogram: %w", err)
		}
		l.HDR = string(text)
	}
	return json.Marshal(plain(l))
}

// The phases of a run, as its faults divide it.
const (
	Before = "before" // no fault has begun yet
	During = "during" // some part of it lay in a fault
	After  = "after"  // between two faults, or after the last one
)

// Phases are all of them, in order.
var Phases = []string{Before, During, After}

// timings collects how long things took.
type timings struct {
	hist *hdrhistogram.Histogram
	n    int
	max  time.Duration
}

// longest is the longest time that percentiles tell apart from a longer one.
const longest = time.Hour

func newTimings() *timings {
	return &timings{hist: hdrhistogram.New(1, longest.Microseconds(), 3)}
}

func (t *timings) add(d time.Duration) {
	d = max(0, d)
	t.n++
	t.max = max(t.max, d)
	// What is cut lies inside the histogram's range, so it is recorded.
	_ = t.hist.RecordValue(min(d, longest).Microseconds())
}

// latency is nil if nothing was collected.
func (t *timings) latency() *Latency {
	if t.n == 0 {
		return nil
	}
	l := &Latency{N: t.n, Max: millis(t.max), hist: t.hist}
	// A histogram tells the upper end of the bucket; nothing took longer than the longest.
	l.P50 = min(float64(t.hist.ValueAtQuantile(50))/1000, l.Max)
	l.P99 = min(float64(t.hist.ValueAtQuantile(99))/1000, l.Max)
	return l
}

// MergeLatency puts distributions together. Of those that were written without their
// histogram nothing is known but the three numbers, and so ok is false.
func MergeLatency(all []Latency) (merged Latency, ok bool) {
	sum := newTimings()
	for _, l := range all {
		one, err := l.hist, error(nil)
		if one == nil {
			one, err = decode(l.HDR)
		}
		if err != nil || sum.hist.Merge(one) > 0 {
			return Latency{}, false
		}
		sum.n += l.N
		sum.max = max(sum.max, time.Duration(math.Round(l.Max*float64(time.Millisecond))))
	}
	if out := sum.latency(); out != nil {
		return *out, true
	}
	return Latency{}, false
}

// decode reads a histogram that may have been written by anybody.
func decode(text string) (h *hdrhistogram.Histogram, err error) {
	defer func() {
		if p := recover(); p != nil { // the library trusts the lengths in its input
			err = fmt.Errorf("decode a histogram: %v", p)
		}
	}()
	if text == "" {
		return nil, errors.New("decode a histogram: there is none")
	}
	if _, err := base64.StdEncoding.DecodeString(text); err != nil {
		return nil, fmt.Errorf("decode a histogram: %w", err)
	}
	return hdrhistogram.Decode([]byte(text))
}

// latencies measures operations that were ok, and acquires by the phase that they fell into.
func latencies(h *history.History) (byOp, byPhase map[string]Latency) {
	ops, phases := map[string]*timings{}, map[string]*timings{}
	add := func(to map[string]*timings, name string, d time.Duration) {
		if to[name] == nil {
			to[name] = newTimings()
		}
		to[name].add(d)
	}
	phaseOf := newPhases(h.Faults())
	for _, s := range h.Sessions {
		if op := s.Acquire; op.Outcome == history.Done && op.Return >= 0 {
			took := h.At(op.Return).Time - h.At(op.Invoke).Time
			add(ops, history.Acquire, took)
			add(phases, phaseOf.of(op), took)
		}
		for _, op := range s.Ops {
			if op.F == history.Release && op.Outcome == history.Done && op.Return >= 0 {
				add(ops, history.Release, h.At(op.Return).Time-h.At(op.Invoke).Time)
			}
		}
	}
	for _, took := range handoffs(h) {
		add(ops, Handoff, took)
	}
	told := func(all map[string]*timings) map[string]Latency {
		out := map[string]Latency{}
		for name, t := range all {
			out[name] = *t.latency()
		}
		return out
	}
	byOp, byPhase = told(ops), told(phases)
	if phaseOf.none() {
		byPhase = nil // no fault, and so no before and no after
	}
	return byOp, byPhase
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// overlaps measures how long two certainly held at once, by the findings of the
// checkers: from the later grant to the last event that shows it.
func overlaps(h *history.History, checks []checker.Result) *Latency {
	all := newTimings()
	for _, c := range checks {
		for _, f := range c.Findings {
			if from, to, ok := Overlap(h, f); ok {
				all.add(h.At(to).Time - h.At(from).Time)
			}
		}
	}
	return all.latency()
}

// Overlap is where a finding shows two holders at once: from the position of the later
// grant to that of the last event which shows it. Other findings have none.
func Overlap(h *history.History, f checker.Finding) (from, to int, ok bool) {
	const grants = 4 // acquire invoke and ok of both, and then what shows it
	if f.Rule != "two-holders" && f.Rule != "reader-and-writer" || len(f.Events) < grants {
		return 0, 0, false
	}
	from, to = h.Position(f.Events[grants-1]), h.Position(f.Events[len(f.Events)-1])
	return from, max(from, to), from < len(h.Events)
}
