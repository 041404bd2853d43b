package page

import (
	"fmt"
	"strings"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/stats"
)

// notShown are the limits of the results.
func notShown(r *report.Result) []string {
	var said []string
	fewest := 0
	for i := range r.Locks {
		if l := &r.Locks[i]; l.Verdict == checker.Valid && l.Unsupported == "" && l.Error == "" && l.Episodes > 0 && (fewest == 0 || l.Episodes < fewest) {
			fewest = l.Episodes
		}
	}
	if fewest > 0 {
		_, high := stats.Bounds(0, fewest)
		said = append(said, fmt.Sprintf("valid means that nothing was found, never that a lock is safe: 0 of %s still allows a rate of up to %s (95 %%).",
			report.Plural(fewest, "episode"), report.Percent(high)))
	}
	said = append(said, "Only the faults of this plan were tested, at the times that were drawn from this seed.")
	if r.WorldCaveat != "" {
		said = append(said, r.WorldCaveat)
	}
	for l := range r.All() {
		if l.Unsupported != "" {
			said = append(said, l.Lock+" took no part: "+report.OneLine(l.Unsupported)+".")
		}
		for _, c := range l.Checks {
			if c.Note != "" && c.Name == "exclusion" {
				said = append(said, l.Lock+": "+report.OneLine(c.Note)+".")
			}
		}
	}
	outage := "outage is the longest time in which clients tried and none got a lock. " + r.ServersCaveat
	return append(said, strings.TrimSpace(outage))
}

// provenance is the origin of the figures.
func provenance(r *report.Result) [][2]string {
	rows := [][2]string{{"scenario", r.Scenario}, {"seed", fmt.Sprint(r.Seed)}, {"world", r.World}}
	add := func(name, text string) {
		if text != "" {
			rows = append(rows, [2]string{name, text})
		}
	}
	add("servers", r.WorldAbout)
	add("program", r.Program)
	add("machine", r.Machine)
	if !r.Started.IsZero() {
		add("begun", r.Started.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	add("took", report.Seconds(r.DurationS))
	add("command", r.Again)
	return rows
}
