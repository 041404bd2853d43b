package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The verdicts that an expectation may name. Unjudged expects nothing.
const (
	Valid    = "valid"
	Violated = "violated"
	Unknown  = "unknown"
	Unjudged = "unjudged"
)

var verdicts = []string{Valid, Violated, Unknown, Unjudged}

// Figures are the names of limits in an expectation: the longest time without a grant, and
// how long acquiring took.
var Figures = []string{"outage", "p50", "p99", "max"}

// Judgement is a verdict and perhaps a class, as `violated overstay`.
type Judgement struct {
	Verdict string // empty: nothing is said
	Class   string // empty: any class, or none
}

func (j Judgement) String() string {
	if j.Class == "" {
		return j.Verdict
	}
	return j.Verdict + " " + j.Class
}

// matches reports whether a result is as expected. A result has its worst class, so
// `violated overstay` means overstay and no double-grant.
func (j Judgement) matches(got Judgement) bool {
	switch j.Verdict {
	case "", Unjudged:
		return true
	case Violated:
		return got.Verdict == Violated && (j.Class == "" || j.Class == got.Class)
	}
	return got.Verdict == j.Verdict
}

// Expectation is what a scenario expects of one lock.
type Expectation struct {
	// Judgement is of the whole. Its Verdict is empty if the checkers below say it all. With
	// a class it covers what that class says, and no other promise; without one, all.
	Judgement `yaml:"verdict" about:"valid, violated, unknown or unjudged; after violated perhaps a class"`
	Rate      *Rate                    `yaml:"rate" about:"the share of violating episodes"`
	Limits    map[string]time.Duration `yaml:"limits" about:"the most that figures may be"`
	Checks    map[string]Judgement     // by the names of checkers
	// Of names the lock without options that this was said of, if it was not said of
	// the lock itself.
	Of string
}

// Rate bounds a share, both ends included: 0.6 and 1 for `60%..100%`.
type Rate struct{ Low, High float64 }

func (r Rate) String() string { return fmt.Sprintf("%s..%s", percent(r.Low), percent(r.High)) }

// Observed is what a run found of one lock.
type Observed struct {
	Judgement                      // the whole: the worst verdict and the worst class
	Checks    map[string]Judgement // by checker
	// Apart are the checkers that found a promise broken which the class of the whole does
	// not speak of.
	Apart []string
	// Violating of Episodes were violated; the true rate lies between RateLow and
	// RateHigh: each is an exact bound with 95 % confidence.
	Violating, Episodes int
	RateLow, RateHigh   float64
	Figures             map[string]time.Duration // those that were measured
}

// Holds reports whether a run found what was expected, and if not, what differs.
func (e Expectation) Holds(o Observed) (ok bool, why string) {
	var misses []string
	miss := func(format string, args ...any) { misses = append(misses, fmt.Sprintf(format, args...)) }

	if !e.Judgement.matches(o.Judgement) {
		miss("expected %s, found %s", e.Judgement, o.Judgement)
	}
	for _, name := range keys(e.Checks) {
		want := e.Checks[name]
		got, ran := o.Checks[name]
		switch {
		case !ran && want.Verdict != Unjudged:
			miss("%s did not judge, expected %s", name, want)
		case ran && !want.matches(got):
			miss("%s: %s, expected %s", name, got, want)
		}
	}
	// The checkers that are named stand for the whole, so the others must not add to it: as
	// with locks, what is not named must be valid. A class speaks for itself: a lock that
	// may overstay may not lie about its releases.
	for _, name := range keys(o.Checks) {
		got := o.Checks[name]
		_, named := e.Checks[name]
		covered := e.Verdict != "" && (e.Class == "" || !slices.Contains(o.Apart, name))
		if got.Verdict == Violated && !named && !covered {
			miss("%s: %s, and nothing is expected of it", name, got)
		}
	}
	// A run in which too little happened proves nothing of the checkers that are named.
	if e.Verdict == "" && o.Verdict == Unknown && !e.expectsUnknown() {
		miss("%s as a whole", o.Judgement)
	}
	if e.Rate != nil && (o.RateHigh < e.Rate.Low || o.RateLow > e.Rate.High) {
		miss("violated in %d of %d episodes (%s..%s), expected %s", o.Violating, o.Episodes,
			percent(o.RateLow), percent(o.RateHigh), *e.Rate)
	}
	for _, name := range keys(e.Limits) {
		switch got, measured := o.Figures[name]; {
		case !measured: // else a limit would hold because nothing was measured
			miss("%s was not measured, expected at most %v", name, e.Limits[name])
		case got > e.Limits[name]:
			miss("%s %v, expected at most %v", name, got, e.Limits[name])
		}
	}
	if len(misses) > 0 && e.Of != "" {
		miss("that is what the scenario expects of %s", e.Of)
	}
	return len(misses) == 0, strings.Join(misses, "; ")
}

func (e Expectation) expectsUnknown() bool {
	for _, j := range e.Checks {
		if j.Verdict == Unknown || j.Verdict == Unjudged {
			return true
		}
	}
	return false
}

// String writes the expectation in one line: `violated double-grant, rate 60%..100%`.
func (e Expectation) String() string {
	var words []string
	if e.Verdict != "" {
		words = append(words, e.Judgement.String())
	}
	for _, name := range keys(e.Checks) {
		words = append(words, name+" "+e.Checks[name].String())
	}
	if e.Rate != nil {
		words = append(words, "rate "+e.Rate.String())
	}
	for _, name := range keys(e.Limits) {
		words = append(words, name+" at most "+e.Limits[name].String())
	}
	return strings.Join(words, ", ")
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// percent formats a share; whole numbers have no decimal point.
func percent(share float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", share*100), ".0") + "%"
}
