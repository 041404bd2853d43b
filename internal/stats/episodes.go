package stats

import (
	"time"

	"lockbench/internal/history"
)

// countEpisodes counts the episodes that began. A history without episodes counts as one,
// if it has a session.
func countEpisodes(h *history.History) int {
	starts := h.Episodes
	if len(starts) == 0 {
		return min(len(h.Sessions), 1)
	}
	numbers := map[int]bool{}
	for _, s := range starts {
		numbers[s.Number] = true
	}
	return len(numbers)
}

// episodeBegan returns when an episode began, or 0 if the history has no such episode.
func episodeBegan(h *history.History, number int) time.Duration {
	for _, s := range h.Episodes {
		if s.Number == number {
			return h.At(s.At).Time
		}
	}
	return 0
}

// unordered counts the promotions that no fault explains, and returns their episodes. broken has the episodes in which the lock
// broke.
func unordered(h *history.History, broken map[int]int) (u Unordered, seen map[int]bool) {
	seen = map[int]bool{}
	for _, takeover := range h.Unordered() {
		u.Promotions++
		n, _ := h.EpisodeAt(takeover.At)
		if seen[n] {
			continue
		}
		seen[n] = true
		u.Episodes++
		if _, is := broken[n]; is {
			u.ViolatingEpisodes++
		}
	}
	return u, seen
}
