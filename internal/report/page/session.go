package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/locks"
)

// sessionBars are the bars of one session: acquiring, holding, and the lease as its client knew it.
func (d *drawer) sessionBars(s *history.Session) []bar {
	h := d.h
	key := strings.Join(s.Keys, ", ")
	ours, told := slices.Contains(s.Keys, d.scene.Key), d.concerned(s)
	who := fmt.Sprintf("client %d, session %s", s.Client, s.Name)
	asked := h.At(s.Acquire.Invoke)
	answered := asked.Time
	if s.Acquire.Return >= 0 {
		answered = h.At(s.Acquire.Return).Time
	}
	lines := func(a, b int) string {
		if b < 0 || b == a {
			return fmt.Sprintf("line %d", h.Line(a))
		}
		return fmt.Sprintf("lines %d and %d", h.Line(a), h.Line(b))
	}
	var bars []bar
	ask := bar{Kind: "wait", from: asked.Time, to: answered, joins: !told, n: 1}
	switch s.Acquire.Outcome {
	case history.Done:
		ask.Told = fmt.Sprintf("%s asks for %q and gets it after %s\n%s", who, key, took(answered-asked.Time), lines(s.Acquire.Invoke, s.Acquire.Return))
	case history.Failed:
		ask.Told = fmt.Sprintf("%s asks for %q and is refused after %s: %s\n%s", who, key, took(answered-asked.Time),
			report.OneLine(h.At(s.Acquire.Return).Error), lines(s.Acquire.Invoke, s.Acquire.Return))
	default:
		ask.Kind = "unknown"
		ask.Told = fmt.Sprintf("%s asks for %q, outcome unknown\n%s", who, key, lines(s.Acquire.Invoke, s.Acquire.Return))
		if s.Acquire.Return < 0 {
			ask.to = h.Events[len(h.Events)-1].Time
		}
	}
	bars = append(bars, ask)
	if s.Acquire.Outcome != history.Done {
		return bars
	}
	end, why := report.HoldEnd(h, s)
	hold := bar{Kind: "held", from: answered, to: h.At(end).Time, joins: !told, n: 1}
	if ours {
		hold.Kind = "hold"
	}
	hold.Told = fmt.Sprintf("%s holds %q from %s to %s (%s)\n%s", who, key, report.Stamp(hold.from), report.Stamp(hold.to), why, lines(s.Acquire.Return, end))
	lease, known := report.LeaseEnd(d.holds, s)
	if known {
		hold.Told += "\nits lease ends at " + report.Stamp(lease)
	}
	if ours {
		hold.Told += "\n" + rawEvent(h, s.Acquire.Return)
	}
	bars = append(bars, hold)
	if told {
		believed := bar{Kind: "belief", from: answered, to: lease, n: 1,
			Told: fmt.Sprintf("%s could believe that it held %q until its lease ended at %s", who, key, report.Stamp(lease))}
		if !known {
			believed.to = hold.to
			believed.Told = fmt.Sprintf("%s did not know the end of a lease and could believe that it held %q until its release", who, key)
		}
		bars = append(bars, believed)
	}
	return append(bars, d.overlapBars(s, who)...)
}

// overlapBars are the times in which a session held the key of the scene together with the first holder. The first
// holder has all of them.
func (d *drawer) overlapBars(s *history.Session, who string) []bar {
	if !d.paired || !slices.Contains(s.Keys, d.scene.Key) {
		return nil
	}
	var bars []bar
	for _, other := range d.met {
		if s != d.scene.Holders[0] && s != other.with {
			continue
		}
		told := fmt.Sprintf("both hold %q: client %d and client %d, from %s to %s (%s)", d.scene.Key, d.scene.Holders[0].Client, other.with.Client,
			report.Stamp(other.from), report.Stamp(other.to), took(other.to-other.from))
		bars = append(bars, bar{Kind: "overlap", from: other.from, to: other.to, joins: !d.concerned(other.with), n: 1, Told: told})
	}
	return bars
}

// meeting is a time in which another session held the key while the first holder did.
type meeting struct {
	with     *history.Session
	from, to time.Duration
}

// meetings are all meetings. A client holds from its grant to its call of release, also beyond its lease.
func (d *drawer) meetings() []meeting {
	if !d.paired {
		return nil
	}
	first := d.scene.Holders[0]
	if first.Acquire.Return < 0 {
		return nil
	}
	end, _ := report.HoldEnd(d.h, first)
	var all []meeting
	for _, s := range d.h.Sessions {
		if s == first || s.Acquire.Outcome != history.Done || s.Owner == first.Owner || !slices.Contains(s.Keys, d.scene.Key) ||
			s.Mode == locks.Shared && first.Mode == locks.Shared || s.Acquire.Return > end {
			continue
		}
		until, _ := report.HoldEnd(d.h, s)
		if until < first.Acquire.Return {
			continue
		}
		all = append(all, meeting{s, d.h.At(max(s.Acquire.Return, first.Acquire.Return)).Time, d.h.At(min(until, end)).Time})
	}
	return all
}
