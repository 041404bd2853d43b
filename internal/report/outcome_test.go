package report

import (
	"testing"

	"lockbench/checker"
)

// TestOutcome checks the word, the colour, the mark and the exit code of each kind of result.
func TestOutcome(t *testing.T) {
	violated := func(class checker.Class) Lock { return Lock{Verdict: checker.Violated, Class: class} }
	expected := violated(checker.Overstay)
	expected.AsExpected = true
	unsupported := Lock{Verdict: checker.Unknown, Unsupported: "why"}
	named := unsupported
	named.Named = true
	seen := map[Outcome]bool{NotRun: true} // only a matrix has it
	for name, test := range map[string]struct {
		lock               Lock
		word, color, shown string
		exit               int
		mark               string
	}{
		"valid":                 {Lock{AsExpected: true}, "valid", "valid", "valid", ExitExpected, "✓ as expected"},
		"valid, not expected":   {Lock{}, "valid", "valid", "valid", ExitUnexpected, "✗ unexpected"},
		"unknown":               {Lock{Verdict: checker.Unknown}, "unknown", "unknown", "unknown", ExitUnknown, "? undecided"},
		"the harness failed":    {Lock{Verdict: checker.Violated, AsExpected: true, Error: "why"}, "failed", "failed", "failed", ExitHarness, "✗ unexpected"},
		"unsupported":           {unsupported, "unsupported", "none", "unsupported", ExitExpected, "-"},
		"unsupported and named": {named, "unsupported", "none", "unsupported", ExitUnknown, "-"},
		"broken":                {violated(checker.NoClass), "violated", "bad", "violated", ExitUnexpected, "✗ unexpected"},
		"stale write":           {violated(checker.StaleWrite), "violated", "warm", "violated stale-write", ExitUnexpected, "✗ unexpected"},
		"overstay, expected":    {expected, "violated", "warm", "violated overstay", ExitExpected, "✓ as expected"},
		"undetermined":          {violated(checker.Undetermined), "violated", "warm", "violated undetermined", ExitUnexpected, "✗ unexpected"},
		"double grant":          {violated(checker.DoubleGrant), "violated", "bad", "violated double-grant", ExitUnexpected, "✗ unexpected"},
	} {
		l := test.lock
		seen[l.Outcome()] = true
		if l.Outcome().Look().Word != test.word || l.Outcome().Look().Color != test.color || l.Shown() != test.shown || l.ExitCode() != test.exit || l.MarkText() != test.mark {
			t.Errorf("%s: %s, colour %s, %s, exit code %d, mark %s", name, l.Outcome().Look().Word, l.Outcome().Look().Color, l.Shown(), l.ExitCode(), l.MarkText())
		}
	}
	for _, o := range Outcomes() {
		if !seen[o] {
			t.Errorf("no result has the outcome %q", o.Look().Label)
		}
	}
}
