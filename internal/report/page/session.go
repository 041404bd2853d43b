package page

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/locks"
)

// sessionBars are the bars of one session in a drawing: acquiring, holding, and the lease as its client knew it.
func (d *drawer) sessionBars(s *history.Session, in scale) []bar {
	h := d.h
	asked := h.At(s.Acquire.Invoke)
	ask := bar{Kind: "wait", from: asked.Time, to: d.end(), joins: !d.concerned(s), n: 1}
	if s.Acquire.Return >= 0 {
		ask.to = h.At(s.Acquire.Return).Time
	}
	end, why := report.HoldEnd(d.holds, s)
	if until := h.At(end).Time; ask.from > in.To || ask.joins && max(ask.to, until) < in.From {
		return nil // most sessions end here, without their texts
	}
	key := strings.Join(s.Keys, ", ")
	who := fmt.Sprintf("client %d, session %s", s.Client, s.Name)
	lines := func(a, b int) string {
		if b < 0 || b == a {
			return fmt.Sprintf("line %d", h.Line(a))
		}
		return fmt.Sprintf("lines %d and %d", h.Line(a), h.Line(b))
	}
	var answer string
	switch s.Acquire.Outcome {
	case history.Done:
		answer = " and gets it after " + took(ask.to-ask.from)
	case history.Failed:
		answer = fmt.Sprintf(" and is refused after %s: %s", took(ask.to-ask.from), report.OneLine(h.At(s.Acquire.Return).Error))
	default:
		ask.Kind, answer = "unknown", ", outcome unknown"
	}
	ask.Told = fmt.Sprintf("%s asks for %q%s\n%s", who, key, answer, lines(s.Acquire.Invoke, s.Acquire.Return))
	if s.Acquire.Outcome != history.Done {
		return in.inside([]bar{ask})
	}
	hold := bar{Kind: "held", from: ask.to, to: h.At(end).Time, joins: ask.joins, n: 1}
	hold.Told = fmt.Sprintf("%s holds %q from %s to %s (%s)\n%s", who, key, report.Stamp(hold.from), report.Stamp(hold.to), why, lines(s.Acquire.Return, end))
	lease, known := report.LeaseEnd(d.holds, s)
	if known {
		hold.Told += "\nits lease ends at " + report.Stamp(lease)
	}
	if slices.Contains(s.Keys, d.scene.Key) {
		hold.Kind = "hold"
	}
	bars := []bar{ask, hold}
	if d.concerned(s) {
		believed := bar{Kind: "belief", from: hold.from, to: lease, n: 1,
			Told: fmt.Sprintf("%s could believe that it held %q until its lease ended at %s", who, key, report.Stamp(lease))}
		if !known {
			believed.to = hold.to
			believed.Told = fmt.Sprintf("%s did not know the end of a lease and could believe that it held %q until its release", who, key)
		}
		bars = append(bars, believed)
	}
	return in.inside(append(bars, d.overlaps[s]...))
}

// findOverlaps finds the times in which another session held the key of the scene while the first holder did. A client
// holds from its grant to its call of release, also beyond its lease.
func (d *drawer) findOverlaps() {
	if d.overlaps = map[*history.Session][]bar{}; !d.paired || d.scene.Holders[0].Acquire.Return < 0 {
		return
	}
	first := d.scene.Holders[0]
	end, _ := report.HoldEnd(d.holds, first)
	for _, s := range d.h.Sessions {
		until, _ := report.HoldEnd(d.holds, s)
		if s == first || s.Acquire.Outcome != history.Done || s.Owner == first.Owner || !slices.Contains(s.Keys, d.scene.Key) ||
			s.Mode == locks.Shared && first.Mode == locks.Shared || s.Acquire.Return > end || until < first.Acquire.Return {
			continue
		}
		b := bar{Kind: "overlap", from: d.h.At(max(s.Acquire.Return, first.Acquire.Return)).Time, to: d.h.At(min(until, end)).Time, joins: !d.concerned(s), n: 1}
		b.Told = fmt.Sprintf("both hold %q: client %d and client %d, from %s to %s (%s)", d.scene.Key, first.Client, s.Client,
			report.Stamp(b.from), report.Stamp(b.to), took(b.to-b.from))
		d.overlaps[first], d.overlaps[s] = append(d.overlaps[first], b), append(d.overlaps[s], b)
	}
}
