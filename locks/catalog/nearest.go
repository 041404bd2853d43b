package catalog

import (
	"fmt"
	"strings"
)

// Nearest returns the known word that was probably meant, if one is near: few letters differ, or the word is the beginning of
// exactly one known word.
func Nearest(word string, known []string) (string, bool) {
	w := []rune(strings.ToLower(word))
	best, bestDistance := "", 1+max(1, len(w)/3) // more than a third: another word was meant
	for _, k := range known {
		if d := distance(w, []rune(strings.ToLower(k)), bestDistance); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	if best != "" || len(w) < 3 {
		return best, best != ""
	}
	for _, k := range known {
		if strings.HasPrefix(strings.ToLower(k), string(w)) {
			if best != "" {
				return "", false
			}
			best = k
		}
	}
	return best, best != ""
}

// shownMax is the number of known words in a hint.
const shownMax = 16

// former are the names of locks that were renamed, and of scenarios that became part of another one, with their names today.
var former = map[string]string{
	"failover-busy":       "leader-kill",
	"lost-majority":       "lost-answer",
	"partition-minority":  "partition-master",
	"quorum-lost":         "majority-lost",
	"redlock-majority":    "majority-lost",
	"redisson-jar":        "redisson",
	"redisson-jar-fair":   "redisson-fair",
	"redisson-jar-rw":     "redisson-rw",
	"redisson-jar-fenced": "redisson-fenced",
	"redisson-jar-spin":   "redisson-spin",
	"redisson-jar-multi":  "redisson-multi",
	"redisson-jar-red":    "redisson-redlock",
	"redisson-wait":       "redisson-port-wait",
	"redisson-silent":     "redisson-port-silent",
	"redisson-chained":    "redisson-port-chained",
}

// today returns the name today of a lock or scenario that was renamed, with the options that follow the old name.
func today(word string) (string, bool) {
	name, _, _ := strings.Cut(word, "/")
	renamed, ok := former[name]
	return renamed + strings.TrimPrefix(word, name), ok
}

// DidYouMean returns a hint: the name today of what was renamed, the nearest known word, or else the known words.
func DidYouMean(word string, known []string) string {
	if renamed, ok := today(word); ok {
		return fmt.Sprintf("it is named %q now", renamed)
	}
	if near, ok := Nearest(word, known); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(known) == 0 {
		return "there are none"
	}
	more := ""
	if len(known) > shownMax {
		known, more = known[:shownMax], ", ..."
	}
	return "known are " + strings.Join(known, ", ") + more
}

// distance returns how many letters to insert, remove, replace or swap with their neighbour turn a into b. The result is limit
// or more if there are at least so many. This is Levenshtein's distance, in which a swap counts once.
func distance(a, b []rune, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	// Rows of the table: before is the one for a[:i-2], last for a[:i-1].
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(last[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
