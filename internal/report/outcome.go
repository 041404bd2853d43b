package report

import (
	"slices"

	"lockbench/checker"
)

// This file has all words, signs and colours of results: a Look for each outcome of a lock, and an Exit for each exit code.

// Outcome is the result of one lock, whatever the scenario expects. The values are in the order of legends.
type Outcome int

// The values of Outcome.
const (
	Held         Outcome = iota // nothing was found
	Overstayed                  // a holder worked on after its lease, which no lease prevents
	DoubleGrant                 // two clients held at once, and neither had a reason to doubt its hold
	Broken                      // a violation without a class
	StaleWrite                  // the resource accepted a stale write
	Undetermined                // two clients held at once, and the end of the belief of one of them is unknown
	Undecided                   // the verdict is unknown
	Failed                      // the harness failed, so there is no verdict
	Untested                    // the lock took no part
	NotRun                      // a run of a matrix was not done
)

// Look is how tables and pages show an outcome.
type Look struct {
	Word  string // the verdict, or a word in its place
	Color string // on a page: the style, which outcomes can share
	Sign  string // in the table of a matrix, so that colour is not needed
	Label string // after the sign
	Means string // in a legend, after the label
	paint paint  // on a screen
	// Severity orders outcomes: a worse class is worse, and unknown is worse than valid.
	Severity int
	exit     int // the exit code if the outcome is not as expected
}

var looks = [...]Look{
	Held:         {"valid", "valid", "○", "held", "nothing was found, which does not prove that the lock is safe", noPaint, 0, ExitUnexpected},
	Overstayed:   {"violated", "warm", "◐", "overstay", "a holder worked on after its own lease: no lease prevents it, a fence does", red, 4, ExitUnexpected},
	DoubleGrant:  {"violated", "bad", "●", "double grant", "two clients held, and neither had a reason to doubt it: the lock is at fault", red, 6, ExitUnexpected},
	Broken:       {"violated", "bad", "■", "broke", "another promise, such as that a lock becomes free again", red, 2, ExitUnexpected},
	StaleWrite:   {"violated", "warm", "◔", "stale write", "the resource accepted it", red, 3, ExitUnexpected},
	Undetermined: {"violated", "warm", "◕", "two held", "it is unknown how long one could believe in its lease", red, 5, ExitUnexpected},
	Undecided:    {"unknown", "unknown", "?", "undecided", "", yellow, 1, ExitUnknown},
	Failed:       {"failed", "failed", "!", "failed", "the harness failed", red, 1, ExitHarness},
	Untested:     {"unsupported", "none", "–", "n/a", "cannot run here", yellow, 1, ExitUnknown},
	NotRun:       {"unknown", "none", "…", "not run", "", yellow, 1, ExitUnknown},
}

// Look returns how the outcome is shown.
func (o Outcome) Look() Look { return looks[o] }

// Outcomes returns all outcomes in the order of legends.
func Outcomes() []Outcome {
	all := make([]Outcome, len(looks))
	for i := range all {
		all[i] = Outcome(i)
	}
	return all
}

// Outcome returns the result of the lock.
func (l *Lock) Outcome() Outcome {
	switch {
	case l.Error != "":
		return Failed
	case l.Unsupported != "":
		return Untested
	case l.Verdict == checker.Unknown:
		return Undecided
	case l.Verdict == checker.Valid:
		return Held
	}
	switch l.Class {
	case checker.StaleWrite:
		return StaleWrite
	case checker.Undetermined:
		return Undetermined
	case checker.DoubleGrant:
		return DoubleGrant
	case checker.Overstay:
		return Overstayed
	}
	return Broken
}

// judged reports whether the lock has a verdict, which can be unknown.
func (l *Lock) judged() bool { return l.Error == "" && l.Unsupported == "" }

// Fenced reports whether the lock overstayed, but its fence kept the resource whole. A resource without fencing tokens that
// came to no harm may have been lucky.
func (l *Lock) Fenced() bool {
	resource, checked := l.Check(checker.Resource)
	return l.Outcome() == Overstayed && l.Claims.Fenced && checked && resource.Verdict == checker.Valid
}

// The exit codes of all commands. The README has the table.
const (
	ExitExpected   = 0
	ExitUnexpected = 1
	ExitUnknown    = 2
	ExitHarness    = 3
	ExitUsage      = 64
)

// The marks of exit codes.
const (
	markExpected   = "✓"
	markUnexpected = "✗"
	markUnknown    = "?"
)

// Exit is the meaning of an exit code.
type Exit struct {
	Words string
	Many  string // for a matrix
	Color string // on a page: good, bad, unsure
	mark  string // of a lock
	means string // the mark in a legend
	short string // after the mark on a page
	paint paint
	// weight orders the exit codes: failure of the harness, unexpected verdict, unknown verdict.
	weight int
}

// Exits has the meaning of each exit code.
var Exits = [...]Exit{
	ExitExpected:   {"as expected", "as expected", "good", markExpected, "as the scenario expects", "as expected", noPaint, 0},
	ExitUnexpected: {"not as expected", "not as expected", "bad", markUnexpected, "not as expected", "unexpected", red, 2},
	ExitUnknown:    {"undecided", "undecided or not run", "unsure", markUnknown, "undecided", "undecided", yellow, 1},
	ExitHarness:    {"the harness failed", "the harness failed", "bad", markUnexpected, "not as expected", "unexpected", red, 3},
}

// Worst is the exit code of the heaviest outcome.
func Worst(codes ...int) int {
	return slices.MaxFunc(codes, func(a, b int) int { return Exits[a].weight - Exits[b].weight })
}

// ExitCode is the exit code of a run with only this lock. A lock that the user named and that took no part counts as
// unknown.
func (l *Lock) ExitCode() int {
	outcome, expected := l.Outcome(), l.AsExpected
	switch outcome {
	case Failed:
		expected = false
	case Untested:
		expected = !l.Named
	}
	if expected {
		return ExitExpected
	}
	return outcome.Look().exit
}

// The marks of a lock that have no exit code.
const (
	markUnsupported = "-"
	markNote        = "!" // before a note to the lock's author
)

// Mark is the mark at the end of a row: as expected, or not.
func (l *Lock) Mark() string {
	if l.Outcome() == Untested {
		return markUnsupported
	}
	return Exits[l.ExitCode()].mark
}

// MarkText is the mark with its meaning.
func (l *Lock) MarkText() string {
	if l.Outcome() == Untested {
		return markUnsupported
	}
	exit := Exits[l.ExitCode()]
	return exit.mark + " " + exit.short
}

// markPaint is the colour of the mark. An expected violation has none, because green would look safe.
func (l *Lock) markPaint() paint {
	if l.AsExpected && l.judged() && (l.Verdict != checker.Violated || l.Control()) {
		return green
	}
	return Exits[l.ExitCode()].paint
}
