package checker

import (
	"fmt"

	"lockbench/internal/history/jepsen"
)

// Strays adds a check of releases that were answered with ok though their process held nothing.
// A lock with owners cannot answer so.
func Strays(r Report, strays []jepsen.Stray) Report {
	if len(strays) == 0 {
		return r
	}
	var findings []Finding
	for _, s := range strays {
		findings = append(findings, Finding{
			Rule: "released-without-holding", Events: []int{s.Index}, Event: s.Index,
			Text: fmt.Sprintf("process %d released and was answered ok (line %d), but held nothing", s.Process, s.Line),
		})
	}
	stray := violated(findings)
	stray.Name = "releases"
	return compose(append(append([]Result(nil), r.Checks...), stray))
}
