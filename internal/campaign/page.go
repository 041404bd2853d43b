package campaign

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockbench/internal/regular"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/stats"
	"lockbench/locks"
)

// PageFile is the name of a campaign's page.
const PageFile = page.File

//go:embed page.tmpl.html
var markup string

//go:embed page.css
var style string

var pages = template.Must(template.New("matrix").Funcs(page.Words).Parse(markup))

// view is the data of the template.
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
	Odd     []oddView // cells that are not as expected, with the reasons
	From    [][2]string
	Runs    []runsView
}

type column struct {
	Name    string
	Control bool
	group   group
	known   bool // the lock ran, so its group is known
}

// group is a kind of lock. Locks of one kind are in adjacent columns, because users choose between them.
type group struct {
	place int
	name  string // the heading
}

var (
	controls  = group{0, "controls"}
	oneMaster = group{1, "one master"}
	majority  = group{3, "several masters"}
)

func (g group) compare(with group) int {
	return cmp.Or(cmp.Compare(g.place, with.place), cmp.Compare(g.name, with.name))
}

// groupOf returns the group of a lock. A lock that did not run counts as a lock on one server.
func (c *Campaign) groupOf(l *report.Lock) group {
	switch name := c.Groups[l.Lock]; {
	case l.Control():
		return controls
	case l.Topology == locks.Independent:
		return majority
	case name != "": // a family that the catalog sets apart
		return group{2, oneMaster.name + ", " + name}
	}
	return oneMaster
}

// groupView is the heading of adjacent columns.
type groupView struct {
	Name string
	N    int
}

type rowView struct {
	Scenario, About string
	First           string // the first sentence explains the name
	Cells           []cellView
}

// cellView is a cell of the heat map.
type cellView struct {
	Key    string // its look
	Sign   string // shown so that colour is not needed
	Rate   string // 3/3
	Word   string
	After  string // median time to the first violation
	Href   string
	Told   string
	Wrong  bool
	Fenced bool // an overstay whose stale writes the fence refused
	Calm   bool // a control with the expected result
	ID     string
}

// oddView is a link to a cell that is not as expected.
type oddView struct{ ID, Name, Text string }

// trust summarizes a lock over all scenarios.
type trust struct {
	Lock                                   string
	Held, Overstay, Fenced, Broken, Unsure []string
	Tried                                  int // scenarios
	Control                                bool
	group                                  group
	High                                   string // upper bound of the rate where it held, in the scenario with the fewest episodes
}

// runsView are the runs of a row.
type runsView struct {
	Scenario string
	Ran      []runLink
}

type runLink struct {
	Ran
	Href string
}

// looks are the looks of cells in the order of the legend: the symbols and the short names of the classes.
var looks = []struct{ key, sign, word string }{
	{"valid", "○", "held"}, {"overstay", "◐", "overstay"}, {"double-grant", "●", "double grant"}, {"broken", "■", "broke"},
	{"stale-write", "◔", "stale write"}, {"undetermined", "◕", "two held"}, {"unknown", "?", "undecided"}, {"failed", "!", "failed"},
	{"none", "–", "n/a"}, {"notrun", "…", "not run"},
}

// look returns the look of a lock in a row.
func look(r *Row, l *report.Lock) string {
	if len(r.Runs) == 0 {
		return "notrun"
	}
	return l.Look()
}

// columns returns the locks of rows by group, controls first.
func (c *Campaign) columns(rows []line) []column {
	var all []column
	for _, r := range rows {
		for l := range r.Result.All() {
			k := slices.IndexFunc(all, func(c column) bool { return c.Name == l.Lock })
			if k < 0 {
				all = append(all, column{Name: l.Lock})
				k = len(all) - 1
			}
			if ran := l.Topology != ""; !all[k].known {
				all[k].group, all[k].known = c.groupOf(l), ran
				all[k].Control = all[k].group == controls
			}
		}
	}
	slices.SortStableFunc(all, func(a, b column) int { return a.group.compare(b.group) })
	return all
}

// groups divides columns by group.
func groups(columns []column) [][]column {
	var all [][]column
	for _, c := range columns {
		if n := len(all); n == 0 || all[n-1][0].group != c.group {
			all = append(all, nil)
		}
		last := &all[len(all)-1]
		*last = append(*last, c)
	}
	return all
}

// wrong returns the locks of a row that ran and are not as expected.
func (r *Row) wrong() []*report.Lock {
	var all []*report.Lock
	for i := range r.Result.Locks {
		if l := &r.Result.Locks[i]; len(r.Runs) > 0 && l.Odd() {
			all = append(all, l)
		}
	}
	return all
}

// page writes report.html.
func (c *Campaign) page(w io.Writer) error {
	v := view{Parts: page.Shared(), Own: template.CSS(style), Outcome: c.Outcome(), Key: report.Outcomes[c.ExitCode()].Key, Again: c.Again, NotRun: c.notRun()}
	cells, episodes, seconds := 0, 0, 0.0
	rows := c.lines()
	v.Locks = c.columns(rows)
	// Rows that are not as expected come first.
	slices.SortStableFunc(rows, func(a, b line) int { return cmp.Compare(min(len(b.wrong()), 1), min(len(a.wrong()), 1)) })
	for _, r := range rows {
		row := rowView{Scenario: r.name, About: strings.Join(strings.Fields(r.About), " ")}
		row.First, _, _ = strings.Cut(row.About, ". ")
		for _, column := range v.Locks {
			l := r.Result.Find(column.Name)
			if l == nil {
				row.Cells = append(row.Cells, cellView{Key: "absent", Told: "not in this scenario"})
				continue
			}
			row.Cells = append(row.Cells, c.cellOf(r, l))
			if len(r.Runs) > 0 && l.Unsupported == "" {
				cells++
				episodes += l.Episodes
			}
		}
		for _, l := range r.wrong() {
			v.Odd = append(v.Odd, oddView{cellID(r, l), r.name + ", " + l.Lock, strings.TrimPrefix(l.Remark(), l.Lock+": ")})
		}
		seconds += r.Result.DurationS
		runs := runsView{Scenario: r.name}
		for _, ran := range r.Runs {
			runs.Ran = append(runs.Ran, runLink{ran, c.href(ran, "")})
		}
		v.Rows = append(v.Rows, row)
		v.Runs = append(v.Runs, runs)
	}
	v.Facts = []string{c.Counts(), report.Plural(len(rows), "row"), report.Plural(len(v.Locks), "lock"), report.Plural(cells, "cell") + " run",
		report.Plural(episodes, "episode") + " in all", fmt.Sprintf("seeds from %d", c.Seed), "runs took " + report.Seconds(seconds)}
	for _, of := range groups(v.Locks) {
		v.Groups = append(v.Groups, groupView{of[0].group.name, len(of)})
	}
	v.Trust = c.trust(rows)
	v.From = c.provenance()
	if err := pages.Execute(w, v); err != nil {
		return fmt.Errorf("write the page of the matrix: %w", err)
	}
	return nil
}

// cellID returns the fragment of a cell's address.
func cellID(r line, l *report.Lock) string {
	name := r.Scenario
	if r.name != r.Scenario {
		name = r.world.World + "-" + name
	}
	return "cell-" + strings.ReplaceAll(report.FolderName(name), "%", "_") + "-" + page.Anchor(l.Lock)
}

func (c *Campaign) cellOf(r line, l *report.Lock) cellView {
	v := cellView{Key: look(r.Row, l), ID: cellID(r, l)}
	v.Calm = len(r.Runs) > 0 && l.Calm()
	for _, look := range looks {
		if look.key == v.Key {
			v.Sign, v.Word = look.sign, look.word
		}
	}
	v.Wrong = len(r.Runs) > 0 && l.Unsupported == "" && !l.AsExpected
	v.Told = r.name + ", " + l.Lock + ": " + l.Found()
	switch {
	case len(r.Runs) == 0:
		v.Told = r.name + ", " + l.Lock + ": " + r.notRun()
	case l.Unsupported != "":
		v.Told = l.Lock + " cannot run here: " + report.OneLine(l.Unsupported)
	case l.Rate != nil:
		v.Rate = fmt.Sprintf("%d/%d", l.ViolatingEpisodes, l.Episodes)
		v.Told += fmt.Sprintf(" in %d of %s, rate %s", l.ViolatingEpisodes, report.Plural(l.Episodes, "episode"), report.RateText(l.Rate))
		if after, ok := stats.Median(l.ViolationAfterS); ok {
			v.After = "after " + strings.ReplaceAll(report.Seconds(after), " ", "\u00a0") // no line break before the unit
			v.Told += ", first after " + report.Seconds(after) + " (median)"
		}
		if l.LostUpdates > 0 {
			v.Told += fmt.Sprintf(", %s of %s writes lost", report.Count(l.LostUpdates), report.Count(l.Writes))
		}
	}
	if l.Standing() == report.Fenced {
		v.Word, v.Fenced = "overstay, fenced", true
		v.Told += "; its fence protected the resource"
	}
	if l.Why != "" && len(r.Runs) > 0 {
		v.Told += "; " + report.OneLine(l.Why)
	}
	if v.Wrong {
		v.Told += "; expected " + l.Expected
	}
	for _, ran := range r.runsOf(l.Lock) {
		if v.Href = c.href(ran, page.Anchor(l.Lock)); v.Href != "" {
			break
		}
	}
	return v
}

// tally summarizes each lock over the rows that ran, in the order of the columns.
func (c *Campaign) tally(rows []line) []trust {
	var all []trust
	for _, column := range c.columns(rows) {
		t := trust{Lock: column.Name, Control: column.Control, group: column.group}
		high := 0.0
		for _, r := range rows {
			l := r.Result.Find(column.Name)
			if l == nil || len(r.Runs) == 0 {
				continue
			}
			t.Tried++
			switch l.Standing() {
			case report.Untested:
				t.Tried--
			case report.Held:
				t.Held = append(t.Held, r.name)
				if l.Rate != nil {
					high = max(high, l.Rate.High)
				}
			case report.Fenced:
				t.Fenced = append(t.Fenced, r.name)
			case report.Overstayed:
				t.Overstay = append(t.Overstay, r.name)
			case report.Undecided:
				t.Unsure = append(t.Unsure, r.name)
			case report.Broken:
				t.Broken = append(t.Broken, r.name)
			}
		}
		if len(t.Held) > 0 {
			t.High = report.Percent(high)
		}
		all = append(all, t)
	}
	return all
}

// trust summarizes the locks by group, without the controls. In each group the locks with the most scenarios come first.
func (c *Campaign) trust(rows []line) []trust {
	all := slices.DeleteFunc(c.tally(rows), func(t trust) bool { return t.Control })
	slices.SortStableFunc(all, func(a, b trust) int {
		return cmp.Or(a.group.compare(b.group), b.Tried-a.Tried, len(a.Broken)-len(b.Broken), len(a.Overstay)-len(b.Overstay), len(b.Held)-len(a.Held))
	})
	return all
}

// provenance describes the origin of the campaign.
func (c *Campaign) provenance() [][2]string {
	rows := [][2]string{{"seeds from", fmt.Sprint(c.Seed)}}
	add := func(what, text string) {
		if text != "" {
			rows = append(rows, [2]string{what, text})
		}
	}
	add("program", c.Program)
	add("machine", c.Machine)
	add("command", c.Again)
	if !c.Started.IsZero() {
		add("begun", stamp(c.Started))
	}
	for _, w := range c.Worlds {
		about := []string{w.About}
		if !w.Started.IsZero() {
			about = append(about, "begun "+stamp(w.Started))
		}
		if w.Machine != c.Machine {
			about = append(about, w.Machine)
		}
		if programs := strings.Join(w.Programs, "; "); programs != c.Program {
			about = append(about, programs)
		}
		add("world "+w.World, strings.Join(slices.DeleteFunc(about, func(s string) bool { return s == "" }), " · "))
	}
	return rows
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// href returns a link to a lock on the page of a run. If the run has no page, it links to its summary. If nothing of the
// run was kept, it returns "".
func (c *Campaign) href(ran Ran, anchor string) string {
	lies := func(file string) bool {
		return regular.Is(filepath.Join(c.Dir, filepath.FromSlash(ran.Dir), file))
	}
	to := page.File
	if !lies(to) {
		to, anchor = report.SummaryFile, ""
	}
	if !lies(to) {
		return ""
	}
	link := page.Href(path.Join(ran.Dir, to))
	if anchor != "" {
		link += "#" + anchor
	}
	return link
}
