package scenarios

import (
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/locks/catalog"
)

// classes are what a violation may be, from mildest to worst.
func classes() []string {
	var list []string
	for c := checker.StaleWrite; c <= checker.DoubleGrant; c++ {
		list = append(list, c.String())
	}
	return list
}

// expectations reads `expect:`, after the locks.
func (r *reader) expectations(e entry) map[string]Expectation {
	list, ok := r.entries(e.value, e.path, "expect")
	if !ok {
		return nil
	}
	running := names(r.uses, useName)
	expect := make(map[string]Expectation, len(list))
	for _, e := range list {
		// A lock of the catalog need not run here: --locks can bring it in. And a lock
		// that could not be read may be the one that is meant.
		name, _, options := strings.Cut(e.key.text, "/")
		_, known := catalog.Find(name)
		switch {
		case slices.Contains(running, e.key.text) || r.bad["locks"]:
		case !known:
			r.unknown(e.key, running, "locks here", "no lock named %q runs in this scenario", e.key.text)
		case options:
			r.lockWord(e.key, "expect") // says what is wrong with them
		}
		expect[e.key.text] = r.expectation(e)
	}
	return expect
}

// expectation reads `violated double-grant`, or a map of more.
func (r *reader) expectation(e entry) (x Expectation) {
	if !isMap(e.value) {
		if w, ok := r.text(e); ok {
			x.Judgement = r.judgement(w)
		}
		return x
	}
	list, _ := r.entries(e.value, e.path, "an expectation")
	r.fields(list, &x, func(e entry) {
		checkers := names(checker.Checks(), checkerName)
		if !slices.Contains(checkers, e.key.text) {
			r.unknown(e.key, slices.Concat(keysOf(&x), checkers), "keys", "no checker is named %q", e.key.text)
		} else if w, ok := r.text(e); ok {
			if x.Checks == nil {
				x.Checks = map[string]Judgement{}
			}
			x.Checks[e.key.text] = r.judgement(w)
		}
	})
	rate := list.of("rate").key.at
	switch {
	case list.has("verdict") || len(x.Checks) > 0:
	case x.Rate != nil:
		r.fail(rate, "add `verdict: violated`, with its class", "a rate is of violated episodes, and no verdict is expected")
	default: // limits alone: the lock must be valid, and fast
		x.Verdict = Valid
	}
	if x.Rate != nil && (x.Verdict == Valid || x.Verdict == Unknown) {
		r.fail(rate, "", "a rate is of violated episodes, and %s is expected", x.Verdict)
	}
	return x
}

// limits reads `{outage: 5s, p99: 50ms}`.
func (r *reader) limits(e entry) map[string]time.Duration {
	list, _ := r.entries(e.value, e.path, "limits")
	m := make(map[string]time.Duration, len(list))
	for _, e := range list {
		var d time.Duration
		if !slices.Contains(Figures, e.key.text) {
			r.unknown(e.key, Figures, "figures", "no figure is named %q", e.key.text)
		} else if scalar(r, e, &d, parseDuration) && r.lasts(e, d) {
			m[e.key.text] = d
		}
	}
	return m
}

// judgement reads `VERDICT [class]`.
func (r *reader) judgement(w word) (j Judgement) {
	fields := slices.DeleteFunc(w.split(" "), func(f word) bool { return f.trimmed().text == "" })
	if len(fields) == 0 {
		r.fail(w.at, "verdicts: "+strings.Join(verdicts, ", "), "the verdict is missing")
		return j
	}
	verdict := fields[0].trimmed()
	if slices.Contains(classes(), verdict.text) {
		r.fail(verdict.at, "did you mean \"violated "+verdict.text+"\"?", "no verdict is named %q", verdict.text)
		return j
	}
	if !slices.Contains(verdicts, verdict.text) {
		r.unknown(verdict, verdicts, "verdicts", "no verdict is named %q", verdict.text)
		return j
	}
	j.Verdict = verdict.text
	if len(fields) == 1 {
		return j
	}
	class := fields[1].trimmed()
	j.Class = class.text
	switch {
	case j.Verdict != Violated:
		r.fail(class.at, "", "only `violated` has a class, and %q does not", j.Verdict)
	case !slices.Contains(classes(), class.text):
		r.unknown(class, classes(), "classes", "no class is named %q", class.text)
	case len(fields) > 2:
		r.fail(fields[2].trimmed().at, "an expectation is a verdict and perhaps a class", "%q is one word too many", fields[2].trimmed().text)
	}
	return j
}

// ParseExpect reads the value of --expect: `VERDICT [class]` for every lock, for
// which the lock returned is empty, or `LOCK=VERDICT [class]` for one of those that run.
func ParseExpect(arg string, running []LockUse) (lock string, e Expectation, err error) {
	r, w := argument("--expect", arg)
	name, value := cutExpect(w)
	if lock = name.text; lock != "" {
		r.runs(name, names(running, useName))
	}
	e = r.expected(value)
	if err := asError(r.errs); err != nil {
		return "", Expectation{}, err
	}
	return lock, e, nil
}

// cutExpect cuts `NAME=VALUE` in two; a value alone has no name.
func cutExpect(w word) (name, value word) {
	// A name may hold an equals sign itself, as in set-nx/ttl=2s=valid; a verdict cannot.
	i := strings.Index(w.text, "={")
	if i < 0 {
		i = strings.LastIndexByte(w.text, '=')
	}
	if i < 0 || strings.HasPrefix(w.trimmed().text, "{") {
		return word{}, w
	}
	return w.part(0, i).trimmed(), w.part(i+1, len(w.text))
}

// runs refuses the name of a lock that does not run.
func (r *reader) runs(name word, running []string) {
	if !slices.Contains(running, name.text) {
		r.unknown(name, running, "locks here", "no lock named %q runs", name.text)
	}
}

// expected reads an expectation from an argument: as a scenario has it, a verdict or a
// map of more between braces.
func (r *reader) expected(w word) Expectation {
	if text := w.trimmed().text; strings.HasPrefix(text, "{") {
		inner := newReader(r.file, text)
		root, ok := inner.parse([]byte(text))
		var e Expectation
		if ok {
			e = inner.expectation(entry{value: root})
		}
		r.errs = append(r.errs, inner.errs...)
		return e
	}
	return Expectation{Judgement: r.judgement(w)}
}
