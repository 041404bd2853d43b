package report

import (
	"fmt"
	"strconv"
	"strings"

	"lockbench/internal/stats"
)

// FiguresTitles head the columns of Lock.Cells.
var FiguresTitles = []string{"LOCK", "RATE (95 %)", "TO VIOLATION", "LOST OF 1000", "GRANTS/S",
	"ACQUIRE P50/P99 BEFORE", "DURING", "AFTER", "OVERLAP P50/MAX"}

// Cells are the figures of a lock that the table of locks leaves out. A dash stands for a missing figure.
func (l *Lock) Cells() []string {
	const none = "-"
	cells := []string{OneLine(l.Lock), none, none, none, none, none, none, none, none}
	if l.Unsupported != "" || l.Acquires.OK+l.Acquires.Fail+l.Acquires.Info == 0 {
		return cells
	}
	cells[1] = RateText(l.Rate)
	if after, ok := stats.Median(l.ViolationAfterS); ok {
		cells[2] = Seconds(after)
	}
	if l.Writes > 0 {
		cells[3] = tenth(l.LostPerThousand)
	}
	cells[4] = tenth(l.GrantsPerSecond)
	for i, phase := range stats.Phases {
		took, ok := l.AcquireMS[phase]
		if !ok && phase == stats.Before && len(l.AcquireMS) == 0 {
			took, ok = l.LatencyMS["acquire"] // there was no fault
		}
		if ok {
			cells[5+i] = Millis(took.P50) + " / " + Millis(took.P99)
		}
	}
	if o := l.OverlapMS; o != nil {
		cells[8] = Millis(o.P50) + " / " + Millis(o.Max)
	}
	return cells
}

// RateText is a rate with its bounds: "100 % (37..100)".
func RateText(r *stats.Rate) string {
	if r == nil {
		return "-"
	}
	bare := func(share float64) string { return strings.TrimSuffix(Percent(share), " %") }
	return fmt.Sprintf("%s (%s..%s)", Percent(r.Rate), bare(r.Low), bare(r.High))
}

// tenth writes a figure with one decimal place, and from 100 on without.
func tenth(f float64) string {
	if f >= 99.95 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}
