package report

import (
	"encoding/json"
	"fmt"
	"io"

	"lockbench/checker"
)

// BadgeFile is a line the size of a badge, as shields.io reads it.
const BadgeFile = "badge.json"

// Badge writes the badge of one or several results: what came out in a few words.
func Badge(w io.Writer, label string, results ...*Result) error {
	expected, ran, worst := 0, 0, ExitExpected
	unknown := 0
	for _, r := range results {
		worst = Worst(worst, r.ExitCode())
		for i := range r.Locks {
			l := &r.Locks[i]
			if l.Unsupported != "" {
				continue
			}
			ran++
			if l.AsExpected && l.Error == "" {
				expected++
			} else if l.Verdict == checker.Unknown {
				unknown++
			}
		}
	}
	message := fmt.Sprintf("%d of %d as expected", expected, ran)
	if unknown > 0 {
		message += fmt.Sprintf(", %d undecided", unknown)
	}
	color := map[int]string{ExitExpected: "green", ExitUnknown: "yellow", ExitUnexpected: "red", ExitHarness: "lightgrey"}[worst]
	e := json.NewEncoder(w)
	return e.Encode(struct {
		Schema  int    `json:"schemaVersion"`
		Label   string `json:"label"`
		Message string `json:"message"`
		Color   string `json:"color"`
	}{1, label, message, color})
}
