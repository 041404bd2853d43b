package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lockbench/internal/history"
)

// shownFault is a fault that a story shows.
type shownFault struct {
	history.Fault
	of    int  // the faults of its name in the story
	first bool // the most telling one of its name
}

// perName is how many faults of one name a story shows.
const perName = 2

// findFaults returns the faults of the episode that may be the cause, up to the end of the story. For each name they are those in
// effect since the grant in question, or else the last one that had healed before: its effects, such as a late request or a
// lost write, may come later.
func (s *story) findFaults() []shownFault {
	byName := map[string][]history.Fault{}
	var names []string
	from := s.episode()
	for _, f := range s.h.Faults {
		if f.Begins > s.ends || !f.Began() || !s.concerns(f) || f.Begins < from && f.Healed >= 0 && f.Healed < from {
			continue
		}
		if byName[f.Name] == nil {
			names = append(names, f.Name)
		}
		byName[f.Name] = append(byName[f.Name], f)
	}
	var shown []shownFault
	for _, name := range names {
		all := byName[name]
		for i, f := range s.mostTelling(all) {
			if f.Bites > s.ends {
				f.Bites = -1
			}
			if f.Healed > s.ends {
				f.Healed = -1
			}
			shown = append(shown, shownFault{f, len(all), i == 0})
		}
	}
	slices.SortStableFunc(shown, func(x, y shownFault) int { return x.Begins - y.Begins })
	return shown
}

// mostTelling chooses some faults of one name: first those that were in effect while the first client held, then those that hit
// a client of the story, then those that began last before the later grant.
func (s *story) mostTelling(all []history.Fault) []history.Fault {
	rank := func(f history.Fault) int {
		rank := 0
		if !s.healedBefore(f) {
			rank += 4
		}
		if s.strikes(f) {
			rank += 2
		}
		if f.Begins < s.meets {
			rank += 8
		}
		return rank
	}
	chosen := slices.Clone(all)
	slices.SortStableFunc(chosen, func(x, y history.Fault) int { return cmp.Or(rank(y)-rank(x), y.Begins-x.Begins) })
	if s.healedBefore(chosen[0]) {
		return chosen[:1]
	}
	chosen = slices.DeleteFunc(chosen, s.healedBefore)
	return chosen[:min(perName, len(chosen))]
}

// healedBefore reports whether a fault had healed before the grant in question.
func (s *story) healedBefore(f history.Fault) bool { return f.Healed >= 0 && f.Healed < s.begin() }

// episode is the position at which the episode of the finding begins. What comes before the first episode belongs to it.
func (s *story) episode() int {
	number, _ := s.h.EpisodeAt(s.meets)
	for i, e := range s.h.Episodes {
		if e.Number == number && i > 0 {
			return e.At
		}
	}
	return 0
}

// strikes reports whether a fault affects a client of the story: a holder, a waiter, or one whose release is a cause.
func (s *story) strikes(f history.Fault) bool {
	return slices.ContainsFunc(s.clients(), f.Strikes)
}

// clients are the holders' and those of the waiter and of the causes.
func (s *story) clients() []int32 {
	var all []int32
	for _, t := range append(s.holders(), s.waits) {
		if t != nil {
			all = append(all, t.session.Client)
		}
	}
	for _, c := range s.causes {
		all = append(all, c.session.Client)
	}
	return all
}

// concerns reports whether a fault affects a server or a client of the story.
func (s *story) concerns(f history.Fault) bool {
	return len(f.Targets) == 0 || s.a == nil || s.strikes(f) ||
		slices.ContainsFunc(f.Targets, func(name string) bool { return !history.ParseParty(name).IsClient() })
}

func (s *story) faultRows() []row {
	var rows []row
	for _, f := range s.faults {
		begins := row{at: f.Bites, who: "fault", weight: cause}
		if !f.first || f.Begins > s.meets || f.Pauses() && s.b != nil && !s.strikes(f.Fault) {
			begins.weight = helpful
		}
		suffix := ""
		if f.Bites < 0 {
			begins.at, suffix = f.Begins, " (effect not seen)"
		}
		if f.of > perName && f.first {
			suffix += fmt.Sprintf(", one of %d", f.of)
		}
		text := cmp.Or(s.h.At(begins.at).Text, strings.Join(f.Targets, ", "), "in effect")
		begins.what = f.Name + ": " + foldNames(OneLine(text)) + suffix
		rows = append(rows, begins)
		if f.Healed < 0 {
			continue
		}
		healed := row{at: f.Healed, who: "fault", what: strings.TrimSuffix(f.Name+" over: "+foldNames(OneLine(strings.Join(f.Targets, ", "))), ": "), weight: helpful}
		// An overstay begins at the end of a pause, and a late request arrives when its delay is over.
		if f.Pauses() || f.Healed >= s.begin() && f.Healed <= s.meets && slices.ContainsFunc(s.clients(), f.HoldsUp) {
			healed.weight = cause
		}
		rows = append(rows, healed)
	}
	return rows
}

// numbered are lists of at least four names, such as client-1.
var numbered = regexp.MustCompile(`\b[a-z]+-\d+(?:(?:, | and )[a-z]+-\d+){3,}`)

// foldNames shortens the lists of clients and servers in a text: "client-1, client-2, client-3, client-6" is "client-1 to 3, 6".
func foldNames(text string) string {
	return numbered.ReplaceAllStringFunc(text, func(list string) string {
		var folded []string
		names := strings.Split(strings.ReplaceAll(list, " and ", ", "), ", ")
		for len(names) > 0 {
			prefix, _, _ := strings.Cut(names[0], "-")
			n := 0
			var numbers []int
			for n < len(names) && strings.HasPrefix(names[n], prefix+"-") {
				number, _ := strconv.Atoi(strings.TrimPrefix(names[n], prefix+"-"))
				numbers = append(numbers, number)
				n++
			}
			folded = append(folded, prefix+"-"+ranges(numbers))
			names = names[n:]
		}
		return strings.Join(folded, ", ")
	})
}

// ranges writes numbers in their order: "1 to 3, 6".
func ranges(numbers []int) string {
	slices.Sort(numbers)
	var parts []string
	for i := 0; i < len(numbers); {
		last := i
		for last+1 < len(numbers) && numbers[last+1] <= numbers[last]+1 {
			last++
		}
		part := strconv.Itoa(numbers[i])
		switch {
		case last > i+1:
			part += " to " + strconv.Itoa(numbers[last])
		case last == i+1:
			part += ", " + strconv.Itoa(numbers[last])
		}
		parts, i = append(parts, part), last+1
	}
	return strings.Join(parts, ", ")
}
