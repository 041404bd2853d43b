package scenarios

import (
	"slices"
	"strings"
	"time"

	"lockbench/checker"
)

// judgements returns all that an expectation may say: a verdict, and after `violated` perhaps a class.
func judgements() []string {
	list := []string{Valid, Violated, Unknown, Unjudged}
	for c := checker.StaleWrite; c <= checker.DoubleGrant; c++ {
		list = append(list, Violated+" "+c.String())
	}
	return list
}

// expectations reads `expect:`, after the locks. A key may name several locks.
func (r *reader) expectations(e pair, uses []LockUse) map[string]Expectation {
	running, readLocks := names(uses, useName), len(r.errs) == 0
	expect := map[string]Expectation{}
	r.each(r.pairs(e.value, e.path, "expect"), func(e pair) {
		x := r.expectation(e)
		for name := range strings.SplitSeq(e.key.text, ",") {
			name = strings.TrimSpace(name)
			if _, twice := expect[name]; twice {
				r.fail(e.key.at, "", "%q is named twice", name)
			}
			// A catalog lock need not run here, because --locks can add it. If a lock could not be read, it
			// may be the one that is meant.
			_, known := Called(name).Entry()
			switch {
			case slices.Contains(running, name) || !readLocks:
			case !known:
				r.unknown(word{name, e.key.at}, running, "no lock named %q runs in this scenario", name)
			case strings.Contains(name, "/"):
				(&lockReader{reader: r}).lockWord(word{name, e.key.at}, "expect") // reports errors
			}
			expect[name] = x
		}
	})
	return expect
}

// expectation reads `violated double-grant`, or a map of more.
func (r *reader) expectation(e pair) (x Expectation) {
	if !isMap(e.value) {
		x.Judgement = scalar(r, e, parseJudgement)
		return x
	}
	list := r.pairs(e.value, e.path, "an expectation")
	r.fields(list, &x, func(e pair) {
		checkers := names(checker.Checks(), checkerName)
		if !slices.Contains(checkers, e.key.text) {
			r.unknown(e.key, slices.Concat(keysOf(&x), checkers), "no checker is named %q", e.key.text)
		}
		if x.Checks == nil {
			x.Checks = map[string]Judgement{}
		}
		x.Checks[e.key.text] = scalar(r, e, parseJudgement)
	})
	rate := list.get("rate").key.at
	switch {
	case x.Verdict == "" && len(x.Checks) == 0 && x.Rate != nil:
		r.fail(rate, "add `verdict: violated`, with its class, or `verdict: unjudged`", "a rate counts violated episodes, but no verdict is expected")
	case x.Verdict == "" && len(x.Checks) == 0: // limits alone: the lock must be valid, and fast
		x.Verdict = Valid
	case x.Rate != nil && (x.Verdict == Valid || x.Verdict == Unknown):
		r.fail(rate, "", "a rate counts violated episodes, but %s is expected", x.Verdict)
	}
	return x
}

// limits reads `{outage: 5s, p99: 50ms}`.
func (r *reader) limits(e pair) map[string]time.Duration {
	m := map[string]time.Duration{}
	r.each(r.pairs(e.value, e.path, "limits"), func(e pair) {
		if !slices.Contains(Figures, e.key.text) {
			r.unknown(e.key, Figures, "no figure is named %q", e.key.text)
		}
		if m[e.key.text] = scalar(r, e, ParseDuration); m[e.key.text] == 0 {
			r.fail(r.where[e.path], "", "%s: a limit above 0s is needed", e.key.text)
		}
	})
	return m
}

// ParseExpectation parses a value of --expect: `VERDICT [class]`, or a map in braces as in a scenario.
func ParseExpectation(text string) (x Expectation, err error) {
	r := newReader("--expect")
	r.try(func() { x = r.expectation(pair{value: r.parse([]byte(text))}) })
	return x, joined(r.errs)
}
