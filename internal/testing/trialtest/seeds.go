package trialtest

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// Seeds are those that a test takes: the usual number of them from 1 on, or as many as LOCKBENCH_SEEDS
// says, or those that it names: 9..16.
func Seeds(t *testing.T, usual int) (all []int) {
	t.Helper()
	first, last := 1, usual
	if text := os.Getenv("LOCKBENCH_SEEDS"); text != "" {
		from, to, ranged := strings.Cut(text, "..")
		if !ranged {
			from, to = "1", text
		}
		var err, alsoErr error
		first, err = strconv.Atoi(from)
		last, alsoErr = strconv.Atoi(to)
		if err != nil || alsoErr != nil || first < 1 || last < first {
			t.Fatalf("LOCKBENCH_SEEDS is a number, or the first and the last seed as in 9..16, not %q", text)
		}
	}
	for n := first; n <= last; n++ {
		all = append(all, n)
	}
	return all
}
