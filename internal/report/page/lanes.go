package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
	"lockbench/internal/report"
)

// drawer makes timelines of one history.
type drawer struct {
	h        *history.History
	holds    *hold.Book
	scene    scene
	paired   bool  // the scene is about two holders
	faults   []bar // of h.Faults
	overlaps map[*history.Session][]bar
}

// end is the time of the last event.
func (d *drawer) end() time.Duration { return d.h.Events[len(d.h.Events)-1].Time }

// window is the scene with a margin, which shows its cause.
func (d *drawer) window(margin float64) (from, to time.Duration) {
	a, b := d.h.At(d.scene.From), d.h.At(max(d.scene.From, d.scene.To))
	if a == nil || b == nil {
		return 0, 0
	}
	from, to = a.Time, b.Time
	for _, f := range d.h.Faults {
		// A fault that began shortly before the scene belongs to it.
		if at := d.h.At(f.Begins).Time; at < from && from-at < (to-from)/4 && (f.Healed < 0 || f.Healed > d.scene.From) {
			from = at
		}
	}
	pad := max(time.Duration(float64(to-from)*margin), 2*time.Millisecond)
	return max(0, from-pad), min(to+pad, d.end()+1)
}

func (d *drawer) concerned(s *history.Session) bool { return slices.Contains(d.scene.Holders, s) }

// clientLanes has a lane for each client with sessions in the drawing. If there are too many, it leaves out the last
// ones, except for the holders of the scene.
func (d *drawer) clientLanes(s scale, only map[int32]bool) (lanes []lane, left int) {
	all := map[int32]*lane{}
	for _, session := range d.h.Sessions {
		if only != nil && !only[session.Client] {
			continue
		}
		bars := d.sessionBars(session, s)
		if len(bars) == 0 {
			continue
		}
		l := all[session.Client]
		if l == nil {
			l = &lane{Name: fmt.Sprintf("client %d", session.Client)}
			all[session.Client] = l
		}
		l.Bars = append(l.Bars, bars...)
		l.Concerned = l.Concerned || d.concerned(session)
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		l := all[id]
		if len(lanes) >= clientsMax && !l.Concerned {
			left++
			continue
		}
		for i, f := range d.h.Faults {
			if f.Strikes(id) {
				b := d.faults[i]
				b.Label = "" // holds would lie over it, and the lane of the fault has it
				l.Bars = append(l.Bars, s.inside([]bar{b})...)
			}
		}
		lanes = append(lanes, *l)
	}
	return lanes, left
}

// faultBars are the bars of all faults.
func faultBars(h *history.History) []bar {
	var all []bar
	for _, f := range h.Faults {
		b := bar{Kind: "fault", from: h.At(f.Begins).Time, to: h.Events[len(h.Events)-1].Time, n: 1, Label: report.OneLine(f.Name)}
		b.Told = fmt.Sprintf("%s: %s\nbegins %s (line %d)", f.Name, report.OneLine(f.Text), report.Stamp(b.from), h.Line(f.Begins))
		if f.Bites >= 0 {
			b.Told += fmt.Sprintf("\nin effect %s (line %d)", report.Stamp(h.At(f.Bites).Time), h.Line(f.Bites))
		} else {
			b.Told += "\nnot seen to take effect"
		}
		if f.Healed >= 0 {
			b.to = h.At(f.Healed).Time
			b.Told += fmt.Sprintf("\nhealed %s (line %d)", report.Stamp(b.to), h.Line(f.Healed))
		}
		all = append(all, b)
	}
	return all
}

// bands are the faults in a drawing, for its background.
func (d *drawer) bands(s scale) []bar {
	all := s.inside(slices.Clone(d.faults))
	for i := range all {
		all[i].Kind = "band"
	}
	return all
}

// faultLanes has a lane for each kind of fault.
func (d *drawer) faultLanes(s scale) []lane {
	var lanes []lane
	for i, f := range d.h.Faults {
		b := d.faults[i]
		b.Label = report.OneLine(cmp.Or(f.Text, f.Name))
		at := slices.IndexFunc(lanes, func(l lane) bool { return l.Name == f.Name })
		if at < 0 {
			at = len(lanes)
			lanes = append(lanes, lane{Name: f.Name})
		}
		lanes[at].Bars = append(lanes[at].Bars, s.inside([]bar{b})...)
	}
	return slices.DeleteFunc(lanes, func(l lane) bool { return len(l.Bars) == 0 })
}

// serverLanes has a lane for each server with a fault or a change of role and, without struckOnly, for each server that
// granted.
func (d *drawer) serverLanes(s scale, struckOnly bool) []lane {
	bars := d.roles()
	for i, f := range d.h.Faults {
		for _, target := range f.Targets {
			if !history.ParseParty(target).IsClient() {
				bars[target] = append(bars[target], d.faults[i])
			}
		}
	}
	granted := map[string]bool{}
	for _, session := range d.h.Sessions {
		if e := d.h.At(session.Acquire.Return); e != nil && e.Node != "" && !struckOnly {
			for name := range strings.SplitSeq(e.Node, ",") {
				granted[name] = true
				if bars[name] == nil {
					bars[name] = []bar{}
				}
			}
		}
	}
	var lanes []lane
	for name, all := range bars {
		slices.SortStableFunc(all, func(x, y bar) int { return cmp.Compare(x.from, y.from) })
		if all = s.inside(all); len(all) > 0 || granted[name] {
			lanes = append(lanes, lane{Name: name, Bars: all})
		}
	}
	slices.SortFunc(lanes, func(a, b lane) int { return cmp.Or(len(a.Name)-len(b.Name), cmp.Compare(a.Name, b.Name)) })
	return lanes
}

// roles are the times in which probes saw a node as the master, by node. A node is the master until another one is.
func (d *drawer) roles() map[string][]bar {
	all := map[string][]bar{}
	last := ""
	for _, pos := range d.h.Probes {
		seen := d.h.Events[pos].Facts.Promoted
		if seen == nil {
			continue
		}
		now := d.h.Events[pos].Time
		if bars := all[last]; d.h.Header.Topology != "cluster" && len(bars) > 0 { // a cluster has several at once
			bars[len(bars)-1].to = min(bars[len(bars)-1].to, now)
		}
		if last = seen.Node; last != "" {
			all[last] = append(all[last], bar{Kind: "master", from: now, to: d.end(), n: 1, Label: "master",
				Told: fmt.Sprintf("%s is the master from %s\nline %d", last, report.Stamp(now), d.h.Line(pos))})
		}
	}
	return all
}
