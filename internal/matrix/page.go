package matrix

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/stats"
)

// PageFile is the page of a matrix in its folder.
const PageFile = page.File

//go:embed matrix.tmpl.html
var markup string

//go:embed matrix.css
var style string

var pages = template.Must(template.New("matrix").Parse(markup))

// view is what the template shows.
type view struct {
	page.Parts
	Own     template.CSS
	Outcome string
	Key     string
	Facts   []string
	Again   string
	Lead    string
	Locks   []column
	Groups  []groupView
	Rows    []rowView
	Trust   []trust
	NotRun  []string
	Odd     []string // cells that are not as expected, and why
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
	Runs            int
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
}

// trust is a lock over all scenarios.
type trust struct {
	Lock                                        string
	Held, Overstay, Fenced, Broken, Unsure, Not []string
	Episodes                                    int
	Tried                                       int // scenarios
	group                                       group
	High                                        string // of the rate where it held, in the scenario that says least
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
	switch {
	case r.NotRun != "":
		return "notrun"
	case l.Error != "":
		return "failed"
	case l.Unsupported != "":
		return "none"
	case l.Verdict == checker.Violated && l.Class == checker.NoClass:
		return "broken"
	case l.Verdict == checker.Violated:
		return l.Class.String()
	}
	return l.Verdict.String()
}

// locks are all of the matrix by their groups, controls first, else in the order in
// which they come.
func (m *Matrix) locks() []column {
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
				all[k].group, all[k].known = groupOf(l), ran
				all[k].Control = all[k].group == controls
			}
		}
	}
	slices.SortStableFunc(all, func(a, b column) int { return int(a.group - b.group) })
	return all
}

// groupsOf are the headings of columns.
func groupsOf(columns []column) []groupView {
	var all []groupView
	for _, c := range columns {
		if n := len(all); n == 0 || all[n-1].Name != groupNames[c.group] {
			all = append(all, groupView{Name: groupNames[c.group]})
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

// page writes report.html.
func (m *Matrix) page(w io.Writer) error {
	outcome := map[int][2]string{report.ExitExpected: {"as expected", "good"}, report.ExitUnexpected: {"not as expected", "bad"},
		report.ExitUnknown: {"undecided in part", "unsure"}, report.ExitHarness: {"the harness failed in part", "bad"}}[m.ExitCode()]
	v := view{Parts: page.Shared(), Own: template.CSS(style), Outcome: outcome[0], Key: outcome[1], Again: m.Again, Locks: m.locks()}
	cells, episodes, seconds := 0, 0, 0.0
	for i := range m.Rows {
		r := &m.Rows[i]
		row := rowView{Scenario: r.Result.Scenario, About: strings.Join(strings.Fields(r.Result.About), " "), Runs: len(r.Runs)}
		row.First, _, _ = strings.Cut(row.About, ". ")
		for _, c := range v.Locks {
			l := r.lock(c.Name)
			if l == nil {
				row.Cells = append(row.Cells, cellView{Key: "absent", Told: "not in this scenario"})
				continue
			}
			row.Cells = append(row.Cells, m.cellOf(r, l))
			if r.NotRun == "" && l.Unsupported == "" {
				cells++
				episodes += l.Episodes
			}
			if r.NotRun == "" && l.Unsupported == "" && (!l.AsExpected || l.Error != "") {
				v.Odd = append(v.Odd, r.Result.Scenario+", "+l.Remark())
			}
		}
		if r.NotRun != "" {
			v.NotRun = append(v.NotRun, fmt.Sprintf("%s (%s): %s", r.Result.Scenario, report.Plural(len(r.Result.Locks), "lock"), r.NotRun))
		}
		seconds += r.Result.DurationS
		runs := runView{Scenario: r.Result.Scenario}
		for _, ran := range r.Runs {
			text := fmt.Sprintf("seed %d", ran.Seed)
			runs.Ran = append(runs.Ran, runLink{Href: m.href(ran, ""), Text: text, Again: ran.Again})
		}
		v.Rows = append(v.Rows, row)
		v.Runs = append(v.Runs, runs)
	}
	v.Facts = []string{report.Plural(len(m.Rows), "scenario"), report.Plural(len(v.Locks), "lock"), report.Plural(cells, "cell") + " run",
		report.Plural(episodes, "episode") + " in all", "world " + m.World, fmt.Sprintf("seed %d", m.Seed), "runs took " + report.Seconds(seconds)}
	if !m.Started.IsZero() {
		v.Facts = append(v.Facts, m.Started.UTC().Format("2 January 2006, 15:04 MST"))
	}
	v.Groups = groupsOf(v.Locks)
	v.Trust = m.trust()
	v.From = m.provenance()
	if err := pages.Execute(w, v); err != nil {
		return fmt.Errorf("write the page of the matrix: %w", err)
	}
	return nil
}

func (m *Matrix) cellOf(r *Row, l *report.Lock) cellView {
	c := cellView{Key: look(r, l)}
	c.Sign, c.Word = signs[c.Key], words[c.Key]
	c.Wrong = r.NotRun == "" && l.Unsupported == "" && !l.AsExpected
	c.Told = r.Result.Scenario + ", " + l.Lock + ": " + l.Found()
	switch {
	case r.NotRun != "":
		c.Told = r.Result.Scenario + ", " + l.Lock + ": " + r.NotRun
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
	if l.Why != "" && r.NotRun == "" {
		c.Told += "; " + report.OneLine(l.Why)
	}
	if c.Wrong {
		c.Told += "; expected " + l.Expected
	}
	for _, ran := range r.RunsOf(l.Lock) {
		if c.Href = m.href(ran, page.Anchor(l.Lock)); c.Href != "" {
			break
		}
	}
	return c
}

// trust sums the locks up, group by group. In each those that were tried most come
// first: to have held in one fair scenario is no merit.
func (m *Matrix) trust() []trust {
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
			name := r.Result.Scenario
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
				t.Not = append(t.Not, name)
			default:
				t.Broken = append(t.Broken, name)
			}
			t.Episodes += l.Episodes
		}
		t.Tried = len(t.Held) + len(t.Overstay) + len(t.Fenced) + len(t.Broken) + len(t.Unsure)
		if len(t.Held) > 0 {
			t.High = report.Percent(high)
		}
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b trust) int {
		if d := int(a.group - b.group); d != 0 {
			return d
		}
		if d := b.Tried - a.Tried; d != 0 {
			return d
		}
		if d := len(a.Broken) - len(b.Broken); d != 0 {
			return d
		}
		if d := len(a.Overstay) - len(b.Overstay); d != 0 {
			return d
		}
		return len(b.Held) - len(a.Held)
	})
	return all
}

func (m *Matrix) provenance() [][2]string {
	rows := [][2]string{{"world", m.World}, {"seed", fmt.Sprint(m.Seed)}}
	about := m.About
	for i := range m.Rows {
		if about == "" {
			about = m.Rows[i].Result.WorldAbout
		}
	}
	for _, x := range [][2]string{{"servers", about}, {"program", m.Program}, {"machine", m.Machine}, {"command", m.Again}} {
		if x[1] != "" {
			rows = append(rows, x)
		}
	}
	if !m.Started.IsZero() {
		rows = append(rows, [2]string{"begun", m.Started.UTC().Format("2006-01-02 15:04:05 UTC")})
	}
	return rows
}

// href leads to the page of a run, at a lock; where a run was kept without its page,
// to its summary, and nowhere where nothing of it was kept.
func (m *Matrix) href(ran Ran, anchor string) string {
	lies := func(file string) bool {
		_, err := os.Stat(filepath.Join(m.Dir, filepath.FromSlash(ran.Dir), file))
		return err == nil
	}
	to := page.File
	if !lies(to) {
		to, anchor = report.SummaryFile, ""
	}
	if !lies(to) {
		return ""
	}
	link := href(path.Join(ran.Dir, to))
	if anchor != "" {
		link += "#" + anchor
	}
	return link
}

// href makes a path fit for a link.
func href(p string) string {
	return strings.NewReplacer("%", "%25", "+", "%2B", "#", "%23", "?", "%3F").Replace(p)
}
