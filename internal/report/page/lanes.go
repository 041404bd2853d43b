package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
	"lockbench/internal/report"
)

// timeline is a drawing of a part of a history, with a lane for each fault, server and client.
type timeline struct {
	From, To time.Duration
	Caption  string
	Lanes    []lane
	Bands    []bar // of faults, over all lanes
	Marks    []bar // times, as lines over all lanes
	Ticks    []bar // of the axis
	ID       string
	Height   int
	StoryID  string // the element with the counterexample, if there is one
}

// toldBy links a timeline to its counterexample. t may be nil.
func (t *timeline) toldBy(story string) {
	if t != nil {
		t.StoryID = story
	}
}

// Says describes the timeline for screen readers.
func (t *timeline) Says() string {
	said := fmt.Sprintf("Timeline of %s, from %s to %s of the run, with faults, holds and attempts as bars",
		report.Plural(len(t.Lanes), "lane"), report.Stamp(t.From), report.Stamp(t.To))
	if t.StoryID != "" {
		said += "; the counterexample has the same in words"
	}
	return said + "."
}

// lane is one row of a timeline.
type lane struct {
	Name      string
	Note      string // its role, or that it is one of the two
	Concerned bool
	Bars      []bar
	Y         int
	H         int
}

// bar is an interval on a lane, in shares of the width.
type bar struct {
	Kind  string // hold, held (another key), wait, unknown, belief, overlap, fault, band, master
	X, W  string // per cent
	Label string
	Told  string // the tooltip
	Y, H  int
	from  time.Duration
	to    time.Duration
	joins bool // may be joined with its neighbours
	n     int  // how many bars it stands for
}

// Heights in pixels, and bounds.
const (
	laneHigh   = 26
	axisHigh   = 22
	clientsMax = 24
	// struckMax bounds the bars of a lane of faults. A cut that comes and goes is drawn as one bar.
	struckMax = 60
)

// drawer makes timelines of one history.
type drawer struct {
	h      *history.History
	holds  *hold.Book
	scene  scene
	paired bool // the scene is about two holders
	faults []history.Fault
	met    []meeting
}

// window is the scene with a margin, which shows its cause.
func (d *drawer) window(margin float64) (from, to time.Duration) {
	a, b := d.h.At(d.scene.From), d.h.At(max(d.scene.From, d.scene.To))
	if a == nil || b == nil {
		return 0, 0
	}
	from, to = a.Time, b.Time
	for _, f := range d.faults {
		// A fault that began shortly before the scene belongs to it.
		if at := d.h.At(f.Begins).Time; at < from && from-at < (to-from)/4 && (f.Healed < 0 || f.Healed > d.scene.From) {
			from = at
		}
	}
	pad := max(time.Duration(float64(to-from)*margin), 2*time.Millisecond)
	return max(0, from-pad), min(to+pad, d.h.Events[len(d.h.Events)-1].Time+1)
}

// draw makes the timeline from one time to another. If only is set, it has only these clients and the servers with
// faults.
func (d *drawer) draw(id string, from, to time.Duration, only map[int32]bool, barsMax int) *timeline {
	if to <= from {
		return nil
	}
	t := &timeline{ID: id, From: from, To: to}
	t.Lanes = append(t.Lanes, d.faultLanes(t)...)
	t.Lanes = append(t.Lanes, d.nodeLanes(t, only != nil)...)
	clients, left := d.clients(t, only)
	fixed, struck := 0, 0
	for i := range t.Lanes {
		l := &t.Lanes[i]
		before := len(l.Bars)
		if l.Bars = atMost(l.Bars, struckMax, to-from); len(l.Bars) < before {
			struck += before
		}
		fixed += len(l.Bars)
	}
	t.Bands = atMost(t.Bands, struckMax, to-from)
	raw := make([]lane, len(clients))
	for i, c := range clients {
		raw[i] = d.clientLane(t, c)
	}
	joined, total := 0, 0
	gap := (to - from) / 800
	for ; ; gap *= 2 {
		lanes := make([]lane, len(raw))
		n := fixed
		joined, total = 0, 0
		for i, l := range raw {
			l.Bars = join(l.Bars, gap)
			lanes[i] = l
			n += len(l.Bars)
			for _, b := range l.Bars {
				total += b.n
				if b.n > 1 {
					joined += b.n
				}
			}
		}
		if n <= barsMax || gap > to-from {
			t.Lanes = append(t.Lanes, lanes...)
			break
		}
	}
	t.Caption = d.caption(t, joined, total, struck, left, gap)
	ticksMax := 11
	if only != nil { // the small drawing
		ticksMax = 4
	}
	d.place(t, ticksMax)
	return t
}

// caption describes the timeline and what it leaves out.
func (d *drawer) caption(t *timeline, joined, total, struck, left int, gap time.Duration) string {
	events := 0
	for i := range d.h.Events {
		if at := d.h.Events[i].Time; at >= t.From && at <= t.To {
			events++
		}
	}
	said := fmt.Sprintf("%s to %s of the run, %s", report.Stamp(t.From), report.Stamp(t.To), report.Plural(events, "event"))
	if joined > 0 {
		said += fmt.Sprintf("; thinned: %s of %s that concern neither of the two holders are drawn together with neighbours less than %s apart",
			report.Count(joined), report.Plural(total, "bar"), report.Length(gap))
	}
	if struck > 0 {
		said += fmt.Sprintf("; thinned: %s of faults and roles are drawn together where they are close to each other", report.Plural(struck, "bar"))
	}
	if left > 0 {
		said += fmt.Sprintf("; %s with no part in it left out", report.Plural(left, "client"))
	}
	return said + "."
}

func (d *drawer) concerned(s *history.Session) bool { return slices.Contains(d.scene.Holders, s) }

// clients are the clients with sessions in the timeline, the holders of the scene first if there are too many.
func (d *drawer) clients(t *timeline, only map[int32]bool) (ids []int32, left int) {
	busy := map[int32]int{} // weights by client
	for _, s := range d.h.Sessions {
		if only != nil && !only[s.Client] {
			continue
		}
		end, _ := report.HoldEnd(d.h, s)
		if s.Acquire.Outcome != history.Done {
			end = max(s.Acquire.Return, s.Acquire.Invoke)
		}
		if d.h.At(s.Acquire.Invoke).Time > t.To || d.h.At(end).Time < t.From {
			continue
		}
		weight := 1
		if slices.Contains(s.Keys, d.scene.Key) {
			weight = 2
		}
		if d.concerned(s) {
			weight = 1 << 20
		}
		busy[s.Client] += weight
	}
	for id := range busy {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int32) int { return cmp.Or(busy[b]-busy[a], int(a-b)) })
	if len(ids) > clientsMax {
		left = len(ids) - clientsMax
		ids = ids[:clientsMax]
	}
	slices.Sort(ids)
	return ids, left
}

func (d *drawer) clientLane(t *timeline, id int32) lane {
	l := lane{Name: fmt.Sprintf("client %d", id)}
	var overlaps []bar
	for _, s := range d.h.Sessions {
		if s.Client != id {
			continue
		}
		bars := d.sessionBars(s)
		for _, b := range bars {
			if b.to < t.From || b.from > t.To {
				continue
			}
			if b.Kind == "overlap" {
				overlaps = append(overlaps, b)
				continue
			}
			l.Bars = append(l.Bars, b)
		}
		l.Concerned = l.Concerned || d.concerned(s)
	}
	for _, f := range d.faults {
		if !f.Strikes(id) {
			continue
		}
		if b, ok := d.struck(t, f); ok {
			l.Bars = append(l.Bars, b)
		}
	}
	l.Bars = append(l.Bars, overlaps...) // on top
	return l
}

// rawEvent is the line of an event in the history.
func rawEvent(h *history.History, pos int) string {
	line, err := history.AppendEvent(nil, h.At(pos))
	if err != nil {
		return ""
	}
	const most = 300
	return strings.ToValidUTF8(string(line[:min(len(line), most)]), "")
}

func took(d time.Duration) string { return report.Millis(float64(d) / float64(time.Millisecond)) }

// struck is the bar of a fault in a timeline.
func (d *drawer) struck(t *timeline, f history.Fault) (bar, bool) {
	from, to := d.h.At(f.Begins).Time, d.h.Events[len(d.h.Events)-1].Time
	if f.Healed >= 0 {
		to = d.h.At(f.Healed).Time
	}
	if to < t.From || from > t.To {
		return bar{}, false
	}
	b := bar{Kind: "fault", from: from, to: to, n: 1, Label: report.OneLine(f.Name)}
	b.Told = fmt.Sprintf("%s: %s\nbegins %s (line %d)", f.Name, report.OneLine(f.Text), report.Stamp(from), d.h.Line(f.Begins))
	if f.Bites >= 0 {
		b.Told += fmt.Sprintf("\nin effect %s (line %d)", report.Stamp(d.h.At(f.Bites).Time), d.h.Line(f.Bites))
	} else {
		b.Told += "\nnot seen to take effect"
	}
	if f.Healed >= 0 {
		b.Told += fmt.Sprintf("\nhealed %s (line %d)", report.Stamp(to), d.h.Line(f.Healed))
	}
	b.Told += "\n" + rawEvent(d.h, cmp.Or(max(f.Bites, 0), f.Begins))
	return b, true
}

// faultLanes has a lane for each kind of fault.
func (d *drawer) faultLanes(t *timeline) []lane {
	var lanes []lane
	for _, f := range d.faults {
		b, ok := d.struck(t, f)
		if !ok {
			continue
		}
		band := b
		band.Kind, band.Told = "band", ""
		t.Bands = append(t.Bands, band)
		i := slices.IndexFunc(lanes, func(l lane) bool { return l.Name == f.Name })
		if i < 0 {
			i = len(lanes)
			lanes = append(lanes, lane{Name: f.Name, Note: "fault"})
		}
		if f.Text != "" {
			b.Label = report.OneLine(f.Text)
		}
		lanes[i].Bars = append(lanes[i].Bars, b)
	}
	return lanes
}

// nodeLanes has a lane for each server with a fault or a change of role and, without struckOnly, for each server that
// granted.
func (d *drawer) nodeLanes(t *timeline, struckOnly bool) []lane {
	bars := map[string][]bar{}
	for _, r := range d.roles() {
		if r.to < t.From || r.from > t.To {
			continue
		}
		bars[r.node] = append(bars[r.node], bar{Kind: "master", from: r.from, to: r.to, n: 1, Label: "master",
			Told: fmt.Sprintf("%s is the master from %s\nline %d", r.node, report.Stamp(r.from), d.h.Line(r.at))})
	}
	for _, f := range d.faults {
		b, ok := d.struck(t, f)
		if !ok {
			continue
		}
		for _, target := range f.Targets {
			if !history.ParseParty(target).IsClient() {
				bars[target] = append(bars[target], b)
			}
		}
	}
	if !struckOnly {
		for _, n := range d.grantedBy() {
			if _, ok := bars[n]; !ok {
				bars[n] = nil
			}
		}
	}
	var lanes []lane
	for name, b := range bars {
		slices.SortStableFunc(b, func(x, y bar) int { return cmp.Compare(x.from, y.from) })
		lanes = append(lanes, lane{Name: name, Note: "server", Bars: b})
	}
	slices.SortFunc(lanes, func(a, b lane) int { return cmp.Or(len(a.Name)-len(b.Name), cmp.Compare(a.Name, b.Name)) })
	return lanes
}

// grantedBy are the servers that granted, by the history.
func (d *drawer) grantedBy() []string {
	seen := map[string]bool{}
	var names []string
	for _, s := range d.h.Sessions {
		e := d.h.At(s.Acquire.Return)
		if e == nil || e.Node == "" {
			continue
		}
		for _, n := range strings.Split(e.Node, ",") {
			if !seen[n] {
				seen[n] = true
				names = append(names, n)
			}
		}
	}
	return names
}

// role is a time in which probes saw a node as the master.
type role struct {
	node     string
	from, to time.Duration
	at       int
}

// roles are the roles in the history. A node is the master until another one is.
func (d *drawer) roles() []role {
	var all []role
	end := d.h.Events[len(d.h.Events)-1].Time
	for _, pos := range d.h.Probes {
		seen := d.h.Events[pos].Facts.Promoted
		if seen == nil {
			continue
		}
		now := d.h.Events[pos].Time
		if d.h.Header.Topology != "cluster" && len(all) > 0 { // a cluster has several at once
			all[len(all)-1].to = now
		}
		if seen.Node != "" {
			all = append(all, role{seen.Node, now, end, pos})
		}
	}
	return all
}
