package acceptance

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lockbench/internal/matrix"
	"lockbench/internal/report"
)

// Outcome is what came out, in a few words.
func (a *Acceptance) Outcome() string {
	switch a.ExitCode() {
	case report.ExitExpected:
		return "as expected"
	case report.ExitUnexpected:
		return "not as expected"
	case report.ExitHarness:
		return "the harness failed in part"
	}
	for _, w := range a.Worlds {
		for _, s := range w.Scenarios {
			if len(s.Odd) > 0 {
				return "undecided in part"
			}
		}
	}
	return "as expected as far as it ran, and not all was run"
}

// Counts tells how much of what was asked for was run and was as expected.
func (a *Acceptance) Counts() string {
	asked, ran, good, unable := 0, 0, 0, 0
	for _, w := range a.Worlds {
		for _, s := range w.Scenarios {
			if s.Unable != "" {
				unable++
				continue
			}
			asked, ran, good = asked+s.Asked, ran+s.Ran, good+s.AsExpected
		}
	}
	text := fmt.Sprintf("%s asked for, %d run, %d of these as expected", report.Plural(asked, "run"), ran, good)
	if unable > 0 {
		text += fmt.Sprintf("; %s beyond what its world can do", report.Plural(unable, "scenario"))
	}
	return text
}

// summary writes acceptance.md: the table, what is not as expected with the command
// that repeats it, what was not run, and the figures behind it.
func (a *Acceptance) summary(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# lockbench acceptance: %s\n\n%s. Seeds from %d · %s · %s · %s\n\n", a.Outcome(), a.Counts(), a.Seed,
		report.MarkdownText(a.Machine), report.MarkdownText(a.Program), stamp(a.Started))
	a.table(&b)
	a.origins(&b)
	a.odd(&b)
	a.notRun(&b)
	a.controls(&b)
	a.detection(&b)
	a.left(&b)
	fmt.Fprintf(&b, "## Once more\n\nAnew: `%s`\n\nWhat is missing: `%s`\n", a.Again, a.Resume())
	_, err := io.WriteString(w, b.String())
	return err
}

// Resume is the command that goes on with this acceptance.
func (a *Acceptance) Resume() string {
	dir := a.Dir
	if strings.ContainsAny(dir, " '\"$\\*?&;()") {
		dir = "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	}
	return "lockbench acceptance --resume " + dir
}

func (a *Acceptance) table(b *strings.Builder) {
	var names []string
	fmt.Fprint(b, "| scenario |")
	for _, w := range a.Worlds {
		fmt.Fprintf(b, " [%s](%s/%s) |", w.World, w.World, matrix.PageFile)
		for _, s := range w.Scenarios {
			if !slices.Contains(names, s.Scenario) {
				names = append(names, s.Scenario)
			}
		}
	}
	fmt.Fprintf(b, "\n| --- |%s\n", strings.Repeat(" --- |", len(a.Worlds)))
	for _, name := range names {
		fmt.Fprintf(b, "| %s |", report.MarkdownText(name))
		for _, w := range a.Worlds {
			i := slices.IndexFunc(w.Scenarios, func(s Scenario) bool { return s.Scenario == name })
			if i < 0 {
				fmt.Fprint(b, "  |")
				continue
			}
			fmt.Fprintf(b, " %s |", w.Scenarios[i].cell())
		}
		fmt.Fprint(b, "\n")
	}
	fmt.Fprint(b, "\nRuns as expected, of those that were run. ✓ all that was asked for · ✗ not as expected · … not all was run · – the world cannot\n\n")
}

// cell is a scenario in one world, in a few words.
func (s *Scenario) cell() string {
	text := fmt.Sprintf("%d of %d", s.AsExpected, s.Ran)
	switch {
	case s.Unable != "":
		return "–"
	case s.Ran == 0:
		return fmt.Sprintf("… 0 of %d run", s.Asked)
	case !s.asExpected():
		text = "✗ " + text
	case s.whole():
		return "✓ " + text
	default:
		text = "… " + text
	}
	if len(s.Rates) > 0 {
		text += ", rate"
	}
	if !s.whole() {
		text += fmt.Sprintf(", %d not run", s.Asked-s.Ran)
	}
	return text
}

// origins says when and where each world ran and with which lockbench, where the head
// of the page does not: an acceptance may be put together from several, and may have
// gone on with another lockbench than it began with.
func (a *Acceptance) origins(b *strings.Builder) {
	var lines []string
	differ := false
	for _, w := range a.Worlds {
		if w.Started.IsZero() {
			continue
		}
		lines = append(lines, fmt.Sprintf("- world %s: begun %s · %s · %s", w.World, stamp(w.Started),
			report.MarkdownText(w.Machine), report.MarkdownText(strings.Join(w.Programs, "; "))))
		differ = differ || w.Machine != a.Machine || len(w.Programs) != 1 || w.Programs[0] != a.Program
	}
	if differ {
		section(b, "When, where and with what", lines)
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func (a *Acceptance) odd(b *strings.Builder) {
	var lines []string
	for _, w := range a.Worlds {
		for _, s := range w.Scenarios {
			for _, rate := range s.Rates {
				lines = append(lines, fmt.Sprintf("- %s, world %s, all seeds together: %s", s.Scenario, w.World, report.MarkdownText(rate)))
			}
			for _, o := range s.Odd {
				lines = append(lines, fmt.Sprintf("- %s, world %s, [seed %d](%s), %s: %s\n  `%s`", s.Scenario, w.World, o.Seed,
					strings.ReplaceAll(o.Dir, " ", "%20")+"/"+report.SummaryFile, report.MarkdownText(o.Lock), report.MarkdownText(o.Text), o.Again))
			}
		}
	}
	section(b, "Not as expected, each with the command that repeats it", lines)
}

func (a *Acceptance) notRun(b *strings.Builder) {
	var lines []string
	for _, w := range a.Worlds {
		if w.Missing != "" {
			lines = append(lines, fmt.Sprintf("- world %s: %s", w.World, report.MarkdownText(w.Missing)))
		}
		var left gathered
		for _, s := range w.Scenarios {
			switch {
			case s.Unable != "":
				lines = append(lines, fmt.Sprintf("- %s, world %s cannot: %s", s.Scenario, w.World, report.MarkdownText(s.Unable)))
			case !s.whole() && s.NotRun != w.Missing:
				left.add(fmt.Sprintf("%d of %s: %s", s.Asked-s.Ran, report.Plural(s.Asked, "run"), report.MarkdownText(s.NotRun)), s.Scenario)
			}
		}
		for _, what := range left.order {
			names := left.scenarios[what]
			if len(names) > 1 {
				what = "of each " + what
			}
			lines = append(lines, fmt.Sprintf("- %s, world %s: %s", strings.Join(names, ", "), w.World, what))
		}
	}
	section(b, "Not run", lines)
}

func (a *Acceptance) controls(b *strings.Builder) {
	var lines []string
	for _, w := range a.Worlds {
		for _, c := range w.Controls {
			lines = append(lines, fmt.Sprintf("- %s, world %s: violated in %d of %s", report.MarkdownText(c.Lock), w.World, c.Violated, report.Plural(c.Runs, "run")))
		}
	}
	section(b, "Controls: no-lock must always be caught, the others never", lines)
}

func (a *Acceptance) detection(b *strings.Builder) {
	var lines []string
	for _, w := range a.Worlds {
		for _, d := range w.Detection {
			after := "–"
			if d.AfterS != nil {
				after = report.Seconds(*d.AfterS)
			}
			lines = append(lines, fmt.Sprintf("| %s | %s | %s | %d of %d | %s |", d.Scenario, report.MarkdownText(d.Lock), w.World, d.Caught, d.Episodes, after))
		}
	}
	if len(lines) > 0 {
		lines = append([]string{"| scenario | lock | world | caught in episodes | first violation after (median) |", "| --- | --- | --- | --- | --- |"}, lines...)
	}
	section(b, "Detection: locks that are expected to break", lines)
}

func (a *Acceptance) left(b *strings.Builder) {
	var lines []string
	for _, w := range a.Worlds {
		var left gathered
		for _, s := range w.Scenarios {
			for _, why := range s.Left {
				left.add(why, s.Scenario)
			}
		}
		for _, why := range left.order {
			lines = append(lines, fmt.Sprintf("- world %s, %s (%s)", w.World, report.MarkdownText(why), strings.Join(left.scenarios[why], ", ")))
		}
	}
	section(b, "Locks that a world cannot run", lines)
}

// gathered are the scenarios of which the same can be said: of dozens it would be read
// dozens of times. The order is that of what was said first.
type gathered struct {
	order     []string
	scenarios map[string][]string
}

func (g *gathered) add(what, scenario string) {
	if g.scenarios == nil {
		g.scenarios = map[string][]string{}
	}
	if g.scenarios[what] == nil {
		g.order = append(g.order, what)
	}
	g.scenarios[what] = append(g.scenarios[what], scenario)
}

func section(b *strings.Builder, title string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(b, "## %s\n\n%s\n\n", title, strings.Join(lines, "\n"))
	}
}
