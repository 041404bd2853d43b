package proof

import (
	"strings"
	"testing"
)

// What the scenarios show is said in words: what counts, how soon, and what is alone.
func TestPower(t *testing.T) {
	proofs := []*Proof{
		{Lock: "easy", Power: []Catch{{"rough", 1, 0, 4}, {"plain", 4, 0, 4}, {"failing", 4, 4, 4}}},
		{Lock: "hard", Power: []Catch{{"rough", 1, 0, 4}, {"plain", 0, 0, 4}}},
		{Lock: "hidden", Power: []Catch{{"plain", 0, 0, 4}, {"failing", 3, 1, 4}}},
		{Lock: "unmeasured"},
	}
	var b strings.Builder
	WritePower(&b, proofs)
	want := `easy: plain 4 of 4, median 1; rough 1 of 4, median 3
hard: rough 1 of 4, median 3
hidden: no scenario
caught by one scenario alone: hard by rough, rarely
caught by no scenario: hidden
catches nothing that no other scenario does: failing, plain
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
