package run

import (
	"testing"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/scenarios"
)

// TestNamedNeedsVerdict: a scenario that does not judge a lock accepts an unknown verdict, but not for a lock that the user
// named, or the run would pass without a result.
func TestNamedNeedsVerdict(t *testing.T) {
	unjudged := scenarios.Expectation{Judgement: scenarios.Judgement{Verdict: scenarios.Unjudged}}
	unknown := scenarios.Expectation{Judgement: scenarios.Judgement{Verdict: scenarios.Unknown}}
	for name, c := range map[string]struct {
		expect scenarios.Expectation
		lock   report.Lock
		code   int
	}{
		"not named":                     {unjudged, report.Lock{Verdict: checker.Unknown}, report.ExitExpected},
		"named":                         {unjudged, report.Lock{Verdict: checker.Unknown, Named: true}, report.ExitUnknown},
		"named, with a verdict":         {unjudged, report.Lock{Verdict: checker.Valid, Named: true}, report.ExitExpected},
		"named, expected to be unknown": {unknown, report.Lock{Verdict: checker.Unknown, Named: true}, report.ExitExpected},
	} {
		c.lock.Lock = "x"
		s := &scenarios.Scenario{Expect: map[string]scenarios.Expectation{"x": c.expect}}
		if c.lock.Expected, c.lock.AsExpected, c.lock.Mismatch = Expects(s, &c.lock); c.lock.ExitCode() != c.code {
			t.Errorf("%s: exit code %d (%s), want %d", name, c.lock.ExitCode(), c.lock.Mismatch, c.code)
		}
	}
}
