package scenarios

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"lockbench/internal/regular"
	"lockbench/locks"
	"lockbench/locks/catalog"
)

// AskedVersion is the first line of every file of expectations.
const AskedVersion = "expectations/1"

// Asked is what somebody expects of locks in place of what the scenarios say, as it was
// written: in flags, and in a file. The scenarios know nothing of a lock of one's own.
type Asked struct {
	Expect []string `json:"expect,omitempty"` // [[SCENARIO/]LOCK=]EXPECTATION
	Like   []string `json:"like,omitempty"`   // LOCK=LOCK: what is expected of the second
	// File names the file, and Text is what it said: it may be gone or changed when a
	// campaign goes on.
	File string `json:"expectations_file,omitempty"`
	Text string `json:"expectations,omitempty"`
}

// ReadFile takes the text of the file of expectations, if one is named.
func (a *Asked) ReadFile() error {
	if a.File == "" {
		return nil
	}
	text, err := regular.ReadFile(a.File)
	if errors.Is(err, fs.ErrNotExist) {
		return &Error{File: "--expectations", Text: "there is no file " + a.File, err: err}
	} else if err != nil {
		return &Error{File: "--expectations", Text: err.Error(), err: err}
	}
	a.Text = string(text)
	return nil
}

// Check tells whether what was asked can be read, and whether everything that a flag names
// is there. A file may speak of more than is run: many runs have one.
func (a Asked) Check(run []*Scenario, uses []LockUse) error {
	_, err := a.read(run, uses, true)
	return err
}

// Apply is the scenario with what was asked of its locks. What names a lock and a scenario
// comes before what names a lock, that before --like, and that before what names none; a
// control is only meant where it is named. Of two that say as much the later one holds.
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
				best, asked.Expect[u.Name] = weight, r.of(s)
			}
		}
	}
	return &asked, nil
}

// Flags are what to type for the same in one scenario with these locks.
func (a Asked) Flags(s *Scenario, uses []LockUse) []string {
	in := askedIn{run: append(Names(), s.Name), locks: names(uses, useName)}
	runs := func(lock string) bool { return lock == "" || slices.Contains(in.locks, lock) }
	var words []string
	for _, arg := range a.Like {
		_, w := argument("--like", arg)
		if lock, _, _ := cutLike(w, in.locks); runs(lock.trimmed().text) {
			words = append(words, "--like", arg)
		}
	}
	for _, arg := range a.Expect {
		r, w := argument("--expect", arg)
		name, _ := cutExpect(w)
		if x := r.who(name, in); runs(x.lock) && (x.scenario == "" || x.scenario == s.Name) {
			words = append(words, "--expect", arg)
		}
	}
	if a.File != "" {
		words = append(words, "--expectations", a.File)
	}
	return words
}

// rule is one expectation that somebody asked for.
type rule struct {
	scenario, lock string // empty: each
	expect         Expectation
	like           string // in place of expect
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

// concerns tells whether a rule is about a lock in a scenario.
func (r rule) concerns(s *Scenario, u LockUse) bool {
	if r.scenario != "" && r.scenario != s.Name {
		return false
	}
	return r.lock == u.Name || r.lock == "" && !control(u)
}

// control tells whether a lock shows that the harness sees, and is no subject.
func control(u LockUse) bool {
	name := u.Use
	if name == "" && !u.Own() { // known by what it was called in a run
		name, _, _ = strings.Cut(u.Name, "/")
	}
	l, ok := catalog.Find(name)
	return ok && l.Family == locks.Control
}

// of is what the rule expects in a scenario. What another lock does where it neither runs
// nor is named, nobody knows.
func (r rule) of(s *Scenario) Expectation {
	if r.like == "" {
		return r.expect
	}
	e := s.Expectation(r.like)
	plain, _, _ := strings.Cut(r.like, "/")
	_, said := s.Expect[plain]
	if _, runs := find(s.Locks, useName, r.like); !runs && !said && !slices.ContainsFunc(s.Locks, func(u LockUse) bool { return u.Use == plain }) {
		e = Expectation{Judgement: Judgement{Verdict: Any}}
	}
	e.Of = r.like
	return e
}

// read reads flags and file. With strict, what a flag names must be there.
func (a Asked) read(run []*Scenario, uses []LockUse, strict bool) ([]rule, error) {
	in := askedIn{run: Names(), locks: names(uses, useName), strict: strict}
	for _, s := range run {
		in.run = append(in.run, s.Name)
		in.chosen = append(in.chosen, s.Name)
		in.models = append(in.models, names(s.Locks, useName)...)
	}
	in.models = append(names(catalog.All(), lockName), in.models...)
	rules, errs := a.file(in)
	for _, arg := range a.Like {
		r, w := argument("--like", arg)
		lock, like, both := cutLike(w, in.locks)
		if !both {
			r.fail(w.at, "as in mine=set-nx", "%q names one lock", arg)
		} else {
			r.like(&rules, lock.trimmed(), like.trimmed(), in)
		}
		errs = append(errs, r.errs...)
	}
	for _, arg := range a.Expect {
		r, w := argument("--expect", arg)
		name, value := cutExpect(w)
		x := r.who(name, in)
		x.expect = r.expected(value)
		rules, errs = append(rules, x), append(errs, r.errs...)
	}
	return rules, asError(errs)
}

// askedIn is what an expectation may name: scenarios, those of them that are run, the
// locks that run, and the locks that others may be like.
type askedIn struct {
	run, chosen, locks, models []string
	strict                     bool
}

// who reads `[SCENARIO/]LOCK`.
func (r *reader) who(name word, in askedIn) (x rule) {
	if name.text == "" {
		return x
	}
	lock := name
	if scenario, rest, both := name.cut("/"); both && !slices.Contains(in.locks, name.text) && slices.Contains(in.run, scenario.text) {
		x.scenario, lock = scenario.text, rest
		if in.strict && !slices.Contains(in.chosen, scenario.text) {
			r.fail(scenario.at, "", "scenario %s is not run", scenario.text)
		}
	} else if both && in.strict && !slices.Contains(in.locks, name.text) && slices.Contains(in.locks, rest.text) {
		r.unknown(scenario, in.run, "scenarios", "no scenario is named %q", scenario.text)
		return x
	}
	if x.lock = lock.text; in.strict {
		r.runs(lock, in.locks)
	}
	return x
}

// cutLike cuts `LOCK=OTHER` in two. Both may hold an equals sign, as set-nx/ttl=2s does: it
// is cut behind a lock that runs.
func cutLike(w word, locks []string) (lock, like word, both bool) {
	for i, c := range w.text {
		if c == '=' && slices.Contains(locks, strings.TrimSpace(w.text[:i])) {
			return w.part(0, i), w.part(i+1, len(w.text)), true
		}
	}
	return w.cut("=")
}

// like notes that a lock is expected to do what another one is.
func (r *reader) like(rules *[]rule, lock, like word, in askedIn) {
	if in.strict {
		r.runs(lock, in.locks)
	}
	if plain, _, _ := like.cut("/"); !slices.Contains(in.models, like.text) && !slices.Contains(in.models, plain.text) {
		r.unknown(like, in.models, "locks", "no lock is named %q", like.text)
	}
	*rules = append(*rules, rule{lock: lock.text, like: like.text})
}

// file reads the file of expectations. It may speak of what is not run here.
func (a Asked) file(in askedIn) (rules []rule, errs []*Error) {
	if a.File == "" {
		return nil, nil
	}
	in.strict = false
	r := newReader(a.File)
	r.kind, r.yaml = askedKind, true
	root, ok := r.document([]byte(a.Text))
	if !ok {
		return nil, r.errs
	}
	top, ok := r.entries(root, "", "a "+r.kind.name)
	if ok && r.version(top) {
		for _, e := range top {
			switch e.key.text {
			case "lockbench":
			case "like":
				list, _ := r.entries(e.value, e.path, e.key.text)
				for _, e := range list {
					if w, ok := r.text(e); ok {
						r.like(&rules, e.key, w, in)
					}
				}
			case "expect":
				list, _ := r.entries(e.value, e.path, e.key.text)
				for _, e := range list {
					x := r.who(e.key, in)
					x.expect = r.expectation(e)
					rules = append(rules, x)
				}
			default:
				r.unknown(e.key, []string{"lockbench", "like", "expect"}, "keys", "a %s has no key %q", r.kind.name, e.key.text)
			}
		}
	}
	return rules, r.errs
}
