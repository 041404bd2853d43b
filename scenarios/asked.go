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
		if lock, _, _ := cutLike(arg, in.locks); runs(lock) {
			words = append(words, "--like", arg)
		}
	}
	for _, arg := range a.Expect {
		name, _ := cutExpect(arg)
		if x := newReader("--expect").who(word{text: name}, in); runs(x.lock) && (x.scenario == "" || x.scenario == s.Name) {
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

// of is what the rule expects in a scenario. A lock that neither runs there nor is named is
// not judged.
func (r rule) of(s *Scenario) Expectation {
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
		r := newReader("--like")
		if lock, like, both := cutLike(arg, in.locks); !both {
			r.fail(place{}, "as in mine=set-nx", "%q names one lock", arg)
		} else {
			rules = append(rules, r.like(word{text: lock}, word{text: like}, in))
		}
		errs = append(errs, r.errs...)
	}
	for _, arg := range a.Expect {
		r := newReader("--expect")
		name, value := cutExpect(arg)
		x := r.who(word{text: name}, in)
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
	x.lock = name.text
	scenario, rest, both := strings.Cut(name.text, "/")
	switch both = both && !slices.Contains(in.locks, name.text); {
	case both && slices.Contains(in.run, scenario):
		x.scenario, x.lock = scenario, rest
		if in.strict && !slices.Contains(in.chosen, scenario) {
			r.fail(name.at, "", "scenario %s is not run", scenario)
		}
	case both && in.strict && slices.Contains(in.locks, rest):
		r.unknown(word{scenario, name.at}, in.run, "scenarios", "no scenario is named %q", scenario)
		return x
	}
	if in.strict {
		r.runs(x.lock, in.locks)
	}
	return x
}

// cutLike cuts `LOCK=OTHER` in two. Both may hold an equals sign, as set-nx/ttl=2s does: it
// is cut behind a lock that runs.
func cutLike(arg string, locks []string) (lock, like string, both bool) {
	for i, c := range arg {
		if c == '=' && slices.Contains(locks, strings.TrimSpace(arg[:i])) {
			return strings.TrimSpace(arg[:i]), strings.TrimSpace(arg[i+1:]), true
		}
	}
	lock, like, both = strings.Cut(arg, "=")
	return strings.TrimSpace(lock), strings.TrimSpace(like), both
}

// like is the rule that a lock is expected to do what another one is.
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

// file reads the file of expectations. It may speak of what is not run here.
func (a Asked) file(in askedIn) (rules []rule, errs []*Error) {
	if a.File == "" {
		return nil, nil
	}
	in.strict = false
	r := newReader(a.File)
	top, _ := r.document([]byte(a.Text), askedKind)
	for _, e := range top {
		switch e.key.text {
		case "lockbench":
		case "like":
			for _, e := range r.entries(e.value, e.path, e.key.text) {
				if w, ok := r.text(e); ok {
					rules = append(rules, r.like(e.key, w, in))
				}
			}
		case "expect":
			for _, e := range r.entries(e.value, e.path, e.key.text) {
				x := r.who(e.key, in)
				x.expect = r.expectation(e)
				rules = append(rules, x)
			}
		default:
			r.unknown(e.key, []string{"lockbench", "like", "expect"}, "keys", "a %s has no key %q", askedKind.name, e.key.text)
		}
	}
	return rules, r.errs
}
