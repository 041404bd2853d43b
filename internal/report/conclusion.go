package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/shellword"
	"lockbench/internal/stats"
)

// Conclusion sums up the table and its limits: finding nothing in three episodes is weak evidence. It leaves out
// controls, which test lockbench.
func (r *Result) Conclusion() string {
	fewest := 0 // episodes of the clean lock that had the fewest
	for l := range r.All() {
		if !l.Control() && l.Outcome() == Held && (fewest == 0 || l.Telling() < fewest) {
			fewest = l.Telling()
		}
	}
	var said []string
	say := func(of func(l *Lock) bool, before, after string) {
		var names []string
		for l := range r.All() {
			if !l.Control() && of(l) {
				names = append(names, l.Lock)
			}
		}
		if len(names) > 0 {
			said = append(said, before+strings.Join(names, ", ")+after)
		}
	}
	held := func(l *Lock) bool { return l.Outcome() == Held }
	broken := func(l *Lock) bool { return l.judged() && l.Verdict == checker.Violated && l.Outcome() != Overstayed }
	say(broken, "Not safe here: ", ".")
	// Overstay is a limit of all lease locks, so no other lease lock would be better.
	say(func(l *Lock) bool { return l.Outcome() == Overstayed && !l.Fenced() }, "Not safe here without a fence: ", " (overstay; no lease prevents it).")
	say((*Lock).Fenced, "Overstayed, but its fence kept the resource whole: ", ".")
	if r.undisturbed() {
		say(held, "Valid, undisturbed: ", "; the run had no faults, so it does not show their effect.")
	} else if fewest > 0 {
		_, high := stats.Bounds(0, fewest)
		more := 30
		if fewest >= more {
			more = 10 * fewest
		}
		_, narrower := stats.Bounds(0, more)
		say(held, "Nothing found: ", fmt.Sprintf("; 0 of %s still allows a rate of up to %s (95 %%); --episodes %d narrows that to %s.",
			Plural(fewest, "episode"), Percent(high), more, Percent(narrower)))
	} else {
		say(held, "Nothing found: ", ".")
	}
	say(func(l *Lock) bool { return l.Outcome() == Undecided }, "Undecided: ", ".")
	return strings.Join(said, " ")
}

// undisturbed reports whether the run left out all faults of the plan.
func (r *Result) undisturbed() bool {
	return len(r.Plan) > 0 && !slices.ContainsFunc(r.Plan, func(s history.PlanStep) bool { return s.NA == "" })
}

// Trouble is why the run cannot be trusted; it is empty if it can.
func (r *Result) Trouble() string {
	return strings.TrimSpace(controlTrouble(r) + " " + unordered(r))
}

// unordered reports elections of servers that no fault caused.
func unordered(r *Result) string {
	var u stats.Unordered
	broken := 0
	for l := range r.All() {
		u.Promotions += l.Unordered.Promotions
		u.Episodes += l.Unordered.Episodes
		if u.ViolatingEpisodes += l.Unordered.ViolatingEpisodes; !l.Control() {
			broken += l.ViolatingEpisodes
		}
	}
	if u.Promotions == 0 {
		return ""
	}
	text := fmt.Sprintf("%s that no fault ordered: this machine was too busy; ", Plural(u.Promotions, "promotion"))
	if u.ViolatingEpisodes == 0 {
		return text + "no episode with one enters a rate."
	}
	return text + fmt.Sprintf("%d of %d violating episodes had one, and enter no rate.", u.ViolatingEpisodes, broken)
}

// controlTrouble reports controls that are not as expected.
func controlTrouble(r *Result) string {
	var wrong []string
	for i := range r.Locks {
		if l := &r.Locks[i]; l.Control() && l.Odd() && l.Error == "" {
			wrong = append(wrong, fmt.Sprintf("%s is %s", l.Lock, l.Found()))
		}
	}
	if len(wrong) == 0 {
		return ""
	}
	return "A control is not as expected (" + strings.Join(wrong, ", ") + "): do not trust this run's other verdicts before that is explained."
}

// Heading is the result in a few words. A violation comes before "as expected", which does not mean that a lock
// is safe.
func (r *Result) Heading() string {
	words := Exits[r.ExitCode()].Words
	if n := r.Violated(); n > 0 && r.ExitCode() == ExitExpected {
		return Plural(n, "lock") + " violated, " + words
	}
	return words
}

// Violated counts the locks that were violated, without the controls.
func (r *Result) Violated() int {
	n := 0
	for l := range r.All() {
		if l.Verdict == checker.Violated && !l.Control() {
			n++
		}
	}
	return n
}

// ExitLine explains the exit code.
func (r *Result) ExitLine() string {
	code := r.ExitCode()
	var named, untested []string
	for l := range r.All() {
		if l.untested() {
			untested = append(untested, l.Lock)
		} else if l.ExitCode() == code {
			named = append(named, l.Lock)
		}
	}
	names := strings.Join(named, ", ")
	switch code {
	case ExitHarness:
		return "Exit 3: the harness failed: " + names + "."
	case ExitUnexpected:
		return "Exit 1: not as expected: " + names + "." + likes(r)
	case ExitUnknown:
		var parts []string
		if names != "" {
			parts = append(parts, "undecided: "+names)
		}
		if len(untested) > 0 {
			parts = append(parts, "not tested: "+strings.Join(untested, ", "))
		}
		if len(parts) == 0 && r.Interrupted {
			parts = append(parts, "stopped early")
		}
		return "Exit 2: " + cmp.Or(strings.Join(parts, "; "), "no lock could take part here") + "."
	}
	if r.Violated() > 0 {
		return "Exit 0: as expected. To fail on any violation: --expect valid"
	}
	return "Exit 0: as expected."
}

// likes names known locks with the same verdict as a user's lock that was not as expected.
func likes(r *Result) string {
	text := ""
	for i := range r.Locks {
		if l := &r.Locks[i]; l.Like != "" && !l.AsExpected {
			text += fmt.Sprintf(" The known lock %s does the same here; to expect that of %s as well: --like %s", l.Like, l.Lock, shellword.Quote(l.Lock+"="+l.Like))
		}
	}
	return text
}
