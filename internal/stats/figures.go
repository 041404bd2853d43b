// Package stats computes the figures of a run: how often a lock broke, how long until
// it did, how many writes were lost, how long no client could get the lock, and how
// long acquires took.
//
// All other packages show these figures and compute none. They depend only on the
// history and the findings of the judge, so a history that is read again gives the
// same figures.
package stats

import (
	"maps"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
)

// Figures are the numbers of one lock's run.
type Figures struct {
	Episodes          int `json:"episodes"`           // the episodes that began
	ViolatingEpisodes int `json:"violating_episodes"` // the episodes with a violation
	// Unordered counts promotions that no fault explains.
	Unordered Unordered `json:"unordered,omitzero"`
	// Uncounted counts the episodes without the point of the scenario and without a violation: they show nothing.
	Uncounted int `json:"uncounted_episodes,omitempty"`
	// Rate is the rate of the counted episodes; it is absent if there are none.
	Rate *Rate `json:"rate,omitempty"`
	// FirstViolationS is absent if nothing was violated. It counts from the beginning of
	// the history.
	FirstViolationS *float64 `json:"first_violation_s,omitempty"`
	// ViolationAfterS has, for each violated episode, the time from its beginning to its
	// first violation.
	ViolationAfterS []float64 `json:"violation_after_s,omitempty"`
	Acquires        Acquires  `json:"acquires"`     // attempts by outcome
	Writes          int       `json:"writes"`       // the writes that were applied to a guarded resource
	LostUpdates     int       `json:"lost_updates"` // the writes that are missing at the end
	// LostPerThousand is how many of a thousand writes were lost.
	LostPerThousand float64 `json:"lost_per_thousand"`
	// OutageS is the longest stretch in which a client tried and no client got any lock.
	OutageS float64 `json:"outage_s"`
	// ActiveS is how many seconds lie between the first attempt to get a lock and the last
	// answer.
	ActiveS         float64 `json:"active_s"`
	GrantsPerSecond float64 `json:"grants_per_second"` // the grants in that time
	// LatencyMS has the latency of successful acquires and releases, and of handoffs.
	LatencyMS map[string]Latency `json:"latency_ms,omitempty"`
	// AcquireMS has the latency of acquires before, during and after faults.
	AcquireMS map[string]Latency `json:"acquire_ms,omitempty"`
	// OverlapMS is how long two clients certainly held at once, over all such pairs.
	OverlapMS *Latency `json:"overlap_ms,omitempty"`
}

// Unordered counts promotions that no fault of the plan explains, the episodes with such
// a promotion, and those of them in which the lock broke. No rate counts these episodes,
// because they do not show what a fault does to a lock.
type Unordered struct {
	Promotions        int `json:"promotions"`         // how many there were
	Episodes          int `json:"episodes"`           // the episodes that have one
	ViolatingEpisodes int `json:"violating_episodes"` // those of them with a violation
}

// Telling returns the number of episodes that show something about the lock.
func (f *Figures) Telling() int { return f.Episodes - f.Uncounted }

// Counted returns the numbers of episodes that a rate counts.
func (f *Figures) Counted() (violating, episodes int) {
	return f.ViolatingEpisodes - f.Unordered.ViolatingEpisodes, f.Episodes - f.Unordered.Episodes - f.Uncounted
}

// Rate is how often a lock broke, with its bounds.
type Rate struct {
	Rate float64 `json:"rate"` // violating episodes of all episodes
	Low  float64 `json:"low"`  // its exact lower bound, with 95 % confidence
	High float64 `json:"high"` // its exact upper bound, with 95 % confidence
}

// RateOf returns the rate of n violating episodes in m, or nil if m is 0.
func RateOf(n, m int) *Rate {
	if m <= 0 {
		return nil
	}
	low, high := Bounds(n, m)
	return &Rate{Rate: float64(n) / float64(m), Low: low, High: high}
}

// Acquires counts acquire attempts by outcome.
type Acquires struct {
	OK   int `json:"ok"`   // granted
	Fail int `json:"fail"` // refused
	Info int `json:"info"` // of unknown outcome
}

// Measure computes the figures of a history. checks must have all findings, because the
// first fifty do not show how many episodes broke.
func Measure(h *history.History, checks []checker.Result) Figures {
	f := Figures{OutageS: outage(h).Seconds()}
	var active time.Duration
	if f.Acquires, f.Writes, active = counts(h); active > 0 {
		f.ActiveS = active.Seconds()
		f.GrantsPerSecond = float64(f.Acquires.OK) / f.ActiveS
	}
	f.LatencyMS, f.AcquireMS = latencies(h)
	f.OverlapMS = overlaps(h, checks)
	f.Episodes = countEpisodes(h)
	first := map[int]int{} // by episode: position of its first violation
	for _, c := range checks {
		// This is not the number of findings, because one late write undoes many.
		f.LostUpdates += c.LostUpdates
		if c.Verdict != checker.Violated {
			continue
		}
		for _, finding := range c.Findings {
			at := h.Position(finding.Event)
			episode, _ := h.EpisodeAt(at)
			if before, broken := first[episode]; !broken || at < before {
				first[episode] = at
			}
		}
	}
	f.ViolatingEpisodes = min(len(first), f.Episodes)
	for _, episode := range slices.Sorted(maps.Keys(first)) {
		at := first[episode]
		if at >= len(h.Events) {
			continue
		}
		s := h.Events[at].Time.Seconds()
		if f.FirstViolationS == nil || s < *f.FirstViolationS {
			f.FirstViolationS = &s
		}
		f.ViolationAfterS = append(f.ViolationAfterS, max(0, s-episodeBegan(h, episode).Seconds()))
	}
	if f.Writes > 0 {
		f.LostPerThousand = 1000 * float64(f.LostUpdates) / float64(f.Writes)
	}
	var busy map[int]bool
	f.Unordered, busy = unordered(h, first)
	for episode := range checker.Missed(h) {
		if _, broken := first[episode]; !broken && !busy[episode] {
			f.Uncounted++
		}
	}
	f.Rate = RateOf(f.Counted())
	return f
}

// Median returns the median of some values; ok is false if there are none.
func Median(values []float64) (median float64, ok bool) {
	if len(values) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2, true
}

// counts returns the attempts by their outcome, the successful writes of guarded resources, and the time from the first
// attempt to the last answer.
func counts(h *history.History) (a Acquires, writes int, active time.Duration) {
	first, last := len(h.Events), -1
	for _, s := range h.Sessions {
		first, last = min(first, s.Acquire.Invoke), max(last, s.Acquire.Return)
		switch s.Acquire.Outcome {
		case history.Done:
			a.OK++
		case history.Failed:
			a.Fail++
		default:
			a.Info++
		}
		for _, op := range s.Ops {
			if op.F == history.Write && op.Outcome == history.Done {
				writes++
			}
		}
	}
	if first < last {
		active = h.At(last).Time - h.At(first).Time
	}
	return a, writes, active
}

// outage returns the longest time in which a client tried and no client was granted any
// lock. Such a time begins at a grant (the first one at the first answer to an acquire)
// or, if no client was trying then, at the next attempt. It ends at the next grant or at
// the last answer.
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
	// An attempt without an answer does not count, because its client may be dead.
	slices.SortFunc(answers, func(a, b answer) int { return a.at - b.at })

	// earliest[i] is the first invocation of the attempts that are answered at i or
	// later: an attempt may outlast several grants.
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
