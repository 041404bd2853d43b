package redlock

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// Whatever the silent nodes would have said, a settled outcome must stay true, and
// an open one must be open to both.
func TestOutcomeHoldsWhateverTheSilentWouldSay(t *testing.T) {
	silent := errors.New("no answer")
	kinds := []answer{{yes: true}, {}, {err: silent}, {yes: true, err: silent}}
	rapid.Check(t, func(t *rapid.T) {
		given := answers(rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 7).Draw(t, "answers"))
		yes, quiet := 0, 0
		for _, a := range given {
			if a.err != nil {
				quiet++
			} else if a.yes {
				yes++
			}
		}
		always, never := true, true
		for more := range quiet + 1 {
			if majority := 2*(yes+more) > len(given); majority {
				never = false
			} else {
				always = false
			}
		}
		want := open
		if always {
			want = agreed
		} else if never {
			want = refused
		}
		if got := new(redLock).outcome(given); got != want {
			t.Fatalf("outcome of %v: got %v, want %v", given, got, want)
		}
	})
}
