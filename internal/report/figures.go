package report

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
)

// Figures are the numbers of one lock's run.
type Figures struct {
	Episodes          int `json:"episodes"` // that began
	ViolatingEpisodes int `json:"violating_episodes"`
	// Rate is absent if there was no episode.
	Rate *Rate `json:"rate,omitempty"`
	// FirstViolationS is absent if nothing was violated.
	FirstViolationS *float64 `json:"first_violation_s,omitempty"`
	Acquires        Acquires `json:"acquires"`
	LostUpdates     int      `json:"lost_updates"`
	// OutageS is the longest stretch in which somebody tried and nobody got any lock.
	OutageS   float64            `json:"outage_s"`
	LatencyMS map[string]Latency `json:"latency_ms,omitempty"` // acquire and release, those that were ok; handoff
}

// Measure computes the figures of a history. checks are all findings, uncut: from
// the first fifty one could not tell how many episodes broke.
func Measure(h *history.History, checks []checker.Result) Figures {
	f := Figures{
		Acquires:  acquires(h),
		OutageS:   outage(h).Seconds(),
		LatencyMS: latencies(h),
	}
	starts := episodeStarts(h)
	f.Episodes = countEpisodes(h, starts)
	broken := map[int]bool{}
	first := math.MaxInt
	for _, c := range checks {
		// Not the number of findings: one late write undoes many.
		f.LostUpdates += c.LostUpdates
		if c.Verdict != checker.Violated {
			continue
		}
		for _, finding := range c.Findings {
			at := position(h, finding.Event)
			broken[episodeAt(starts, at)] = true
			first = min(first, at)
		}
	}
	f.ViolatingEpisodes = min(len(broken), f.Episodes)
	if first < len(h.Events) {
		s := h.Events[first].Time.Seconds()
		f.FirstViolationS = &s
	}
	if f.Episodes > 0 {
		low, high := Wilson(f.ViolatingEpisodes, f.Episodes)
		f.Rate = &Rate{Rate: float64(f.ViolatingEpisodes) / float64(f.Episodes), Low: low, High: high}
	}
	return f
}

func acquires(h *history.History) Acquires {
	var a Acquires
	for _, s := range h.Sessions {
		switch s.Acquire.Outcome {
		case history.Done:
			a.OK++
		case history.Failed:
			a.Fail++
		default:
			a.Info++
		}
	}
	return a
}

func latencies(h *history.History) map[string]Latency {
	took := map[string][]time.Duration{}
	add := func(op history.Op) {
		if op.Outcome == history.Done && op.Return >= 0 {
			took[op.F] = append(took[op.F], h.At(op.Return).Time-h.At(op.Invoke).Time)
		}
	}
	for _, s := range h.Sessions {
		add(s.Acquire)
		for _, op := range s.Ops {
			if op.F == history.Release {
				add(op)
			}
		}
	}
	if all := handoffs(h); len(all) > 0 {
		took[handoff] = all
	}
	out := map[string]Latency{}
	for f, all := range took {
		slices.Sort(all)
		out[f] = Latency{P50: millis(rank(all, 0.50)), P99: millis(rank(all, 0.99)), Max: millis(all[len(all)-1])}
	}
	return out
}

// rank is the smallest time that at least that share of all do not exceed.
func rank(sorted []time.Duration, share float64) time.Duration {
	i := int(math.Ceil(share*float64(len(sorted)))) - 1
	return sorted[max(i, 0)]
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// outage is the longest stretch in which nobody was granted any lock although
// somebody tried. A stretch begins at a grant (the first one: at the first answer
// to any acquire), or, if nobody was trying then, when the next attempt begins; so
// a quiet stretch without attempts is none. It ends at the next grant, or at the
// last answer.
func outage(h *history.History) time.Duration {
	type answer struct {
		invoke, at int
		granted    bool
	}
	var answers []answer
	for _, s := range h.Sessions {
		if op := s.Acquire; op.Return >= 0 {
			answers = append(answers, answer{op.Invoke, op.Return, op.Outcome == history.Done})
		}
	}
	if len(answers) == 0 {
		return 0
	}
	// An attempt that hangs and is never answered is not among them and counts for
	// nothing: its client may be long dead.
	slices.SortFunc(answers, func(a, b answer) int { return a.at - b.at })

	// earliest[i] is when the first attempt began of those that are answered at i or
	// later: an attempt that outlives several grants was trying all along.
	earliest := make([]int, len(answers))
	for i := len(answers) - 1; i >= 0; i-- {
		earliest[i] = answers[i].invoke
		if i+1 < len(answers) {
			earliest[i] = min(earliest[i], earliest[i+1])
		}
	}

	var longest time.Duration
	begin, tried := answers[0].at, earliest[0]
	for i, a := range answers {
		if a.granted || i == len(answers)-1 {
			longest = max(longest, h.At(a.at).Time-h.At(max(begin, tried)).Time)
			if i+1 < len(answers) {
				begin, tried = a.at, earliest[i+1]
			}
		}
	}
	return longest
}

// episodeStart is a probe event that says which episode begins.
type episodeStart struct{ at, number int }

func episodeStarts(h *history.History) []episodeStart {
	var starts []episodeStart
	for i := range h.Events {
		e := &h.Events[i]
		if e.Process != history.Probe || e.Extra == nil {
			continue
		}
		if n, ok := wholeNumber(e.Extra.Facts["episode"]); ok {
			starts = append(starts, episodeStart{i, n})
		}
	}
	return starts
}

// countEpisodes counts those that began. A history that does not speak of episodes
// is one, if it has anything in it.
func countEpisodes(h *history.History, starts []episodeStart) int {
	if len(starts) == 0 {
		return min(len(h.Sessions), 1)
	}
	numbers := map[int]bool{}
	for _, s := range starts {
		numbers[s.number] = true
	}
	return len(numbers)
}

// episodeAt is the episode in force at a position. What comes before the first one
// begins (a lock may break before any fault) counts to the first.
func episodeAt(starts []episodeStart, at int) int {
	if len(starts) == 0 {
		return 1
	}
	number := starts[0].number
	for _, s := range starts {
		if s.at > at {
			break
		}
		number = s.number
	}
	return number
}

// wholeNumber reads a fact, whichever way it came: recorded in this process, or
// decoded from JSON.
func wholeNumber(fact any) (int, bool) {
	switch n := fact.(type) {
	case int:
		return n, true
	case int64:
		return int(n), true
	case uint64:
		return int(n), true
	case float64:
		return int(n), n == math.Trunc(n)
	case json.Number:
		i, err := n.Int64()
		return int(i), err == nil
	}
	return 0, false
}

// position finds the event with an index. In lockbench's own histories the two are
// the same; a history from elsewhere may have gaps.
func position(h *history.History, index int) int {
	if index >= 0 && index < len(h.Events) && h.Events[index].Index == index {
		return index
	}
	at, _ := slices.BinarySearchFunc(h.Events, index, func(e history.Event, index int) int { return e.Index - index })
	return max(min(at, len(h.Events)-1), 0)
}
