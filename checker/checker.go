// Package checker judges histories. It knows nothing else: no server, no run, no
// scenario. So a history from any source gets the verdict that a run would have given.
//
// A [Check] asks one question. [Judge] runs all of them, and the verdict of the report is
// the worst of theirs. checks.go lists the checks, and the rules that their findings name.
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
	Valid    Verdict = iota // nothing found; never "safe"
	Unknown                 // could not be decided, and Why says why
	Violated                // shown by evidence
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

// word finds the place of a word.
func word(what string, words []string, text []byte) (int, error) {
	i := slices.Index(words, string(text))
	if i < 0 {
		return 0, fmt.Errorf("%s %q is none of %s", what, text, strings.Join(words, ", "))
	}
	return i, nil
}

// Class says what the clients could have known of a violation. The zero value is
// no class; worse is greater.
type Class uint8

// The classes, from mildest to worst.
const (
	NoClass      Class = iota
	StaleWrite         // a stale write reached the guarded thing and was let through
	Overstay           // a holder worked on after its own lease had run out
	Undetermined       // two held at once, and until when one of them could believe cannot be known
	DoubleGrant        // two held at once and neither had a reason to doubt it
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

// Release says how a release that failed is read.
type Release string

// The readings of a failed release: Ended (the default) lets the first release call
// end the caller's claim whatever the answer; Strict lets a failed one end nothing.
const (
	Ended  Release = "ended"
	Strict Release = "strict"
)

// Options change how a history is judged.
type Options struct {
	Release Release // empty means Ended
}
