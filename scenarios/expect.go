package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
)

// The verdicts of expectations. Unjudged accepts everything.
const (
	Valid    = "valid"
	Violated = "violated"
	Unknown  = "unknown"
	Unjudged = "unjudged"
)

// Figures are the names of limits: the longest time without a grant, and the latency of acquires.
var Figures = []string{"outage", "p50", "p99", "max"}

// Judgement is a verdict with an optional class, as `violated overstay`.
type Judgement struct {
	Verdict string `json:"verdict"`         // empty: unspecified
	Class   string `json:"class,omitempty"` // empty: any class, or none
}

// JudgementOf is the judgement of a checker.
func JudgementOf(verdict checker.Verdict, class checker.Class) Judgement {
	return Judgement{Verdict: verdict.String(), Class: class.String()}
}

func (j Judgement) String() string {
	if j.Class == "" {
		return j.Verdict
	}
	return j.Verdict + " " + j.Class
}

// matches reports whether a result is as expected. A result has its worst class, so `violated overstay` means an overstay
// without a double grant.
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
	// Judgement is the expectation for the whole. Its Verdict is empty if Checks contain everything. With a class it
	// covers the violations of that class, and without a class all violations.
	Judgement `yaml:"verdict" about:"valid, violated, unknown or unjudged; a class may follow violated"`
	Rate      *Rate                    `yaml:"rate" about:"the share of violating episodes"`
	Limits    map[string]time.Duration `yaml:"limits" about:"the largest values that figures may have"`
	Checks    map[string]Judgement     // by checker
	// Of, if not empty, is the name without options for which the expectation was written.
	Of string
}

// Rate limits a share, both ends included: 0.6 and 1 for `60%..100%`.
type Rate struct{ Low, High float64 }

func (r Rate) String() string { return fmt.Sprintf("%s..%s", percent(r.Low), percent(r.High)) }

// Observed is the result of a run for one lock.
type Observed struct {
	Judgement                      // the whole: the worst verdict and the worst class
	Checks    map[string]Judgement // by checker
	// Apart are the checkers with violations that the class of the whole does not cover.
	Apart []string
	// Violating of Episodes were violated. The true rate lies between RateLow and RateHigh, each an exact bound with 95 %
	// confidence.
	Violating, Episodes int
	RateLow, RateHigh   float64
	Figures             map[string]time.Duration // the measured figures
}

// Holds reports whether a result is as expected, and the difference if it is not.
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
			miss("%s has no result, expected %s", name, want)
		case ran && !want.matches(got):
			miss("%s: %s, expected %s", name, got, want)
		}
	}
	// If only checkers are named, other checkers must not find violations. A class covers its own violations only: a lock
	// that may overstay must not report wrong results of releases.
	for _, name := range keys(o.Checks) {
		got := o.Checks[name]
		_, named := e.Checks[name]
		covered := e.Verdict != "" && (e.Class == "" || !slices.Contains(o.Apart, name))
		if got.Verdict == Violated && !named && !covered {
			miss("%s: %s, which is not expected", name, got)
		}
	}
	// The run is inconclusive for the named checkers if too little happened.
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
		miss("the scenario expects that of %s", e.Of)
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

// String formats the expectation on one line: `violated double-grant, rate 60%..100%`.
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

// percent formats a share, without decimals if possible.
func percent(share float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", share*100), ".0") + "%"
}
