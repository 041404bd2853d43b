package scenarios

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"lockbench/locks/catalog"
)

// Asked are expectations of the user, which replace those of the scenarios. The scenarios do not name a lock of the user.
type Asked struct {
	Expect []string `json:"expect,omitempty"` // [[SCENARIO/]LOCK=]EXPECTATION
	Like   []string `json:"like,omitempty"`   // LOCK=LOCK: what is expected of the second
}

// Check checks the expectations, and that everything that they name runs.
func (a Asked) Check(run []*Scenario, uses []LockUse) error {
	var errs []error
	for _, r := range a.rules(run, uses) {
		errs = append(errs, r.check(run, names(uses, useName)))
	}
	return errors.Join(errs...)
}

// Apply returns the scenario with the expectations of the user. Controls only count if named.
func (a Asked) Apply(s *Scenario, uses []LockUse) (*Scenario, error) {
	asked := *s
	asked.Expect = map[string]Expectation{}
	maps.Copy(asked.Expect, s.Expect)
	for _, r := range a.rules([]*Scenario{s}, uses) {
		e, err := r.expectation(s)
		if err != nil {
			return nil, err
		}
		for _, u := range uses {
			if r.concerns(s, u) {
				asked.Expect[u.Name] = e
			}
		}
	}
	return &asked, nil
}

// Flags returns the flags for the same expectations in one scenario with these locks.
func (a Asked) Flags(s *Scenario, uses []LockUse) []string {
	var words []string
	for _, r := range a.rules([]*Scenario{s}, uses) {
		if slices.ContainsFunc(uses, func(u LockUse) bool { return r.concerns(s, u) }) {
			words = append(words, r.flag, r.arg)
		}
	}
	return words
}

// rule is one expectation of the user.
type rule struct {
	flag, arg      string
	scenario, lock string // empty: all
	value          string // of --expect
	like           string // of --like
}

// rules splits the flags. The last rule that concerns a lock holds: SCENARIO/LOCK comes after LOCK, then --like, then a
// value for all locks. Rules of equal precedence keep their order.
func (a Asked) rules(run []*Scenario, uses []LockUse) []rule {
	known, running := Names(), names(uses, useName)
	for _, s := range run {
		known = append(known, s.Name)
	}
	var all, ofLock, ofScenario []rule
	for _, arg := range a.Expect {
		name, value := cutExpect(arg)
		r := rule{flag: "--expect", arg: arg, lock: name, value: value}
		scenario, lock, both := strings.Cut(name, "/")
		switch {
		case name == "":
			all = append(all, r)
		case both && slices.Contains(known, scenario) && !slices.Contains(running, name):
			r.scenario, r.lock = scenario, lock
			ofScenario = append(ofScenario, r)
		default:
			ofLock = append(ofLock, r)
		}
	}
	for _, arg := range a.Like {
		lock, like := cutLike(arg, running)
		all = append(all, rule{flag: "--like", arg: arg, lock: lock, like: like})
	}
	return slices.Concat(all, ofLock, ofScenario)
}

// cutExpect splits `NAME=VALUE`. The name is empty if there is only a value.
func cutExpect(arg string) (name, value string) {
	// A name may contain an equals sign, as in set-nx/ttl=2s=valid; a verdict cannot.
	i := strings.Index(arg, "={")
	if i < 0 {
		i = strings.LastIndexByte(arg, '=')
	}
	if i < 0 || strings.HasPrefix(strings.TrimSpace(arg), "{") {
		return "", arg
	}
	return strings.TrimSpace(arg[:i]), arg[i+1:]
}

// cutLike splits `LOCK=OTHER`. Both may contain an equals sign, as in set-nx/ttl=2s, so it splits after a lock that runs.
func cutLike(arg string, running []string) (lock, like string) {
	lock, like, _ = strings.Cut(arg, "=")
	for i, c := range arg {
		if c == '=' && slices.Contains(running, strings.TrimSpace(arg[:i])) {
			lock, like = arg[:i], arg[i+1:]
			break
		}
	}
	return strings.TrimSpace(lock), strings.TrimSpace(like)
}

// check checks a rule for scenarios and locks that run.
func (r rule) check(run []*Scenario, running []string) error {
	scenario, lock, _ := strings.Cut(r.lock, "/")
	plain, _, _ := strings.Cut(r.like, "/")
	models := names(catalog.All(), lockName)
	for _, s := range run {
		models = append(models, names(s.Locks, useName)...)
	}
	var e *Error
	switch {
	case r.scenario != "" && !slices.ContainsFunc(run, func(s *Scenario) bool { return s.Name == r.scenario }):
		e = wrong("", "scenario %s does not run", r.scenario)
	case r.flag == "--like" && (r.lock == "" || r.like == ""):
		e = wrong("as in mine=set-nx", "%q names one lock", r.arg)
	case r.lock != "" && !slices.Contains(running, r.lock) && slices.Contains(running, lock):
		e = wrong(catalog.DidYouMean(scenario, Names()), "no scenario is named %q", scenario)
	case r.lock != "" && !slices.Contains(running, r.lock):
		e = wrong(catalog.DidYouMean(r.lock, running), "no lock named %q runs", r.lock)
	case r.like == "":
		_, err := ParseExpectation(r.value)
		return err
	case !slices.Contains(models, r.like) && !slices.Contains(models, plain):
		e = wrong(catalog.DidYouMean(r.like, models), "no lock is named %q", r.like)
	default:
		return nil
	}
	e.File = r.flag
	return e
}

// concerns reports whether a rule is about a lock in a scenario.
func (r rule) concerns(s *Scenario, u LockUse) bool {
	if r.scenario != "" && r.scenario != s.Name {
		return false
	}
	return r.lock == u.Name || r.lock == "" && !u.Control()
}

// expectation returns the expectation of the rule in a scenario. If the rule compares with a lock that the scenario does
// not judge, the lock is not judged either.
func (r rule) expectation(s *Scenario) (Expectation, error) {
	if r.like == "" {
		return ParseExpectation(r.value)
	}
	plain, _, _ := strings.Cut(r.like, "/")
	e, named := s.expectation(r.like)
	if !named && !slices.ContainsFunc(s.Locks, func(u LockUse) bool { return u.Name == r.like || u.Use == plain }) {
		e = Expectation{Judgement: Judgement{Verdict: Unjudged}}
	}
	e.Of = r.like
	return e, nil
}
