package checker

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/history"
)

// seen maps the names in the report of a changed history to those of the original history. A nil function changes
// nothing.
type seen struct {
	index   func(int) int
	session func(string) string
	key     func(string) string
	without []string // checkers that are not compared
	// others is a history with the sessions of both histories, if one of them has additional events of other sessions.
	others *history.History
}

func (v seen) indexOf(i int) int {
	if v.index == nil {
		return i
	}
	return v.index(i)
}

func (v seen) keyOf(key string) string {
	if v.key == nil {
		return key
	}
	return v.key(key)
}

func (v seen) sessionsOf(names []string) []string {
	all := slices.Clone(names)
	if v.session != nil {
		for i := range all {
			all[i] = v.session(all[i])
		}
	}
	return all
}

// gist is a report without its texts: verdicts, classes, and the rule, class, key, sessions and events of each finding.
func gist(r Report, v seen) []string {
	all := []string{fmt.Sprintf("judged: %s", words(r.Verdict, r.Class))}
	if len(v.without) > 0 {
		all = nil
	}
	for _, c := range r.Checks {
		if slices.Contains(v.without, c.Name) {
			continue
		}
		all = append(all, fmt.Sprintf("%s: %s, %d violations, %d lost, broken %t", c.Name, words(c.Verdict, c.Worst()), c.Violations, c.LostUpdates, c.Broken != ""))
		var found []string
		for _, f := range c.Findings {
			found = append(found, c.Name+": "+foundAs(c.Name, f, v))
		}
		slices.Sort(found)
		all = append(all, found...)
	}
	return all
}

// foundAs returns the gist of one finding.
func foundAs(checker string, f Finding, v seen) string {
	events := slices.Clone(f.Events)
	for i := range events {
		events[i] = v.indexOf(events[i])
	}
	who, key := v.sessionsOf(f.Sessions), v.keyOf(f.Key)
	switch {
	case v.others == nil:
	case checker == Exclusion:
		// An overlap is shown up to the last event before the lease ends, which may belong to
		// any session.
		events = events[:4]
	case checker == Linearizable && asksForSeveral(v.others, who[0]):
		key = "" // it is the key of the finding of exclusion
	case f.Rule == "lost-wake-up":
		// The first event after the lock became free may belong to any session.
		events = []int{events[0], events[3]}
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", f.Rule, f.Class)) +
		fmt.Sprintf(" of %q at %d, sessions %v, events %v", key, v.indexOf(f.Event), who, events)
}

func asksForSeveral(h *history.History, session string) bool {
	return slices.ContainsFunc(h.Sessions, func(s *history.Session) bool { return s.Name == session && len(s.Keys) > 1 })
}

// differ describes the difference between the reports on two histories. The first line has only rules, so that it stays
// the same while a history is shrunk.
func differ(h, other *history.History, v seen) string {
	before := gist(Judge(h, Options{}), seen{without: v.without, others: v.others})
	return difference(before, gist(Judge(other, Options{}), v))
}

func difference(before, after []string) string {
	var rules, lines []string
	for sign, of := range map[string][2][]string{"-": {before, after}, "+": {after, before}} {
		rest := slices.Clone(of[1])
		for _, line := range of[0] {
			if i := slices.Index(rest, line); i >= 0 {
				rest = slices.Delete(rest, i, i+1)
				continue
			}
			lines = append(lines, sign+" "+line)
			rule, _, _ := strings.Cut(line, " of ")
			rule, _, _ = strings.Cut(rule, ",")
			rules = append(rules, sign+rule)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	slices.Sort(rules)
	slices.Sort(lines)
	return "differs: " + strings.Join(slices.Compact(rules), " | ") + "\n" + strings.Join(lines, "\n")
}
