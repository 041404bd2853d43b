package scenarios

import (
	"maps"
	"slices"
	"strings"

	"lockbench/locks"
	"lockbench/locks/catalog"
)

// Asked are expectations of the user, which replace those of the scenarios. The scenarios do not name a lock of the user.
type Asked struct {
	Expect []string `json:"expect,omitempty"` // [[SCENARIO/]LOCK=]EXPECTATION
	Like   []string `json:"like,omitempty"`   // LOCK=LOCK: what is expected of the second
}

// Check checks the expectations, and that everything that they name runs.
func (a Asked) Check(run []*Scenario, uses []LockUse) error {
	_, err := a.read(run, uses, true)
	return err
}

// Apply returns the scenario with the expectations of the user. Precedence: SCENARIO/LOCK, then
// LOCK, then --like, then unnamed. The last of equals wins. Controls only count if named.
func (a Asked) Apply(s *Scenario, uses []LockUse) (*Scenario, error) {
	rules, err := a.read([]*Scenario{s}, uses, false)
	if err != nil || len(rules) == 0 {
		return s, err
	}
	asked := *s
	asked.Expect = maps.Clone(s.Expect)
	if asked.Expect == nil {
		asked.Expect = map[string]Expectation{}
	}
	for _, u := range uses {
		best := -1
		for _, r := range rules {
			if weight := r.weight(); weight >= best && r.concerns(s, u) {
				best, asked.Expect[u.Name] = weight, r.expectation(s)
			}
		}
	}
	return &asked, nil
}

// Flags returns the flags for the same expectations in one scenario with these locks.
func (a Asked) Flags(s *Scenario, uses []LockUse) []string {
	in := askedIn{run: append(Names(), s.Name), locks: names(uses, useName)}
	runs := func(lock string) bool { return lock == "" || slices.Contains(in.locks, lock) }
	var words []string
	for _, arg := range a.Like {
		if lock, _, _ := cutLike(arg, in.locks); runs(lock) {
			words = append(words, "--like", arg)
		}
	}
	for _, arg := range a.Expect {
		name, _ := cutExpect(arg)
		if x := newReader("--expect").selected(word{text: name}, in); runs(x.lock) && (x.scenario == "" || x.scenario == s.Name) {
			words = append(words, "--expect", arg)
		}
	}
	return words
}

// rule is one expectation of the user.
type rule struct {
	scenario, lock string // empty: all
	expect         Expectation
	like           string // instead of expect
}

func (r rule) weight() int {
	switch {
	case r.scenario != "":
		return 3
	case r.like != "":
		return 1
	case r.lock != "":
		return 2
	}
	return 0
}

// concerns reports whether a rule is about a lock in a scenario.
func (r rule) concerns(s *Scenario, u LockUse) bool {
	if r.scenario != "" && r.scenario != s.Name {
		return false
	}
	return r.lock == u.Name || r.lock == "" && !control(u)
}

// control reports whether a lock is a control.
func control(u LockUse) bool {
	name := u.Use
	if name == "" && !u.Own() { // known by its name in a run
		name, _, _ = strings.Cut(u.Name, "/")
	}
	l, ok := catalog.Find(name)
	return ok && l.Family == locks.Control
}

// expectation returns the expectation of the rule in a scenario. If the rule compares with a lock that the scenario does
// not judge, the lock is not judged either.
func (r rule) expectation(s *Scenario) Expectation {
	if r.like == "" {
		return r.expect
	}
	plain, _, _ := strings.Cut(r.like, "/")
	e, named := s.expectation(r.like)
	if !named && !slices.ContainsFunc(s.Locks, func(u LockUse) bool { return u.Name == r.like || u.Use == plain }) {
		e = Expectation{Judgement: Judgement{Verdict: Unjudged}}
	}
	e.Of = r.like
	return e
}

// read reads the flags. With strict, everything that a flag names must run.
func (a Asked) read(run []*Scenario, uses []LockUse, strict bool) ([]rule, error) {
	in := askedIn{run: Names(), locks: names(uses, useName), strict: strict}
	for _, s := range run {
		in.run = append(in.run, s.Name)
		in.chosen = append(in.chosen, s.Name)
		in.models = append(in.models, names(s.Locks, useName)...)
	}
	in.models = append(names(catalog.All(), lockName), in.models...)
	var rules []rule
	var errs []*Error
	for _, arg := range a.Like {
		r := newReader("--like")
		r.try(func() {
			lock, like, both := cutLike(arg, in.locks)
			if !both {
				r.fail(place{}, "as in mine=set-nx", "%q names one lock", arg)
			}
			rules = append(rules, r.like(word{text: lock}, word{text: like}, in))
		})
		errs = append(errs, r.errs...)
	}
	for _, arg := range a.Expect {
		r := newReader("--expect")
		r.try(func() {
			name, value := cutExpect(arg)
			x := r.selected(word{text: name}, in)
			x.expect = r.expected(value)
			rules = append(rules, x)
		})
		errs = append(errs, r.errs...)
	}
	return rules, asError(errs)
}

// askedIn are the names that an expectation may contain: scenarios, those of them that run, the locks that run, and the
// locks for comparisons.
type askedIn struct {
	run, chosen, locks, models []string
	strict                     bool
}

// selected reads `[SCENARIO/]LOCK`.
func (r *reader) selected(name word, in askedIn) (x rule) {
	if name.text == "" {
		return x
	}
	x.lock = name.text
	scenario, rest, both := strings.Cut(name.text, "/")
	switch both = both && !slices.Contains(in.locks, name.text); {
	case both && slices.Contains(in.run, scenario):
		x.scenario, x.lock = scenario, rest
		if in.strict && !slices.Contains(in.chosen, scenario) {
			r.fail(name.at, "", "scenario %s does not run", scenario)
		}
	case both && in.strict && slices.Contains(in.locks, rest):
		r.unknown(word{scenario, name.at}, in.run, "scenarios", "no scenario is named %q", scenario)
	}
	if in.strict {
		r.runs(x.lock, in.locks)
	}
	return x
}

// cutLike splits `LOCK=OTHER`. Both may contain an equals sign, as in set-nx/ttl=2s, so it splits after a lock that runs.
func cutLike(arg string, locks []string) (lock, like string, both bool) {
	for i, c := range arg {
		if c == '=' && slices.Contains(locks, strings.TrimSpace(arg[:i])) {
			return strings.TrimSpace(arg[:i]), strings.TrimSpace(arg[i+1:]), true
		}
	}
	lock, like, both = strings.Cut(arg, "=")
	return strings.TrimSpace(lock), strings.TrimSpace(like), both
}

// like returns the rule that compares a lock with another one.
func (r *reader) like(lock, like word, in askedIn) rule {
	if in.strict {
		r.runs(lock.text, in.locks)
	}
	plain, _, _ := strings.Cut(like.text, "/")
	if !slices.Contains(in.models, like.text) && !slices.Contains(in.models, plain) {
		r.unknown(like, in.models, "locks", "no lock is named %q", like.text)
	}
	return rule{lock: lock.text, like: like.text}
}
