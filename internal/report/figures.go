package report

import (
	"fmt"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/stats"
)

// FiguresKey explains the columns of the figures.
const FiguresKey = "rate: violated of all episodes, with exact bounds (Clopper-Pearson, 95 %) · " +
	"to violation: median time from the beginning of an episode · lost of 1000: writes missing at the end · " +
	"acquire before, during, after: p50 / p99 before the first fault, during a fault, and at all other times · " +
	"overlap: how long two clients certainly held at once, p50 / max · " +
	"hand-over: from a release until a waiter has the lock, p50 / p99"

// FigureColumns are the table of the figures that the table of locks leaves out.
var FigureColumns = []Column{
	{"LOCK", false, func(l *Lock) string { return OneLine(l.Lock) }},
	figure("RATE (95 %)", func(l *Lock) string { return RateText(l.Rate) }),
	figure("TO VIOLATION", func(l *Lock) string {
		if after, ok := stats.Median(l.ViolationAfterS); ok {
			return Seconds(after)
		}
		return missing
	}),
	figure("LOST OF 1000", func(l *Lock) string {
		if l.Writes == 0 {
			return missing
		}
		return tenth(l.LostPerThousand)
	}),
	figure("GRANTS/S", func(l *Lock) string { return tenth(l.GrantsPerSecond) }),
	figure("ACQUIRE BEFORE", func(l *Lock) string {
		if len(l.AcquireMS) == 0 { // there was no fault
			return twoMillis(l.LatencyMS, history.Acquire)
		}
		return twoMillis(l.AcquireMS, stats.Before)
	}),
	figure("DURING", func(l *Lock) string { return twoMillis(l.AcquireMS, stats.During) }),
	figure("AFTER", func(l *Lock) string { return twoMillis(l.AcquireMS, stats.After) }),
	figure("OVERLAP", func(l *Lock) string {
		if o := l.OverlapMS; o != nil {
			return Millis(o.P50) + " / " + Millis(o.Max)
		}
		return missing
	}),
	figure("HAND-OVER", func(l *Lock) string { return twoMillis(l.LatencyMS, stats.Handoff) }),
}

// figure is a column with a figure. It has a dash for a lock that took no part.
func figure(title string, cell func(l *Lock) string) Column {
	return Column{title, true, func(l *Lock) string {
		if l.Unsupported != "" || l.Error != "" && l.Episodes == 0 {
			return missing
		}
		return cell(l)
	}}
}

// twoMillis are the median and the 99th percentile of a latency.
func twoMillis(all map[string]stats.Latency, name string) string {
	took, ok := all[name]
	if !ok {
		return missing
	}
	return Millis(took.P50) + " / " + Millis(took.P99)
}

// RateText is a rate with its bounds: "100 % (37..100)".
func RateText(r *stats.Rate) string {
	if r == nil {
		return missing
	}
	bare := func(share float64) string { return strings.TrimSuffix(Percent(share), " %") }
	return fmt.Sprintf("%s (%s..%s)", Percent(r.Rate), bare(r.Low), bare(r.High))
}

// tenth writes a figure with one decimal place, and from 100 on without.
func tenth(f float64) string { return strings.TrimSuffix(Seconds(f), " s") }
