// Package storytest checks that the text of a counterexample contains its cause, for the tests of what makes counterexamples.
package storytest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// Problems returns the properties that the text of a counterexample lacks. It reads the text as a user does, and compares it
// with the history and the finding that the text is about.
func Problems(h *history.History, f checker.Finding, r checker.Release, text []string) []string {
	t := told{h: h, holds: hold.Find(h, r == checker.Strict), f: f, text: strings.Join(text, "\n")}
	t.meets = h.Position(f.Event)
	t.read(text)
	t.findHolders()
	t.checkWords(text)
	t.checkBracket()
	t.checkBelief()
	t.checkWhy()
	t.checkFaults()
	t.checkReleases()
	t.checkRenewals()
	t.checkRule()
	return t.problems
}

// told is the text of a counterexample, and the part of the history that it is about.
type told struct {
	h        *history.History
	holds    *hold.Book
	f        checker.Finding
	text     string
	why      string
	rows     []row
	a, b     *hold.Hold // the two holders, the earlier grant first
	meets    int
	problems []string
}

// row is a step of the text.
type row struct {
	who, what string
	bracket   string
	line      int // in history.jsonl
}

func (t *told) problem(format string, args ...any) {
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

var (
	stepOf = regexp.MustCompile(`^ +\d+\.\d{3} s  (\S.*?)  +(\S.*?) +(?:([┐│┤┘]) +)?:(\d+)$`)
	whyOf  = regexp.MustCompile(`(?s)\n   Why +(.*?)(\n   Harm|$)`)
)

// read splits the text into its steps and its reason.
func (t *told) read(text []string) {
	for _, line := range text {
		if m := stepOf.FindStringSubmatch(line); m != nil {
			number, _ := strconv.Atoi(m[4])
			t.rows = append(t.rows, row{who: m[1], what: m[2], bracket: m[3], line: number})
		}
	}
	if m := whyOf.FindStringSubmatch(t.text); m != nil {
		t.why = strings.Join(strings.Fields(m[1]), " ")
	}
}

// findHolders finds the two holders of a finding about two.
func (t *told) findHolders() {
	var all []*hold.Hold
	for _, name := range t.f.Sessions {
		if i := slices.IndexFunc(t.h.Sessions, func(s *history.Session) bool { return s.Name == name }); i >= 0 {
			all = append(all, t.holds.Hold(t.h.Sessions[i]))
		}
	}
	slices.SortStableFunc(all, func(x, y *hold.Hold) int { return granted(x) - granted(y) })
	if len(all) > 0 {
		t.a = all[0]
	}
	if len(all) > 1 && t.f.Rule != "overtaken" {
		t.b = all[len(all)-1]
		t.meets = granted(t.b)
	}
}

// granted is the position of the answer of a grant, or of the call if there was no grant.
func granted(d *hold.Hold) int {
	if d.Granted() {
		return d.Grant
	}
	return d.Session.Acquire.Invoke
}

// at reports whether a step tells of the event at a position.
func (t *told) at(pos int) bool {
	return pos >= 0 && slices.ContainsFunc(t.rows, func(r row) bool { return r.line == t.h.Line(pos) })
}

func (t *told) says(who, what string) bool {
	return slices.ContainsFunc(t.rows, func(r row) bool { return r.who == who && strings.Contains(r.what, what) })
}

// checkWords reports texts that are cut, and a headline without a class or a rule. Names of keys may be cut.
func (t *told) checkWords(text []string) {
	for _, line := range text {
		if cut := strings.ReplaceAll(line, `…"`, `"`); strings.Contains(cut, "…") {
			t.problem("a text is cut: %s", line)
		}
	}
	head := text[0]
	if len(text) > 1 {
		head += text[1]
	}
	if name := t.f.Class.String(); name != "" && !strings.Contains(head, name) || name == "" && !strings.Contains(head, t.f.Rule) {
		t.problem("the headline has neither class nor rule")
	}
	if len(t.rows) == 0 {
		t.problem("no steps")
	}
}

// together reports whether the earlier holder had not released at the later grant.
func (t *told) together() bool {
	if t.b == nil {
		return false
	}
	for _, op := range t.a.Session.Ops {
		if op.F == history.Release && op.Invoke < t.meets && !(t.holds.Strict && op.Outcome == history.Failed) {
			return false
		}
	}
	died := t.a.Session.DiedAt
	return died < 0 || died >= t.meets
}

// checkBracket reports a bracket that is open, that does not cover both holds, and grants of others after it.
func (t *told) checkBracket() {
	if t.a == nil {
		return
	}
	first, last := -1, -1
	for i, r := range t.rows {
		if r.bracket != "" {
			last = i
			if first < 0 {
				first = i
			}
		}
	}
	if first >= 0 && (t.rows[first].bracket != "┐" || t.rows[last].bracket != "┘") {
		t.problem("the bracket begins with %s and ends with %s", t.rows[first].bracket, t.rows[last].bracket)
	}
	if !t.together() {
		return
	}
	ends := -1 // the last step of a holder
	names := []string{holder(t.a, t.b), holder(t.b, t.a)}
	for i, r := range t.rows {
		if slices.Contains(names, r.who) {
			ends = i
		}
	}
	if first < 0 || t.rows[first].line != t.h.Line(granted(t.a)) || last != ends {
		t.problem("the bracket does not cover both holds")
	}
	for i, r := range t.rows {
		if i > last && r.who == "others" {
			t.problem("grants of others after the bracket")
		}
	}
}

// holder is the name of a holder in a counterexample.
func holder(d, other *hold.Hold) string {
	if other != nil && d.Session.Client == other.Session.Client {
		return "session " + d.Session.Name
	}
	return fmt.Sprintf("client %d", d.Session.Client)
}

// checkBelief reports a remark that both hold if one of them cannot believe so.
func (t *told) checkBelief() {
	if !strings.Contains(t.text, "both hold from") {
		return
	}
	if t.b == nil {
		t.problem("both hold, but there is one session")
		return
	}
	for pos := range t.h.Events {
		for _, r := range t.rows {
			if r.line != t.h.Line(pos) || !strings.Contains(r.what, "both hold from") {
				continue
			}
			for _, d := range []*hold.Hold{t.a, t.b} {
				if !hold.Within(d.Most.Beliefs, pos) {
					t.problem("both hold from line %d on, but %s could not believe that it held", r.line, holder(d, nil))
				}
			}
		}
	}
}

var (
	stillOf = regexp.MustCompile(`lease ended at ([\d.]+) s.* worked at ([\d.]+) s`)
	leftOf  = regexp.MustCompile(`had ([\d.]+) s of its lease left`)
)

// checkWhy reports a missing reason, and times in it that are not so.
func (t *told) checkWhy() {
	if t.why == "" {
		t.problem("no reason")
	}
	if m := stillOf.FindStringSubmatch(t.why); m != nil {
		ended, _ := strconv.ParseFloat(m[1], 64)
		worked, _ := strconv.ParseFloat(m[2], 64)
		if worked < ended {
			t.problem("a client worked on at %s s, before its lease ended at %s s", m[2], m[1])
		}
	} else if t.f.Class == checker.Overstay && t.b != nil && strings.Contains(t.why, "lease ended at") {
		t.problem("the reason does not say when the client worked: %s", t.why)
	}
	if m := leftOf.FindStringSubmatch(t.why); m != nil {
		left, _ := strconv.ParseFloat(m[1], 64)
		first, _ := t.a.LeaseEnd(t.meets)
		if first == hold.Never || (first-t.h.At(t.meets).Time).Seconds() < left-0.001 {
			t.problem("the lease had less than %s s left", m[1])
		}
	}
}

// from is the position from which the cause is looked for: the start of the episode.
func (t *told) from() int {
	from, number := 0, 0
	number, _ = t.h.EpisodeAt(t.meets)
	for _, s := range t.h.Episodes {
		if s.Number == number && s.Number > 1 {
			from = s.At
		}
	}
	return from
}

// checkFaults reports faults that are not named although they were in effect at the violation or had healed shortly before.
func (t *told) checkFaults() {
	missing := map[string]bool{}
	for _, f := range t.h.Faults {
		if !f.Began() || f.Begins < t.from() || f.Begins >= t.meets {
			continue
		}
		servers := len(f.Targets) == 0 || slices.ContainsFunc(f.Targets, func(name string) bool { return !history.ParseParty(name).IsClient() })
		holds := t.a != nil && f.Strikes(t.a.Session.Client) || t.b != nil && f.Strikes(t.b.Session.Client)
		if (servers || holds) && !t.says("fault", f.Name) {
			missing[f.Name] = true
		}
	}
	for name := range missing {
		t.problem("the fault %s is missing", name)
	}
}

// checkReleases reports a release of another session that explains the second grant and is missing: it was called before
// that grant, and answered, or perhaps in effect, after the first one.
func (t *told) checkReleases() {
	if t.b == nil || !t.together() || t.f.Class == checker.NoClass {
		return
	}
	last, lastAt := history.Op{}, -1
	for _, s := range t.h.Sessions {
		if s == t.a.Session || s == t.b.Session || !slices.Contains(s.Keys, t.f.Key) {
			continue
		}
		for _, op := range s.Ops {
			if op.F != history.Release || op.Invoke >= t.meets || op.Invoke < t.from() {
				continue
			}
			switch {
			case op.Outcome == history.Done && op.Return > t.a.Grant && (op.Invoke > t.a.Grant || t.lapsed(s, op.Invoke)):
				at := op.Return
				if at > t.meets {
					at = op.Invoke
				}
				if at > lastAt {
					last, lastAt = op, at
				}
			case op.Outcome == history.Maybe && t.arrives(s.Client, op):
				if op.Invoke > lastAt {
					last, lastAt = op, op.Invoke
				}
			}
		}
	}
	if lastAt >= 0 && !t.at(last.Invoke) && !t.at(last.Return) {
		t.problem("the release of line %d is missing", t.h.Line(last.Invoke))
	}
}

// lapsed reports whether the lease of a session was over at a position.
func (t *told) lapsed(s *history.Session, pos int) bool {
	first, _ := t.holds.Hold(s).LeaseEnd(pos)
	return first < t.h.At(pos).Time
}

// arrives reports whether a fault may have kept a request until both grants were there to be confused by it.
func (t *told) arrives(client int32, op history.Op) bool {
	return slices.ContainsFunc(t.h.Faults, func(f history.Fault) bool {
		return f.Strikes(client) && f.HoldsUp(client) && f.Begins <= max(op.Invoke, op.Return) && f.Healed > t.a.Grant && f.Healed <= t.meets
	})
}

// checkRenewals reports a double grant that is one only because of a renewal that is missing.
func (t *told) checkRenewals() {
	if t.f.Class != checker.DoubleGrant || t.b == nil {
		return
	}
	for _, d := range []*hold.Hold{t.a, t.b} {
		end := d.CountedEnd(d.Grant)
		if d.Renewed() || end >= t.time(t.meets) && hold.Within(d.Most.Beliefs, t.meets) {
			continue
		}
		if !t.says(holder(d, other(d, t.a, t.b)), "renews") {
			t.problem("the renewal of %s is missing", holder(d, nil))
		}
	}
}

func (t *told) time(pos int) time.Duration { return t.h.At(pos).Time }

func other(d, a, b *hold.Hold) *hold.Hold {
	if d == a {
		return b
	}
	return a
}

// checkRule reports what a counterexample of a rule without a class lacks.
func (t *told) checkRule() {
	switch t.f.Rule {
	case "overtaken", "lost-wake-up":
		if t.a == nil {
			return
		}
		for _, name := range t.f.Sessions {
			i := slices.IndexFunc(t.h.Sessions, func(s *history.Session) bool { return s.Name == name })
			if s := t.h.Sessions[i]; !t.at(s.Acquire.Invoke) && !(t.f.Rule == "overtaken" && s.Acquire.Return == t.h.Position(t.f.Event)) {
				t.problem("the wait of client %d is missing", s.Client)
			}
		}
	case "no-progress":
		if !strings.Contains(t.text, "refused") || !t.at(t.h.Position(t.f.Event)) {
			t.problem("the refusals are missing")
		}
	}
}
