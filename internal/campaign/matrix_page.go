package campaign

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/stats"
)

// PageFile is the page of a world, in its folder.
const PageFile = page.File

//go:embed matrix.tmpl.html
var markup string

//go:embed matrix.css
var style string

var pages = template.Must(template.New("matrix").Funcs(page.Words).Parse(markup))

// matrix is one world of a campaign as its page shows it: which lock survives what.
type matrix struct {
	*World
	of *Campaign
}

// write puts what is made from a world into its folder.
func (m *matrix) write() error {
	results := make([]*report.Result, len(m.Rows))
	for i := range m.Rows {
		results[i] = m.Rows[i].Result
	}
	file := func(name string, w func(io.Writer) error) error { return m.of.file(m.World.World, name, w) }
	return errors.Join(
		file(PageFile, m.page),
		file(report.SummaryFile, m.summary),
		file(report.JUnitFile, func(w io.Writer) error { return report.JUnit(w, results...) }),
		file(report.BadgeFile, func(w io.Writer) error { return report.Badge(w, "lockbench matrix", results...) }),
	)
}

// outcomes are the exit codes in words, for tables of locks.
var outcomes = map[int]string{report.ExitExpected: "as expected", report.ExitUnexpected: "not as expected",
	report.ExitUnknown: "undecided in part", report.ExitHarness: "the harness failed in part"}

// exitCode is that of the world, judged over all runs of each scenario together.
func (m *matrix) exitCode() int { return exitCode(m.Rows, false) }

// view is what the template shows.
type view struct {
	page.Parts
	Own     template.CSS
	Outcome string
	Key     string
	Facts   []string
	Again   string
	Locks   []column
	Groups  []groupView
	Rows    []rowView
	Trust   []trust
	NotRun  []string
	Odd     []oddView // cells that are not as expected, and why
	From    [][2]string
	Runs    []runView
}

type column struct {
	Name    string
	Control bool
	group   group
	known   bool // that it is of the group: it ran somewhere
}

// groupView is the heading of columns that stand side by side.
type groupView struct {
	Name string
	N    int
}

type rowView struct {
	Scenario, About string
	First           string // its first sentence: what a name stands for
	Cells           []cellView
}

// cellView is a cell of the heat map.
type cellView struct {
	Key    string // its look
	Sign   string // so that colour is not needed
	Rate   string // 3/3
	Word   string
	After  string // median time to the first violation
	Href   string
	Told   string
	Wrong  bool
	Fenced bool // an overstay that its fence made harmless
	Calm   bool // a control that did what it is there for
	ID     string
}

// oddView leads to a cell that is not as expected.
type oddView struct{ ID, Name, Text string }

// trust is a lock over all scenarios.
type trust struct {
	Lock                                   string
	Held, Overstay, Fenced, Broken, Unsure []string
	Tried                                  int // scenarios
	group                                  group
	High                                   string // of the rate where it held, in the scenario that says least
}

type runView struct {
	Scenario string
	Ran      []runLink
}

type runLink struct{ Href, Text, Again string }

// signs stand in the cells beside the colour.
var signs = map[string]string{"valid": "○", "double-grant": "●", "broken": "■", "overstay": "◐", "stale-write": "◔", "undetermined": "◕",
	"unknown": "?", "failed": "!", "none": "–", "absent": "", "notrun": "…"}

// words are short for the classes.
var words = map[string]string{"valid": "held", "double-grant": "double grant", "broken": "broke", "overstay": "overstay", "stale-write": "stale write",
	"undetermined": "two held", "unknown": "undecided", "failed": "failed", "none": "n/a", "notrun": "not run"}

// look is the look of a lock in a row.
func look(r *Row, l *report.Lock) string {
	if len(r.Runs) == 0 {
		return "notrun"
	}
	return l.Look()
}

// locks are all of the matrix by their groups, controls first, else in the order in
// which they come.
func (m *matrix) locks() []column {
	var all []column
	for i := range m.Rows {
		for j := range m.Rows[i].Result.Locks {
			l := &m.Rows[i].Result.Locks[j]
			k := slices.IndexFunc(all, func(c column) bool { return c.Name == l.Lock })
			if k < 0 {
				all = append(all, column{Name: l.Lock})
				k = len(all) - 1
			}
			if ran := l.Topology != ""; !all[k].known {
				all[k].group, all[k].known = m.of.groupOf(l), ran
				all[k].Control = all[k].group == controls
			}
		}
	}
	slices.SortStableFunc(all, func(a, b column) int { return a.group.compare(b.group) })
	return all
}

// groupsOf are the headings of columns.
func groupsOf(columns []column) []groupView {
	var all []groupView
	for _, c := range columns {
		if n := len(all); n == 0 || all[n-1].Name != c.group.name {
			all = append(all, groupView{Name: c.group.name})
		}
		all[len(all)-1].N++
	}
	return all
}

func (r *Row) lock(name string) *report.Lock {
	for i := range r.Result.Locks {
		if r.Result.Locks[i].Lock == name {
			return &r.Result.Locks[i]
		}
	}
	return nil
}

// wrong are the locks of a row that ran and are not as expected.
func (r *Row) wrong() []*report.Lock {
	var all []*report.Lock
	for i := range r.Result.Locks {
		if l := &r.Result.Locks[i]; len(r.Runs) > 0 && l.Unsupported == "" && (!l.AsExpected || l.Error != "") {
			all = append(all, l)
		}
	}
	return all
}

// page writes report.html.
func (m *matrix) page(w io.Writer) error {
	code := m.exitCode()
	key := map[int]string{report.ExitExpected: "good", report.ExitUnexpected: "bad", report.ExitUnknown: "unsure", report.ExitHarness: "bad"}[code]
	v := view{Parts: page.Shared(), Own: template.CSS(style), Outcome: outcomes[code], Key: key, Again: cmp.Or(m.Again, m.of.Again), Locks: m.locks()}
	cells, episodes, seconds := 0, 0, 0.0
	rows := make([]*Row, len(m.Rows))
	for i := range m.Rows {
		rows[i] = &m.Rows[i]
	}
	// What nobody expects is what people look for.
	slices.SortStableFunc(rows, func(a, b *Row) int { return cmp.Compare(min(len(b.wrong()), 1), min(len(a.wrong()), 1)) })
	for _, r := range rows {
		row := rowView{Scenario: r.Scenario, About: strings.Join(strings.Fields(r.About), " ")}
		row.First, _, _ = strings.Cut(row.About, ". ")
		for _, c := range v.Locks {
			l := r.lock(c.Name)
			if l == nil {
				row.Cells = append(row.Cells, cellView{Key: "absent", Told: "not in this scenario"})
				continue
			}
			row.Cells = append(row.Cells, m.cellOf(r, l))
			if len(r.Runs) > 0 && l.Unsupported == "" {
				cells++
				episodes += l.Episodes
			}
		}
		for _, l := range r.wrong() {
			v.Odd = append(v.Odd, oddView{cellID(r, l), r.Scenario + ", " + l.Lock, strings.TrimPrefix(l.Remark(), l.Lock+": ")})
		}
		if why := r.notRun(); why != "" {
			v.NotRun = append(v.NotRun, fmt.Sprintf("%s (%s): %s", r.Scenario, report.Plural(len(r.Locks), "lock"), why))
		}
		seconds += r.Result.DurationS
		runs := runView{Scenario: r.Scenario}
		for _, ran := range r.Runs {
			text := fmt.Sprintf("seed %d", ran.Seed)
			runs.Ran = append(runs.Ran, runLink{Href: m.href(ran, ""), Text: text, Again: ran.Again})
		}
		v.Rows = append(v.Rows, row)
		v.Runs = append(v.Runs, runs)
	}
	v.Facts = []string{report.Plural(len(m.Rows), "scenario"), report.Plural(len(v.Locks), "lock"), report.Plural(cells, "cell") + " run",
		report.Plural(episodes, "episode") + " in all", "world " + m.World.World, fmt.Sprintf("seed %d", m.of.Seed), "runs took " + report.Seconds(seconds)}
	if begun := m.begun(); !begun.IsZero() {
		v.Facts = append(v.Facts, begun.UTC().Format("2 January 2006, 15:04 MST"))
	}
	v.Groups = groupsOf(v.Locks)
	v.Trust = m.trust()
	v.From = m.provenance()
	if err := pages.Execute(w, v); err != nil {
		return fmt.Errorf("write the page of the matrix: %w", err)
	}
	return nil
}

// cellID is the address of a cell on the page.
func cellID(r *Row, l *report.Lock) string {
	return "cell-" + strings.ReplaceAll(report.FolderName(r.Scenario), "%", "_") + "-" + page.Anchor(l.Lock)
}

func (m *matrix) cellOf(r *Row, l *report.Lock) cellView {
	c := cellView{Key: look(r, l), ID: cellID(r, l)}
	c.Calm = len(r.Runs) > 0 && l.Control() && l.AsExpected && l.Error == "" && l.Unsupported == ""
	c.Sign, c.Word = signs[c.Key], words[c.Key]
	c.Wrong = len(r.Runs) > 0 && l.Unsupported == "" && !l.AsExpected
	c.Told = r.Scenario + ", " + l.Lock + ": " + l.Found()
	switch {
	case len(r.Runs) == 0:
		c.Told = r.Scenario + ", " + l.Lock + ": " + r.notRun()
	case l.Unsupported != "":
		c.Told = l.Lock + " cannot run here: " + report.OneLine(l.Unsupported)
	case l.Rate != nil:
		c.Rate = fmt.Sprintf("%d/%d", l.ViolatingEpisodes, l.Episodes)
		c.Told += fmt.Sprintf(" in %d of %s, rate %s", l.ViolatingEpisodes, report.Plural(l.Episodes, "episode"), report.RateText(l.Rate))
		if after, ok := stats.Median(l.ViolationAfterS); ok {
			c.After = "after " + strings.ReplaceAll(report.Seconds(after), " ", "\u00a0") // the unit stays with its number
			c.Told += ", first after " + report.Seconds(after) + " (median)"
		}
		if l.LostUpdates > 0 {
			c.Told += fmt.Sprintf(", %s of %s writes lost", report.Count(l.LostUpdates), report.Count(l.Writes))
		}
	}
	if l.FencedOff() {
		c.Word, c.Fenced = "overstay, fenced", true
		c.Told += "; its fence kept the resource whole"
	}
	if l.Why != "" && len(r.Runs) > 0 {
		c.Told += "; " + report.OneLine(l.Why)
	}
	if c.Wrong {
		c.Told += "; expected " + l.Expected
	}
	for _, ran := range r.runsOf(l.Lock) {
		if c.Href = m.href(ran, page.Anchor(l.Lock)); c.Href != "" {
			break
		}
	}
	return c
}

// trust sums the locks up, group by group. In each those that were tried most come
// first: to have held in one fair scenario is no merit.
func (m *matrix) trust() []trust {
	var all []trust
	for _, c := range m.locks() {
		if c.Control {
			continue
		}
		t := trust{Lock: c.Name, group: c.group}
		high := 0.0
		for i := range m.Rows {
			r := &m.Rows[i]
			l := r.lock(c.Name)
			if l == nil {
				continue
			}
			name := r.Scenario
			switch key := look(r, l); {
			case key == "valid":
				t.Held = append(t.Held, name)
				if l.Rate != nil {
					high = max(high, l.Rate.High)
				}
			case l.FencedOff():
				t.Fenced = append(t.Fenced, name)
			case key == "overstay":
				t.Overstay = append(t.Overstay, name)
			case key == "unknown", key == "failed":
				t.Unsure = append(t.Unsure, name)
			case key == "none", key == "notrun":
			default:
				t.Broken = append(t.Broken, name)
			}
		}
		t.Tried = len(t.Held) + len(t.Overstay) + len(t.Fenced) + len(t.Broken) + len(t.Unsure)
		if len(t.Held) > 0 {
			t.High = report.Percent(high)
		}
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b trust) int {
		return cmp.Or(a.group.compare(b.group), b.Tried-a.Tried, len(a.Broken)-len(b.Broken), len(a.Overstay)-len(b.Overstay), len(b.Held)-len(a.Held))
	})
	return all
}

// begun is when the first run of the world began, or the campaign, if none did.
func (m *matrix) begun() time.Time {
	if m.Started.IsZero() {
		return m.of.Started
	}
	return m.Started
}

// program are the lockbenches that ran.
func (m *matrix) program() string { return cmp.Or(strings.Join(m.Programs, "; "), m.of.Program) }

func (m *matrix) machine() string { return cmp.Or(m.Machine, m.of.Machine) }

// provenance is where it comes from: about what, and what there is to say of it.
func (m *matrix) provenance() [][2]string {
	rows := [][2]string{{"world", m.World.World}, {"seed", fmt.Sprint(m.of.Seed)}}
	for _, x := range [][2]string{{"servers", m.About}, {"program", m.program()}, {"machine", m.machine()}, {"command", cmp.Or(m.Again, m.of.Again)}} {
		if x[1] != "" {
			rows = append(rows, x)
		}
	}
	if begun := m.begun(); !begun.IsZero() {
		rows = append(rows, [2]string{"begun", stamp(begun)})
	}
	return rows
}

// href leads to the page of a run, at a lock; where a run was kept without its page,
// to its summary, and nowhere where nothing of it was kept.
func (m *matrix) href(ran Ran, anchor string) string {
	lies := func(file string) bool {
		return isFile(filepath.Join(m.of.Dir, filepath.FromSlash(ran.Dir), file))
	}
	to := page.File
	if !lies(to) {
		to, anchor = report.SummaryFile, ""
	}
	if !lies(to) {
		return ""
	}
	link := href(path.Join(strings.TrimPrefix(ran.Dir, m.World.World+"/"), to))
	if anchor != "" {
		link += "#" + anchor
	}
	return link
}

// href makes a path fit for a link.
func href(p string) string {
	return strings.NewReplacer("%", "%25", "+", "%2B", "#", "%23", "?", "%3F").Replace(p)
}
