package campaign

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/stats"
)

// AcceptanceFile has all worlds of an acceptance side by side.
const AcceptanceFile = "acceptance.md"

// Outcome is what came out, in a few words.
func (a *Campaign) Outcome() string {
	if code := a.ExitCode(); code != report.ExitUnknown {
		return outcomes[code]
	}
	for _, w := range a.Worlds {
		for _, s := range w.Rows {
			if len(s.Odd) > 0 {
				return "undecided in part"
			}
		}
	}
	return "as expected as far as it ran, and not all was run"
}

// Counts tells how much of what was asked for was run and was as expected.
func (a *Campaign) Counts() string {
	asked, ran, good, unable := 0, 0, 0, 0
	for _, w := range a.Worlds {
		for _, s := range w.Rows {
			if s.Unable() != "" {
				unable++
				continue
			}
			asked, ran, good = asked+s.Asked-s.Elsewhere, ran+len(s.Runs), good+s.asExpected()
		}
	}
	text := fmt.Sprintf("%s asked for, %s run, %s of these as expected", report.Plural(asked, "run"), report.Count(ran), report.Count(good))
	if unable > 0 {
		text += fmt.Sprintf("; %s beyond what its world can do", report.Plural(unable, "scenario"))
	}
	return text
}

// acceptance writes acceptance.md: the table, what is not as expected with the command
// that repeats it, what was not run, and the figures behind it.
func (a *Campaign) acceptance(w io.Writer) error {
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

func (a *Campaign) table(b *strings.Builder) {
	fmt.Fprint(b, "| scenario |")
	for _, w := range a.Worlds {
		fmt.Fprintf(b, " [%s](%s/%s) |", w.World, w.World, PageFile)
	}
	fmt.Fprintf(b, "\n| --- |%s\n", strings.Repeat(" --- |", len(a.Worlds)))
	for _, row := range a.rows()[1:] {
		fmt.Fprintf(b, "| %s |", report.MarkdownText(row[0]))
		for _, cell := range row[1:] {
			fmt.Fprintf(b, " %s |", cell)
		}
		fmt.Fprint(b, "\n")
	}
	fmt.Fprint(b, "\n"+acceptanceKey+"\n\n")
}

// acceptanceKey ends the table.
const acceptanceKey = "Runs as expected, of those that were run. ✓ all that was asked for · ✗ not as expected · … not all was run · – the world cannot"

// rows are those of the table: the scenarios with what came out in each world.
func (a *Campaign) rows() [][]string {
	head := []string{"scenario"}
	var names []string
	for _, w := range a.Worlds {
		head = append(head, w.World)
		for _, s := range w.Rows {
			if !slices.Contains(names, s.Scenario) {
				names = append(names, s.Scenario)
			}
		}
	}
	all := [][]string{head}
	for _, name := range names {
		row := []string{name}
		for _, w := range a.Worlds {
			cell := ""
			if i := slices.IndexFunc(w.Rows, func(s Row) bool { return s.Scenario == name }); i >= 0 {
				cell = w.Rows[i].cell()
			}
			row = append(row, cell)
		}
		all = append(all, row)
	}
	return all
}

// cell is a scenario in one world, in a few words.
func (s *Row) cell() string {
	text := fmt.Sprintf("%d of %d", s.asExpected(), len(s.Runs))
	switch {
	case s.Unable() != "":
		return "–"
	case len(s.Runs) == 0:
		return fmt.Sprintf("… 0 of %d run", s.Asked)
	case len(s.Odd)+len(s.Rates) > 0:
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
		text += fmt.Sprintf(", %d not run", s.Asked-len(s.Runs))
	}
	return text
}

// origins says when and where each world ran and with which lockbench, where the head
// of the page does not: an acceptance may be put together from several, and may have
// gone on with another lockbench than it began with.
func (a *Campaign) origins(b *strings.Builder) {
	var lines []string
	differ := false
	for _, w := range a.Worlds {
		if w.Started.IsZero() {
			continue
		}
		m := matrix{&w, a}
		lines = append(lines, fmt.Sprintf("- world %s: begun %s · %s · %s", w.World, stamp(w.Started), report.MarkdownText(m.machine()), report.MarkdownText(m.program())))
		differ = differ || m.machine() != a.Machine || m.program() != a.Program
	}
	if differ {
		section(b, "When, where and with what", lines)
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func (a *Campaign) odd(b *strings.Builder) {
	var lines []string
	for _, w := range a.Worlds {
		for _, s := range w.Rows {
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

func (a *Campaign) notRun(b *strings.Builder) {
	var lines []string
	for _, w := range a.Worlds {
		if w.Missing != "" {
			lines = append(lines, fmt.Sprintf("- world %s: %s", w.World, report.MarkdownText(w.Missing)))
		}
		var left gathered
		for _, s := range w.Rows {
			switch {
			case s.Unable() != "":
				lines = append(lines, fmt.Sprintf("- %s, world %s cannot: %s", s.Scenario, w.World, report.MarkdownText(s.Unable())))
			case !s.whole() && s.NotRun != w.Missing:
				left.add(fmt.Sprintf("%d of %s: %s", s.Asked-len(s.Runs), report.Plural(s.Asked, "run"), report.MarkdownText(s.NotRun)), s.Scenario)
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

func (a *Campaign) controls(b *strings.Builder) {
	var lines []string
	for _, w := range a.Worlds {
		var names []string
		runs, violated := map[string]int{}, map[string]int{}
		for i := range w.Rows {
			for _, l := range w.Rows[i].ranLocks() {
				if l.Control() {
					if !slices.Contains(names, l.Lock) {
						names = append(names, l.Lock)
					}
					n, broke := w.Rows[i].control(l.Lock)
					runs[l.Lock] += n
					violated[l.Lock] += broke
				}
			}
		}
		for _, name := range names {
			lines = append(lines, fmt.Sprintf("- %s, world %s: violated in %d of %s", report.MarkdownText(name), w.World, violated[name], report.Plural(runs[name], "run")))
		}
	}
	section(b, "Controls: no-lock must always be caught, the others never", lines)
}

// ranLocks are the locks of a row that the world could run.
func (r *Row) ranLocks() []*report.Lock {
	var all []*report.Lock
	for i := range r.Result.Locks {
		if l := &r.Result.Locks[i]; len(r.Runs) > 0 && l.Unsupported == "" {
			all = append(all, l)
		}
	}
	return all
}

// detection is how often a lock that a scenario expects to break was caught.
func (a *Campaign) detection(b *strings.Builder) {
	var lines []string
	for _, w := range a.Worlds {
		for i := range w.Rows {
			for _, l := range w.Rows[i].ranLocks() {
				if l.Episodes == 0 || !strings.Contains(l.Expected, checker.Violated.String()) {
					continue
				}
				after := "–"
				if median, ok := stats.Median(l.ViolationAfterS); ok {
					after = report.Seconds(median)
				}
				lines = append(lines, fmt.Sprintf("| %s | %s | %s | %d of %d | %s |", w.Rows[i].Scenario, report.MarkdownText(l.Lock), w.World, l.ViolatingEpisodes, l.Episodes, after))
			}
		}
	}
	if len(lines) > 0 {
		lines = append([]string{"| scenario | lock | world | caught in episodes | first violation after (median) |", "| --- | --- | --- | --- | --- |"}, lines...)
	}
	section(b, "Detection: locks that are expected to break", lines)
}

func (a *Campaign) left(b *strings.Builder) {
	var lines []string
	for _, w := range a.Worlds {
		var left gathered
		for _, s := range w.Rows {
			for _, l := range s.Result.Locks {
				if l.Unsupported != "" {
					left.add(l.Lock+": "+report.OneLine(l.Unsupported), s.Scenario)
				}
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
