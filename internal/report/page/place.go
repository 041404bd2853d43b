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
			out[i].Told = fmt.Sprintf("%d together, from %s to %s: %s", out[i].n, report.Stamp(out[i].from), report.Stamp(out[i].to), kindWords[b.Kind])
			continue
		}
		if b.joins {
			last[b.Kind] = len(out)
		}
		out = append(out, b)
	}
	return out
}

// atMost joins bars until there are at most most of them in a timeline of the given length.
func atMost(bars []bar, most int, length time.Duration) []bar {
	for gap := length / 800; len(bars) > most && gap <= 2*length; gap *= 2 {
		for i := range bars {
			bars[i].joins = true
		}
		bars = join(bars, gap)
	}
	return bars
}

// kindWords describe kinds of bars.
var kindWords = map[string]string{
	"hold": "holds of the key", "held": "holds of other keys", "wait": "attempts to get a lock", "unknown": "attempts of unknown outcome",
	"overlap": "times in which two held", "fault": "faults", "band": "faults", "master": "times as the master",
}

// place computes the positions of all bars.
func (d *drawer) place(t *timeline, ticksMax int) {
	whole := float64(t.To - t.From)
	at := func(when time.Duration) float64 {
		return math.Max(0, math.Min(100, 100*float64(when-t.From)/whole))
	}
	set := func(b *bar) {
		x := at(b.from)
		b.X, b.W = percent(x), percent(math.Max(at(b.to)-x, 0.08))
	}
	y := axisHigh
	for i := range t.Lanes {
		l := &t.Lanes[i]
		l.Y, l.H = y, laneHigh
		for j := range l.Bars {
			b := &l.Bars[j]
			set(b)
			b.Y, b.H = l.Y+shapes[b.Kind].y, shapes[b.Kind].h
		}
		y += laneHigh
	}
	t.Height = y + 4
	for i := range t.Bands {
		set(&t.Bands[i])
	}
	if d.paired {
		meets := d.h.At(d.scene.Meets).Time
		t.Marks = append(t.Marks, bar{X: percent(at(meets)), Label: "both hold"})
	}
	step := tickStep(t.To-t.From, ticksMax)
	for when := t.From.Truncate(step); when <= t.To; when += step {
		if when >= t.From {
			t.Ticks = append(t.Ticks, bar{X: percent(at(when)), Label: report.Stamp(when)})
		}
	}
}

// shapes are position and height of each kind of bar in its lane. Kinds differ in height and pattern, not in colour
// alone.
var shapes = map[string]struct{ y, h int }{
	"hold": {5, 14}, "held": {8, 8}, "wait": {11, 3}, "unknown": {6, 12}, "belief": {21, 3},
	"overlap": {5, 14}, "fault": {4, 18}, "master": {6, 14},
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
