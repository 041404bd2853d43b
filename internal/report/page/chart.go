package page

import (
	"fmt"
	"math"
	"strings"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/stats"
)

// charts are the grants and the latency over the time of a run, in shares of width and height.
type charts struct {
	Grants                 string // the points of the filled area
	GrantsMax              string
	Latency                []line
	LatencyMax, LatencyMid string
	Bands                  []bar
	Ticks                  []bar
	Bin                    string // the length of one bin
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
	c := &charts{Grants: area + " 100,100", GrantsMax: report.Count(int(math.Round(most))), Ticks: s.ticks(11, report.Length),
		Bin: report.Length((s.To / binsN).Round(time.Millisecond))}
	c.latency(bins, s)
	c.Bands = fewBars(d.bands(s), s)
	s.place(c.Bands)
	return c
}

// latency draws the latency on a logarithmic scale of whole decades, because latency during a fault is a hundred times higher.
func (c *charts) latency(bins []stats.Bin, s scale) {
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
		c.Latency = append(c.Latency, line{kind, path.String()})
	}
	c.LatencyMax = took(time.Duration(math.Pow(10, high)))
	c.LatencyMid = took(time.Duration(math.Pow(10, (high+low)/2)))
}

func took(d time.Duration) string { return report.Millis(float64(d) / float64(time.Millisecond)) }
