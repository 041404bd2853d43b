// Package checker judges histories. It depends on nothing but the history, so a history from any source gets the same verdict
// as in a run.
//
// [Judge] runs all checks. The verdict of its report is the worst verdict of a [Check]. checks.go lists the checks and the
// rules of their findings.
//
// The Go API that lockbench keeps stable is in lockbench, lockbench/locks and lockbench/locks/locktest.
// This package is not part of it.
package checker

import (
	"fmt"
	"slices"
	"strings"
)

// Verdict is the answer of a check. The zero value is Valid; worse is greater.
type Verdict uint8

// The verdicts, from best to worst.
const (
	Valid    Verdict = iota // nothing was found, which does not mean "safe"
	Unknown                 // could not be decided, for the reason in Why
	Violated                // there is evidence
)

var verdicts = []string{"valid", "unknown", "violated"}

func (v Verdict) String() string { return verdicts[v] }

// MarshalText writes the word.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the word.
func (v *Verdict) UnmarshalText(text []byte) error {
	i, err := word("verdict", verdicts, text)
	*v = Verdict(i)
	return err
}

// word returns the index of a word.
func word(what string, words []string, text []byte) (int, error) {
	i := slices.Index(words, string(text))
	if i < 0 {
		return 0, fmt.Errorf("%s %q is none of %s", what, text, strings.Join(words, ", "))
	}
	return i, nil
}

// Class tells how much the clients could have known of a violation. The zero value is no class, and worse classes are
// greater.
type Class uint8

// The classes, from mildest to worst.
const (
	NoClass      Class = iota
	StaleWrite         // the guarded resource accepted a stale write
	Overstay           // a holder worked on after its own lease had ended
	Undetermined       // two clients held at once, and the end of the belief of one of them is unknown
	DoubleGrant        // two clients held at once, and neither had a reason to doubt its hold
)

var classes = []string{"", "stale-write", "overstay", "undetermined", "double-grant"}

func (c Class) String() string { return classes[c] }

// MarshalText writes the word.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the word.
func (c *Class) UnmarshalText(text []byte) error {
	i, err := word("class", classes, text)
	*c = Class(i)
	return err
}

// Finding is one violation, with its evidence.
type Finding struct {
	Rule     string   `json:"rule"`               // two-holders, lost-update, token-repeated, ...
	Class    Class    `json:"class,omitzero"`     // its class, if it has one
	Key      string   `json:"key,omitempty"`      // the name of the lock
	Text     string   `json:"text"`               // one sentence
	Events   []int    `json:"events"`             // indexes: acquire invoke and ok of both, then where it shows
	Sessions []string `json:"sessions,omitempty"` // the sessions that it concerns, the earlier one first
	// Event is the index of the event at which the violation was complete. For two-holders
	// this is the later grant.
	Event int `json:"event"`
}

// Result is the answer of one check.
type Result struct {
	Name       string    `json:"name"`               // the name of the check
	Verdict    Verdict   `json:"verdict"`            // valid, violated or unknown
	Why        string    `json:"why,omitempty"`      // the reason for unknown
	Violations int       `json:"violations"`         // how many findings there are
	Findings   []Finding `json:"findings,omitempty"` // the findings in the order of event; result.json has at most 50
	// Note is for readers, whatever the verdict is. For example, it says that the other
	// reading of failed releases would change the verdict.
	Note string `json:"note,omitempty"`
	// LostUpdates is how many writes are missing in the last values of the guarded counters. One
	// finding can stand for several.
	LostUpdates int `json:"lost_updates,omitempty"`
	// Lost has the positions at which these writes were answered; nil if they are not known of each counter.
	Lost []int `json:"-"`
	// Broken is the contradiction in the history for which no lock can be blamed: the harness
	// recorded it wrongly. A caller makes it an error.
	Broken string `json:"broken,omitempty"`
}

// Worst is the worst class among the findings.
func (r Result) Worst() Class {
	worst := NoClass
	for _, f := range r.Findings {
		worst = max(worst, f.Class)
	}
	return worst
}

// Release is the meaning of a failed release.
type Release string

// The meanings of a failed release. With Ended, the default, the first call of a release ends the hold of the client, whatever
// the answer. With Strict, a failed release ends nothing.
const (
	Ended  Release = "ended"
	Strict Release = "strict"
)

// Options change how a history is judged.
type Options struct {
	Release Release // empty means Ended
}
