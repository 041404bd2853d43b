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

// timeline is a stretch of a history with a lane for each that took part.
type timeline struct {
	From, To time.Duration
	Caption  string
	Lanes    []lane
	Bands    []bar // of faults, over all lanes
	Marks    []bar // moments, as lines over all lanes
	Ticks    []bar // of the axis
	ID       string
	Height   int
	StoryID  string // the story that tells the same in words, if there is one
}

// toldBy names the story beside a timeline, if there is a timeline.
func (t *timeline) toldBy(story string) {
	if t != nil {
		t.StoryID = story
	}
}

// Says is the timeline in one sentence, for whoever does not see it.
func (t *timeline) Says() string {
	said := fmt.Sprintf("Timeline of %s, from %s to %s of the run, with faults, holds and attempts as bars",
		report.Plural(len(t.Lanes), "lane"), report.Stamp(t.From), report.Stamp(t.To))
	if t.StoryID != "" {
		said += "; the story tells the same in words"
	}
	return said + "."
}

// lane is one row of it.
type lane struct {
	Name      string
	Note      string // its role, or that it is one of the two
	Concerned bool
	Bars      []bar
	Y         int
	H         int
}

// bar is something on a lane, in shares of the width.
type bar struct {
	Kind  string // hold, held (another key), wait, unknown, belief, overlap, fault, band, master
	X, W  string // per cent
	Label string
	Told  string // for the hover: who, what, from when until when, and the lines
	Y, H  int
	from  time.Duration
	to    time.Duration
	joins bool // may be put together with its neighbours
	n     int  // how many it stands for
}

// What a lane and its parts are high, in pixels.
const (
	laneHigh   = 26
	axisHigh   = 22
	clientsMax = 24
	// struckMax is how many bars a lane of faults has at most: a cut that comes and goes all
	// the time is one long bar for whoever looks.
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

// window is what is drawn: the scene with a margin, so that one sees what led to it.
func (d *drawer) window(margin float64) (from, to time.Duration) {
	a, b := d.h.At(d.scene.From), d.h.At(max(d.scene.From, d.scene.To))
	if a == nil || b == nil {
		return 0, 0
	}
	from, to = a.Time, b.Time
	for _, f := range d.faults {
		// What is in force when it begins belongs to it, if it struck shortly before.
		if at := d.h.At(f.Begins).Time; at < from && from-at < (to-from)/4 && (f.Healed < 0 || f.Healed > d.scene.From) {
			from = at
		}
	}
	pad := max(time.Duration(float64(to-from)*margin), 2*time.Millisecond)
	return max(0, from-pad), min(to+pad, d.h.Events[len(d.h.Events)-1].Time+1)
}

// draw makes the timeline of a stretch; with only set, of these clients alone and the
// nodes that were struck.
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

// caption says what was left out.
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

// clients are those that have something in the stretch, the two of the scene in any case.
func (d *drawer) clients(t *timeline, only map[int32]bool) (ids []int32, left int) {
	busy := map[int32]int{} // how much it has to do with it
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

// rawEvent is the line of the history itself.
func rawEvent(h *history.History, pos int) string {
	line, err := history.AppendEvent(nil, h.At(pos))
	if err != nil {
		return ""
	}
	const most = 300
	return strings.ToValidUTF8(string(line[:min(len(line), most)]), "")
}

func took(d time.Duration) string { return report.Millis(float64(d) / float64(time.Millisecond)) }

// struck is the bar of a fault in a stretch.
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

// faultLanes are one for each name of a fault, above all others.
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

// nodeLanes are those of the servers that were struck or changed their role; with
// struckOnly only of those.
func (d *drawer) nodeLanes(t *timeline, struckOnly bool) []lane {
	bars := map[string][]bar{}
	for _, r := range d.roles() {
		if r.to < t.From || r.from > t.To {
			continue
		}
		bars[r.node] = append(bars[r.node], bar{Kind: "master", from: r.from, to: r.to, n: 1, Label: "master",
			Told: fmt.Sprintf("%s is seen as the master from %s\nline %d", r.node, report.Stamp(r.from), d.h.Line(r.at))})
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

// grantedBy are the servers that the history names as granting.
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

// role is a time in which a node was seen as the master.
type role struct {
	node     string
	from, to time.Duration
	at       int
}

// roles follow the probes: a node is the master until another one is.
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
