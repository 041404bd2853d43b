package page

import (
	"cmp"
	"fmt"
	"io/fs"
	"strings"

	"lockbench/internal/report"
)

// view is the data of the template.
type view struct {
	Parts
	Title      string
	Outcome    string // as expected, not as expected, ...
	OutcomeKey string // the class of its colour
	Facts      []string
	Lead       string // the conclusion
	Trouble    string
	Stopped    bool
	Exit       string
	Again      string
	AgainNote  string
	About      string
	Table      table
	Figures    table
	FiguresKey string
	Locks      []Lock
	NotShown   []string
	Program    string
	Machine    string
	Scenario   string // its YAML
	Files      []link
	Live       bool   // the run goes on, and the page reloads itself
	Ended      string // how a run without a result ended
}

// table is a table of the page.
type table struct {
	Titles []head
	Rows   []tableRow
}

type head struct {
	Text  string
	Right bool
}

type tableRow struct {
	Href  string
	Key   string
	Cells []cell
}

type cell struct {
	Text  string
	More  string // the class of a verdict, which is below the verdict on narrow screens
	Right bool
}

// newTable makes a table of the locks.
func newTable(r *report.Result, columns []report.Column) table {
	var t table
	for _, c := range columns {
		t.Titles = append(t.Titles, head{strings.ToLower(cmp.Or(c.Title, "expected")), c.Right})
	}
	for l := range r.All() {
		row := tableRow{Href: "#" + Anchor(l.Lock), Key: l.Outcome().Look().Color}
		for _, c := range columns {
			text, more := c.Cell(l), ""
			if c.Title == report.VerdictTitle {
				text, more = l.Outcome().Look().Word, l.ShownClass()
			}
			row.Cells = append(row.Cells, cell{text, more, c.Right})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// newView makes the page of a result. locks are the parts of its locks.
func newView(folder fs.FS, r *report.Result, locks []Lock) *view {
	code := r.ExitCode()
	if code == report.ExitExpected && r.Violated() > 0 {
		code = report.ExitUnexpected // an expected violation is still a violation
	}
	v := &view{
		Parts: Shared(), Title: r.Scenario, Outcome: r.Heading(), OutcomeKey: report.Exits[code].Color,
		Lead: r.Conclusion(), Trouble: r.Trouble(), Stopped: r.Interrupted, Exit: r.ExitLine(),
		Again: r.Again, About: strings.Join(strings.Fields(r.About), " "),
		Scenario: textOf(folder, report.ScenarioFile),
		Files:    files(folder, report.ScenarioFile, report.PlanFile, report.ResultFile, report.SummaryFile, report.JUnitFile),
	}
	v.AgainNote = "It has the same plan, but real time is never identical."
	switch {
	case r.Repeats():
		v.AgainNote = "It has the same history, byte for byte; lockbench replay compares."
	case r.Virtual:
		v.AgainNote = "It has the same plan, and is not stopped early as this run was."
	}
	v.Facts = facts(r, "took "+report.Seconds(r.DurationS))
	v.Table, v.Figures = newTable(r, report.Columns), newTable(r, report.FigureColumns)
	v.FiguresKey = report.FiguresKey
	for i, row := range v.Table.Rows {
		row.Cells[len(row.Cells)-1].Text = r.Locks[i].MarkText()
	}
	for i, l := range locks {
		l.Files = lockFiles(folder, &r.Locks[i])
		v.Locks = append(v.Locks, l)
	}
	v.NotShown = notShown(r)
	v.Program, v.Machine = r.Program, r.Machine
	return v
}

// facts are the size and the origin of a run. length is how long it took.
func facts(r *report.Result, length string) []string {
	episodes := 0
	for i := range r.Locks {
		episodes = max(episodes, r.Locks[i].Episodes)
	}
	world := "world " + r.World
	if r.WorldAbout != "" {
		world += ", " + r.WorldAbout
	}
	all := []string{fmt.Sprintf("seed %d", r.Seed), report.Plural(episodes, "episode"), report.Plural(len(r.Locks), "lock") + " side by side", world, length}
	if !r.Started.IsZero() {
		all = append(all, r.Started.UTC().Format("2 January 2006, 15:04 MST"))
	}
	return all
}

// Anchor is the address of a lock on the page.
func Anchor(lock string) string {
	return "lock-" + strings.ReplaceAll(report.FolderName(lock), "%", "_")
}

// notShown are the limits of the results.
func notShown(r *report.Result) []string {
	said := []string{"valid means that nothing was found, never that a lock is safe.",
		"Only the faults of this plan were tested, at the times that were drawn from this seed."}
	if r.WorldCaveat != "" {
		said = append(said, r.WorldCaveat)
	}
	for l := range r.All() {
		if l.Unsupported != "" {
			said = append(said, l.Lock+" took no part: "+report.OneLine(l.Unsupported)+".")
		}
		if c, _ := l.Check("exclusion"); c.Note != "" {
			said = append(said, l.Lock+": "+report.OneLine(c.Note)+".")
		}
	}
	return append(said, strings.TrimSpace("outage is the longest time in which clients tried and none got a lock. "+r.ServersCaveat))
}
