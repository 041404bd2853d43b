package checker

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/history"
)

// harness checks that the run did what it promised. A run in which no client got the lock, or whose faults did not take effect,
// finds no violation of any lock and proves nothing. So this check turns valid into unknown, and never reports
// violated.
//
// The bounds in the header are the promise. A run without a grant after the last heal is unknown, unless liveness has shown
// that the lock refused its clients. The point in the header is a promise as well: see [Missed].
func harness(l *ledger, said Report) Result {
	var r Result
	h := l.h
	var why, notes []string
	if bounds := h.Header.Bounds; bounds != nil {
		live, _ := said.Check(Liveness)
		why = shortfalls(h, bounds, live.Verdict == Violated)
		if begun := len(h.Episodes); begun > 0 && begun < bounds.Episodes {
			notes = append(notes, fmt.Sprintf("%d of %d planned episodes were run", begun, bounds.Episodes))
		}
	}
	if len(why) > 0 {
		r.Verdict = Unknown
	}
	missed, note := pointless(h)
	if missed != "" {
		r.Verdict = Unknown
		why = append(why, missed)
	}
	if note != "" {
		notes = append(notes, note)
	}
	r.Note = strings.Join(notes, "; ")
	if h.Torn {
		why = append(why, "the history is cut off and was judged as far as it goes")
	}
	r.Why = strings.Join(why, "; ")
	return r
}

// shortfalls describes the promises that the run did not keep. starved means that liveness has shown why no client was granted
// the lock after the last heal.
func shortfalls(h *history.History, bounds *history.Bounds, starved bool) []string {
	if why := unreached(h); why != "" {
		return []string{why}
	}
	f := faults(h)
	var why []string
	short := func(have, want int, of string) {
		if have < want {
			why = append(why, fmt.Sprintf("%s: %d, expected at least %d", of, have, want))
		}
	}
	before, during, after := 0, 0, 0
	for _, s := range h.Sessions {
		if f.first <= s.Acquire.Invoke && s.Acquire.Invoke < f.last {
			during++
		}
		if s.Acquire.Outcome == history.Done {
			before += count(s.Acquire.Return < f.first)
			after += count(s.Acquire.Return > f.last)
		}
	}
	if len(f.seen) == 0 { // without faults, the whole run counts as before and as after
		short(before, max(bounds.GrantsBefore, bounds.GrantsAfter), "grants in the whole run")
	} else {
		short(before, bounds.GrantsBefore, "grants before the first fault")
		short(during, bounds.Attempts, "attempts while faults were in force")
		if !starved {
			short(after, bounds.GrantsAfter, "grants after the last heal")
		}
	}
	bites := 0
	for p := range f.seen {
		bites += count(p.episode != anyEpisode && p.phase == history.Bites)
	}
	if bounds.Bites > 0 && len(h.Header.Plan) > 0 && !slices.ContainsFunc(h.Header.Plan, func(s history.PlanStep) bool { return s.NA == "" }) {
		why = append(why, "no fault of this scenario concerns it")
	} else {
		short(bites, bounds.Bites, "faults that took effect")
	}
	return append(why, undone(h, f)...)
}

// unreached describes the errors of the clients if every acquire had an unknown outcome, as for a lock that cannot reach its
// servers.
func unreached(h *history.History) string {
	said, most := map[string]int{}, ""
	for _, s := range h.Sessions {
		if s.Acquire.Outcome != history.Maybe {
			return ""
		}
		if e := h.At(s.Acquire.Return); e != nil {
			text := strings.ReplaceAll(e.Error, " of session "+s.Name, "")
			if said[text]++; said[text] > said[most] {
				most = text
			}
		}
	}
	if most == "" {
		return ""
	}
	return fmt.Sprintf("all %d acquires ended unknown, %d of them with: %s", len(h.Sessions), said[most], most)
}

// undone describes the steps of the plan that failed, did not take effect, or did not heal.
func undone(h *history.History, f injected) []string {
	why := f.failures
	for _, step := range h.Header.Plan {
		// An episode that never began was not run at all: runs end between episodes
		// when their time is over. Those that ran must have done what was planned.
		if step.NA != "" || f.begun > 0 && step.Episode > f.begun {
			continue
		}
		var what string
		switch {
		case f.saw(step, history.Fails): // it is reported among the failures with its reason
			continue
		case !f.saw(step, history.Bites):
			what = "did not take effect"
		case !f.saw(step, history.Healed):
			what = "did not heal"
		default:
			continue
		}
		why = append(why, fmt.Sprintf("step %d of the plan (%s) %s", step.ID, stepName(step), what))
	}
	return why
}

func stepName(s history.PlanStep) string {
	name := s.Fault
	if len(s.Targets) > 0 {
		name += " " + strings.Join(s.Targets, ", ")
	}
	if s.Episode > 0 {
		name += fmt.Sprintf(", episode %d", s.Episode)
	}
	return name
}

// injected has the faults of the history.
type injected struct {
	seen     map[stepPhase]bool
	first    int // position of the first begins, or the end
	last     int // position of the last healed, or the end
	begun    int // the last episode that began; 0 if the history has no episodes
	failures []string
}

// stepPhase is a phase of a step of the plan in an episode. Episode 0 means before the first one, and anyEpisode all episodes
// together.
type stepPhase struct {
	step, episode int
	phase         string
}

const anyEpisode = -1

// saw reports whether a step of the plan reached a phase. A plan may number its steps from 1 in each episode. If the history has
// no episodes, the number identifies the step.
func (f injected) saw(s history.PlanStep, phase string) bool {
	if s.Episode == 0 {
		return f.seen[stepPhase{s.ID, anyEpisode, phase}]
	}
	return f.seen[stepPhase{s.ID, s.Episode, phase}] || f.seen[stepPhase{s.ID, 0, phase}]
}

// faults reads the events and not [history.History.Faults], which has only the last failure of each fault and joins begins with
// healed. faults reports every failure, and assigns a phase to the episode of its event, even if begins is missing:
//
//	episode 1   kill begins, bites              did not heal
//	episode 2                        healed     counts to a step of episode 2
func faults(h *history.History) injected {
	f := injected{seen: map[stepPhase]bool{}, first: len(h.Events), last: len(h.Events)}
	starts, episode := h.Episodes, 0
	for _, s := range starts {
		f.begun = max(f.begun, s.Number)
	}
	for _, pos := range h.Nemesis {
		e := &h.Events[pos]
		if e.Phase == "" {
			continue
		}
		for len(starts) > 0 && starts[0].At < pos {
			episode, starts = starts[0].Number, starts[1:]
		}
		f.seen[stepPhase{e.Step, episode, e.Phase}] = true
		f.seen[stepPhase{e.Step, anyEpisode, e.Phase}] = true
		switch e.Phase {
		case history.Begins:
			f.first = min(f.first, pos)
		case history.Healed:
			f.last = pos
		case history.Fails:
			text := fmt.Sprintf("fault %s failed at %s", e.F, seconds(e.Time))
			if e.Text != "" {
				text += ": " + e.Text
			}
			f.failures = append(f.failures, text)
		}
	}
	return f
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
