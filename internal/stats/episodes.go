package stats

import (
	"encoding/json"
	"math"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
)

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

// EpisodeOf is the episode in force at a position, and false for a history that does
// not speak of episodes.
func EpisodeOf(h *history.History, at int) (number int, ok bool) {
	starts := episodeStarts(h)
	return episodeAt(starts, at), len(starts) > 0
}

// WorstOfEpisodes picks, for each episode that broke, the first finding of its worst class.
func WorstOfEpisodes(h *history.History, checks []checker.Result) map[int]checker.Finding {
	starts := episodeStarts(h)
	worst := map[int]checker.Finding{}
	for _, c := range checks {
		for _, f := range c.Findings {
			n := episodeAt(starts, Position(h, f.Event))
			best, found := worst[n]
			if !found || f.Class > best.Class || f.Class == best.Class && f.Event < best.Event {
				worst[n] = f
			}
		}
	}
	return worst
}

// episodeBegan is when an episode began; what comes before the first one counts to it.
func episodeBegan(h *history.History, starts []episodeStart, number int) time.Duration {
	for _, s := range starts {
		if s.number == number {
			return h.At(s.at).Time
		}
	}
	return 0
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
