package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/history"
)

// Law 5: the verdict on a history is the worst verdict on its parts. The test splits a history by keys, and keeps keys
// that one request names in the same part. Each part has its own sessions and the events that concern the whole run:
// faults, deaths, and the facts of probes, except facts about sessions of other parts.
//
// The checks harness and rate count across all keys and are skipped. Facts about servers (residue) are in each part, and
// count once. Three checks are unknown if none of their observations is useful. One useful observation decides the whole
// history, so a part can be unknown while the whole is valid:
//
//	fairness  the queue was probed, but no waiting client was seen in it
//	lease     servers reported the remaining lease of grants, but never while they were held
//	fencing   the lock claims tokens, but no grant has one
//
// A part may lack a lost-wake-up of the whole, because the only sign that the client had reconnected after a fault may
// be an answer about a key of another part.
//
// The check linearizable judges one finding of exclusion, or a history without leases; see [searchedParts].
func TestParts(t *testing.T) {
	split := 0
	holds(t, func(h *history.History, _ *rand.Rand) string {
		all := parts(h)
		if len(all) < 2 {
			return ""
		}
		split++
		whole := Judge(h, Options{})
		var reports []Report
		for _, events := range all {
			part, err := history.Build(h.Header, events)
			if err != nil {
				return "malformed: " + err.Error()
			}
			reports = append(reports, Judge(part, Options{}))
		}
		for i, c := range whole.Checks {
			var broken string
			switch c.Name {
			case Harness, Rate:
			case Linearizable:
				broken = searchedParts(h, whole, reports)
			default:
				broken = sumOfParts(h, c, i, reports)
			}
			if broken != "" {
				return broken
			}
		}
		return ""
	})
	if split < 500 {
		t.Errorf("only %d histories had several parts", split)
	}
}

func sumOfParts(h *history.History, whole Result, i int, parts []Report) string {
	worst, lost, broken, reconnected := Valid, 0, false, false
	var found []string
	for _, p := range parts {
		c := p.Checks[i]
		worst, lost, broken = max(worst, c.Verdict), lost+c.LostUpdates, broken || c.Broken != ""
		for _, f := range c.Findings {
			text := foundAs(c.Name, f, seen{others: h})
			if f.Rule == "residue" && slices.Contains(found, text) {
				continue
			}
			found = append(found, text)
		}
	}
	var want []string
	for _, f := range whole.Findings {
		want = append(want, foundAs(whole.Name, f, seen{others: h}))
	}
	want = slices.DeleteFunc(want, func(text string) bool {
		elsewhere := strings.HasPrefix(text, "lost-wake-up") && !slices.Contains(found, text)
		reconnected = reconnected || elsewhere
		return elsewhere
	})
	one := whole.Name == Fairness || whole.Name == Lease || whole.Name == Fencing
	undecided := one && whole.Verdict == Valid && worst == Unknown
	if broken := difference(want, found); broken != "" {
		return fmt.Sprintf("%s in parts %s", whole.Name, broken)
	}
	if worst != whole.Verdict && !undecided && !reconnected || lost != whole.LostUpdates || broken != (whole.Broken != "") {
		return fmt.Sprintf("%s: the whole is %s and the worst part %s\n%d updates lost and %d, broken %q and %t", whole.Name, whole.Verdict, worst, whole.LostUpdates, lost, whole.Broken, broken)
	}
	return ""
}

// searchedParts compares the results of linearizable. If the history has a double grant, the result for the whole is that
// for the part with the first double grant. Otherwise linearizable judges all keys, unless the history has leases or
// too many operations. It then does not judge the whole, although it may judge a part.
func searchedParts(h *history.History, whole Report, parts []Report) string {
	c, _ := whole.Check(Linearizable)
	x, _ := whole.Check(Exclusion)
	first := firstDoubleGrant(x)
	worst, found := Valid, []string(nil)
	for _, p := range parts {
		part, _ := p.Check(c.Name)
		exclusion, _ := p.Check(x.Name)
		if first != nil {
			// If two double grants for different keys have the same event, either is valid.
			if own := firstDoubleGrant(exclusion); own == nil || own.Event != first.Event || own.Key != first.Key {
				continue
			}
		}
		worst = max(worst, part.Verdict)
		for _, f := range part.Findings {
			found = append(found, foundAs(c.Name, f, seen{others: h}))
		}
	}
	var want []string
	for _, f := range c.Findings {
		want = append(want, foundAs(c.Name, f, seen{others: h}))
	}
	if first == nil && strings.HasPrefix(c.Note, "not judged") {
		if c.Verdict != Valid {
			return "linearizable judges what it says it does not"
		}
		return ""
	}
	if broken := difference(want, found); broken != "" {
		return "linearizable in parts " + broken
	}
	if worst != c.Verdict {
		return fmt.Sprintf("linearizable: the whole is %s and the worst part %s", c.Verdict, worst)
	}
	return ""
}

// parts splits the events of a history. They keep their indexes.
func parts(h *history.History) [][]history.Event {
	component := map[string]string{} // by key: the key that represents its part
	var find func(string) string
	find = func(key string) string {
		if up, ok := component[key]; ok && up != key {
			return find(up)
		}
		component[key] = key
		return key
	}
	for _, s := range h.Sessions {
		for _, key := range s.Keys {
			component[find(key)] = find(s.Keys[0])
		}
	}
	of := map[string]string{} // by session
	var names []string
	for _, s := range h.Sessions {
		of[s.Name] = find(s.Keys[0])
		if !slices.Contains(names, of[s.Name]) {
			names = append(names, of[s.Name])
		}
	}
	var all [][]history.Event
	for _, name := range names {
		looks := map[history.Process]bool{} // final reads of this part's resources that have not returned
		var events []history.Event
		for _, e := range h.Events {
			switch {
			case e.Process == history.Probe:
				e = about(e, func(session string) bool { p, ok := of[session]; return !ok || p == name })
			case e.Process == history.Nemesis || e.F == history.Died:
			case e.Session != "" && of[e.Session] != name:
				continue
			case e.Session == "": // a final read
				if e.Type == history.Invoke {
					looks[e.Process] = find(e.Key) == name
				}
				if !looks[e.Process] {
					continue
				}
			}
			events = append(events, e)
		}
		// A pause without an end lasts as long as the history.
		last := h.Events[len(h.Events)-1]
		if len(events) == 0 || events[len(events)-1].Index < last.Index {
			e := probe(said{})
			e.Index, e.Time = last.Index, last.Time
			events = append(events, e)
		}
		all = append(all, events)
	}
	return all
}

// about removes facts about sessions of other parts from the event of a probe.
func about(e history.Event, ours func(session string) bool) history.Event {
	s := heard(&e)
	switch {
	case s.kept != "" && !ours(s.kept):
		s = said{}
	case s.queued != nil:
		s.queued = slices.DeleteFunc(slices.Clone(s.queued), func(name string) bool { return !ours(name) })
	}
	other := probe(s)
	other.Index, other.Time = e.Index, e.Time
	return other
}
