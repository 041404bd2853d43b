package scenarios

import (
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// expectations reads `expect:`, after the locks.
func (r *reader) expectations(s *Scenario, n ast.Node) {
	list, ok := r.entries(n, "expect", "expect")
	if !ok {
		return
	}
	var running []string
	for _, u := range s.Locks {
		running = append(running, u.Name)
	}
	s.Expect = make(map[string]Expectation, len(list))
	for _, e := range list {
		// A lock of the catalog need not run here: --locks can bring it in. And a lock
		// that could not be read may be the one that is meant.
		_, known := r.known.Locks[e.key.text]
		if !slices.Contains(running, e.key.text) && !known && !r.bad["locks"] {
			r.fail(e.key.at, suggest(e.key.text, running, "locks here"), "no lock named %q runs in this scenario", e.key.text)
		}
		s.Expect[e.key.text] = r.expectation(e)
	}
}

// expectation reads `violated double-grant`, or a map of more.
func (r *reader) expectation(e entry) Expectation {
	switch e.value.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return r.expectationMap(e)
	}
	w, ok := r.word(e.value, e.key.text)
	if !ok {
		return Expectation{}
	}
	return Expectation{Judgement: r.judgement(w)}
}

func (r *reader) expectationMap(e entry) Expectation {
	var x Expectation
	list, _ := r.entries(e.value, "expect/"+e.key.text, "an expectation")
	var rate place
	for _, k := range list {
		path := join("expect/"+e.key.text, k.key.text)
		switch key := k.key.text; {
		case key == "verdict":
			if w, ok := r.word(k.value, key); ok {
				x.Judgement = r.judgement(w)
			}
		case key == "rate": // the share of episodes, also beside a checker of this name
			var share Rate
			rate = k.key.at
			if scalar(r, path, k, &share, parseRate) {
				x.Rate = &share
			}
		case key == "limits":
			x.Limits = r.limits(k, path)
		case slices.Contains(r.known.Checkers, key):
			if w, ok := r.word(k.value, key); ok {
				if x.Checks == nil {
					x.Checks = map[string]Judgement{}
				}
				x.Checks[key] = r.judgement(w)
			}
		default:
			known := slices.Concat([]string{"verdict", "rate", "limits"}, r.known.Checkers)
			r.fail(k.key.at, suggest(key, known, "keys"), "no checker is named %q", key)
		}
	}
	_, stated := r.where["expect/"+e.key.text+"/verdict"]
	switch {
	case stated || len(x.Checks) > 0:
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
func (r *reader) limits(e entry, path string) map[string]time.Duration {
	list, _ := r.entries(e.value, path, "limits")
	m := make(map[string]time.Duration, len(list))
	for _, k := range list {
		if !slices.Contains(Figures, k.key.text) {
			r.fail(k.key.at, suggest(k.key.text, Figures, "figures"), "no figure is named %q", k.key.text)
			continue
		}
		var d time.Duration
		if scalar(r, join(path, k.key.text), k, &d, parseSpan) {
			m[k.key.text] = d
		}
	}
	return m
}

// judgement reads `VERDICT [class]`.
func (r *reader) judgement(w word) Judgement {
	fields := fieldsOf(w)
	if len(fields) == 0 {
		r.fail(w.at, "verdicts: "+strings.Join(verdicts, ", "), "the verdict is missing")
		return Judgement{}
	}
	verdict := fields[0]
	if !slices.Contains(verdicts, verdict.text) {
		hint := suggest(verdict.text, verdicts, "verdicts")
		if slices.Contains(r.known.Classes, verdict.text) {
			hint = "did you mean \"violated " + verdict.text + "\"?"
		}
		r.fail(verdict.at, hint, "no verdict is named %q", verdict.text)
		return Judgement{}
	}
	j := Judgement{Verdict: verdict.text}
	if len(fields) == 1 {
		return j
	}
	class := fields[1]
	switch {
	case j.Verdict != Violated:
		r.fail(class.at, "", "only `violated` has a class, and %q does not", j.Verdict)
	case !slices.Contains(r.known.Classes, class.text):
		r.fail(class.at, suggest(class.text, r.known.Classes, "classes"), "no class is named %q", class.text)
	case len(fields) > 2:
		r.fail(fields[2].at, "an expectation is a verdict and perhaps a class", "%q is one word too many", fields[2].text)
	}
	j.Class = class.text
	return j
}

// fieldsOf are the words of a text.
func fieldsOf(w word) []word {
	var fields []word
	for _, f := range w.split(" ") {
		if f = f.trimmed(); f.text != "" {
			fields = append(fields, f)
		}
	}
	return fields
}

// ParseExpect reads the value of --expect: `VERDICT [class]` for every lock, for
// which the lock returned is empty, or `LOCK=VERDICT [class]` for one of those that run.
func ParseExpect(arg string, running []LockUse, known Known) (lock string, e Expectation, err error) {
	r := argument("--expect", arg, known)
	w := r.whole()
	// A name may hold an equals sign itself, as in set-nx/ttl=2s=valid; a verdict cannot.
	if i := strings.LastIndexByte(w.text, '='); i >= 0 {
		name := w.part(0, i).trimmed()
		lock, w = name.text, w.part(i+1, len(w.text))
		var names []string
		for _, u := range running {
			names = append(names, u.Name)
		}
		if !slices.Contains(names, lock) {
			r.fail(name.at, suggest(lock, names, "locks here"), "no lock named %q runs", lock)
		}
	}
	e = Expectation{Judgement: r.judgement(w)}
	if err := asError(r.errs); err != nil {
		return "", Expectation{}, err
	}
	return lock, e, nil
}
