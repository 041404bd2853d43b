package page

import (
	"fmt"
	"math"
	"strings"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/stats"
)

// charts are the grants and the latency over the time of a run.
type charts struct {
	Grants, Latency chart
	Bands           []bar
	Ticks           []bar
	Bin             string // the length of one bin
	Together        bool   // some bands stand for several faults
}

// chart is a chart in shares of its width and height.
type chart struct {
	Area  string // the points of the filled area
	Lines []line
	Max   string
	Mid   string
}

type line struct{ Kind, Points string }

// binsN is the number of bins, for the width of a screen.
const binsN = 160

func newCharts(h *history.History, faults []history.Fault) *charts {
	bins := stats.Series(h, binsN)
	if len(bins) == 0 {
		return nil
	}
	end := bins[len(bins)-1].To
	x := func(at time.Duration) float64 { return 100 * float64(at) / float64(end) }
	c := &charts{Bin: report.Length((end / binsN).Round(time.Millisecond))}
	most := 0.0
	for _, b := range bins {
		most = max(most, b.GrantsPerSecond())
	}
	if most == 0 {
		return nil
	}
	area := "0,100"
	for _, b := range bins {
		y := 100 - 100*b.GrantsPerSecond()/most
		area += fmt.Sprintf(" %.2f,%.2f %.2f,%.2f", x(b.From), y, x(b.To), y)
	}
	c.Grants = chart{Area: area + " 100,100", Max: report.Count(int(math.Round(most))), Mid: report.Count(int(math.Round(most / 2)))}
	c.Latency = latencyChart(bins, x)
	for _, f := range faults {
		to := end
		if f.Healed >= 0 {
			to = h.At(f.Healed).Time
		}
		from := h.At(f.Begins).Time
		c.Bands = append(c.Bands, bar{Kind: "band", from: from, to: to, n: 1,
			Told: fmt.Sprintf("%s: %s\n%s to %s", f.Name, report.OneLine(f.Text), report.Stamp(from), report.Stamp(to))})
	}
	c.Bands = atMost(c.Bands, struckMax, end)
	c.Together = len(c.Bands) < len(faults)
	for i := range c.Bands {
		b := &c.Bands[i]
		b.X, b.W = percent(x(b.from)), percent(max(x(b.to)-x(b.from), 0.1))
	}
	step := tickStep(end, 11)
	for at := time.Duration(0); at <= end; at += step {
		c.Ticks = append(c.Ticks, bar{X: percent(x(at)), Label: report.Length(at)})
	}
	return c
}

// latencyChart has a logarithmic scale of whole decades, because latency during a fault is a hundred times higher.
func latencyChart(bins []stats.Bin, x func(time.Duration) float64) chart {
	low, high := math.Inf(1), 0.0
	for _, b := range bins {
		if b.Grants > 0 {
			low, high = min(low, float64(max(b.P50, 10*time.Microsecond))), max(high, float64(b.P99))
		}
	}
	low = math.Floor(math.Log10(low))
	high = max(math.Ceil(math.Log10(max(high, 1))), low+1)
	y := func(d time.Duration) float64 {
		return 100 - 100*(math.Log10(float64(max(d, 10*time.Microsecond)))-low)/(high-low)
	}
	var c chart
	for _, kind := range []string{"p50", "p99"} {
		var path strings.Builder
		pen := "M"
		for _, b := range bins {
			if b.Grants == 0 { // a gap, because there was no grant
				pen = "M"
				continue
			}
			d := b.P50
			if kind == "p99" {
				d = b.P99
			}
			fmt.Fprintf(&path, "%s%.2f,%.2fL%.2f,%.2f", pen, x(b.From), y(d), x(b.To), y(d))
			pen = "L"
		}
		c.Lines = append(c.Lines, line{kind, path.String()})
	}
	c.Max = took(time.Duration(math.Pow(10, high)))
	c.Mid = took(time.Duration(math.Pow(10, (high+low)/2)))
	return c
}
