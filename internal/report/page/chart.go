package page

import (
	"fmt"
	"math"
	"strings"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/stats"
)

// charts are the grants and the latency over the time of a run.
type charts struct {
	Grants, Latency chart
	Bands           []bar
	Ticks           []bar
	Bin             string // the length of one bin
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

func newCharts(d *drawer) *charts {
	bins := stats.Series(d.h, binsN)
	if len(bins) == 0 {
		return nil
	}
	most := 0.0
	for _, b := range bins {
		most = max(most, b.GrantsPerSecond())
	}
	if most == 0 {
		return nil
	}
	s := scale{To: bins[len(bins)-1].To}
	area := "0,100"
	for _, b := range bins {
		y := 100 - 100*b.GrantsPerSecond()/most
		area += fmt.Sprintf(" %.2f,%.2f %.2f,%.2f", s.at(b.From), y, s.at(b.To), y)
	}
	c := &charts{Bin: report.Length((s.To / binsN).Round(time.Millisecond)), Latency: latencyChart(bins, s), Ticks: s.ticks(11, report.Length)}
	c.Grants = chart{Area: area + " 100,100", Max: report.Count(int(math.Round(most))), Mid: report.Count(int(math.Round(most / 2)))}
	c.Bands = fewBars(d.bands(s), s)
	s.place(c.Bands)
	return c
}

// latencyChart has a logarithmic scale of whole decades, because latency during a fault is a hundred times higher.
func latencyChart(bins []stats.Bin, s scale) chart {
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
			fmt.Fprintf(&path, "%s%.2f,%.2fL%.2f,%.2f", pen, s.at(b.From), y(d), s.at(b.To), y(d))
			pen = "L"
		}
		c.Lines = append(c.Lines, line{kind, path.String()})
	}
	c.Max = took(time.Duration(math.Pow(10, high)))
	c.Mid = took(time.Duration(math.Pow(10, (high+low)/2)))
	return c
}

func took(d time.Duration) string { return report.Millis(float64(d) / float64(time.Millisecond)) }
