package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"lockbench/internal/report"
)

// timeline is a drawing of a part of a history, with a lane for each fault, server and client.
type timeline struct {
	scale
	Caption string
	Lanes   []lane
	Bands   []bar // of faults, over all lanes
	Marks   []bar // times, as lines over all lanes
	Ticks   []bar // of the axis
	ID      string
	Height  int
	StoryID string // the element with the counterexample, if there is one
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
	Concerned bool // it is one of the two holders
	Bars      []bar
	Y, H      int
}

// bar is an interval on a lane, in shares of the width.
type bar struct {
	Kind  string // a key of shapes
	X, W  string // per cent
	Label string
	Told  string // the tooltip
	Y, H  int
	from  time.Duration
	to    time.Duration
	joins bool // may be joined with its neighbours
	n     int  // how many bars it stands for
}

// shapes are position and height of each kind of bar in its lane, and the name of several. Kinds differ in height and
// pattern, not in colour alone.
var shapes = map[string]struct {
	y, h int
	many string
}{
	"hold": {5, 14, "holds of the key"}, "held": {8, 8, "holds of other keys"}, "belief": {21, 3, ""},
	"wait": {11, 3, "attempts to get a lock"}, "unknown": {6, 12, "attempts of unknown outcome"},
	"overlap": {5, 14, "times in which two held"}, "fault": {4, 18, "faults"}, "band": {0, 0, "faults"}, "master": {6, 14, "times as the master"},
}

// Heights in pixels, and bounds.
const (
	laneHigh   = 26
	axisHigh   = 22
	clientsMax = 24
	// struckMax bounds the bars of a lane of faults. A cut that comes and goes is drawn as one bar.
	struckMax = 60
)

// draw makes the timeline from one time to another. If only is set, it has only these clients and the servers with
// faults.
func (d *drawer) draw(id string, from, to time.Duration, only map[int32]bool, barsMax int) *timeline {
	if to <= from {
		return nil
	}
	t := &timeline{ID: id, scale: scale{from, to}}
	t.Lanes = append(d.faultLanes(t.scale), d.serverLanes(t.scale, only != nil)...)
	for i := range t.Lanes {
		t.Lanes[i].Bars = fewBars(t.Lanes[i].Bars, t.scale)
		barsMax -= len(t.Lanes[i].Bars)
	}
	clients, left := d.clientLanes(t.scale, only)
	thin(clients, barsMax, t.scale)
	t.Lanes = append(t.Lanes, clients...)
	t.Bands = fewBars(d.bands(t.scale), t.scale)
	t.Caption = d.caption(t, left)
	t.place()
	if d.paired {
		t.Marks = append(t.Marks, bar{X: percent(t.at(d.h.At(d.scene.Meets).Time))})
	}
	ticksMax := 11
	if only != nil { // the small drawing
		ticksMax = 4
	}
	t.Ticks = t.ticks(ticksMax, report.Stamp)
	return t
}

// caption describes the timeline and what it leaves out.
func (d *drawer) caption(t *timeline, left int) string {
	events, joined := 0, 0
	for i := range d.h.Events {
		if at := d.h.Events[i].Time; at >= t.From && at <= t.To {
			events++
		}
	}
	for _, l := range t.Lanes {
		for _, b := range l.Bars {
			if b.n > 1 {
				joined += b.n
			}
		}
	}
	said := fmt.Sprintf("%s to %s of the run, %s", report.Stamp(t.From), report.Stamp(t.To), report.Plural(events, "event"))
	if joined > 0 {
		said += fmt.Sprintf("; thinned: %s that concern neither of the two holders are drawn together with their neighbours", report.Plural(joined, "bar"))
	}
	if left > 0 {
		said += fmt.Sprintf("; %s left out", report.Plural(left, "client"))
	}
	return said + "."
}

// join joins bars of one kind with less than gap between them. Bars of the two holders of the scene stay as they are.
func join(bars []bar, gap time.Duration) []bar {
	sorted := slices.Clone(bars)
	slices.SortStableFunc(sorted, func(a, b bar) int { return cmp.Compare(a.from, b.from) })
	var out []bar
	last := map[string]int{} // by kind: the last one that may be extended
	for _, b := range sorted {
		i, ok := last[b.Kind]
		if ok && b.joins && out[i].joins && b.from-out[i].to < gap {
			out[i].to = max(out[i].to, b.to)
			out[i].n += b.n
			out[i].Told = fmt.Sprintf("%d together, from %s to %s: %s", out[i].n, report.Stamp(out[i].from), report.Stamp(out[i].to), shapes[b.Kind].many)
			continue
		}
		if b.joins {
			last[b.Kind] = len(out)
		}
		out = append(out, b)
	}
	return out
}

// thin joins bars with growing gaps between them, until there are at most most.
func thin(lanes []lane, most int, s scale) {
	length := s.To - s.From
	for gap := length / 800; ; gap *= 2 {
		n := 0
		for i := range lanes {
			lanes[i].Bars = join(lanes[i].Bars, gap)
			n += len(lanes[i].Bars)
		}
		if n <= most || gap > length {
			return
		}
	}
}

// fewBars joins bars of faults if there are many.
func fewBars(bars []bar, s scale) []bar {
	if len(bars) <= struckMax {
		return bars
	}
	for i := range bars {
		bars[i].joins = true
	}
	one := []lane{{Bars: bars}}
	thin(one, struckMax, s)
	return one[0].Bars
}

// place computes the positions of all bars.
func (t *timeline) place() {
	y := axisHigh
	for i := range t.Lanes {
		l := &t.Lanes[i]
		l.Y, l.H = y, laneHigh
		for j := range l.Bars {
			b := &l.Bars[j]
			b.Y, b.H = l.Y+shapes[b.Kind].y, shapes[b.Kind].h
		}
		t.scale.place(l.Bars)
		y += laneHigh
	}
	t.Height = y + 4
	t.scale.place(t.Bands)
}

// scale maps times to shares of the width of a drawing.
type scale struct{ From, To time.Duration }

// at is the position of a time, in per cent.
func (s scale) at(when time.Duration) float64 {
	return math.Max(0, math.Min(100, 100*float64(when-s.From)/float64(s.To-s.From)))
}

// inside are the bars of which a part lies in the drawing.
func (s scale) inside(bars []bar) []bar {
	return slices.DeleteFunc(bars, func(b bar) bool { return b.to < s.From || b.from > s.To })
}

// place computes the positions of bars. Short bars are wide enough to be seen.
func (s scale) place(bars []bar) {
	for i := range bars {
		b := &bars[i]
		x := s.at(b.from)
		b.X, b.W = percent(x), percent(math.Max(s.at(b.to)-x, 0.08))
	}
}

// ticks are round times in the drawing, less than most.
func (s scale) ticks(most int, label func(time.Duration) string) []bar {
	var all []bar
	step := tickStep(s.To-s.From, most)
	for when := s.From.Truncate(step); when <= s.To; when += step {
		if when >= s.From {
			all = append(all, bar{X: percent(s.at(when)), Label: label(when)})
		}
	}
	return all
}

// tickStep is a round step for less than ticksMax ticks.
func tickStep(length time.Duration, ticksMax int) time.Duration {
	for step := time.Microsecond; ; step *= 10 {
		for _, m := range []time.Duration{1, 2, 5} {
			if int(length/(step*m)) < ticksMax {
				return step * m
			}
		}
	}
}

func percent(p float64) string { return strconv.FormatFloat(p, 'f', 3, 64) }
