package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/stats"
	"lockbench/locks"
)

// column is a lock. Locks of one kind are in adjacent columns, because users choose between them.
type column struct {
	Name string
	Kind kind
}

// kind is a kind of lock.
type kind int

// The kinds in the order of the columns.
const (
	control kind = iota
	oneServer
	severalServers
)

func (k kind) String() string { return []string{"controls", "one server", "several servers"}[k] }

// kindOf returns the kind of a lock. A lock that did not run counts as a lock on one server.
func kindOf(l *report.Lock) kind {
	switch {
	case l.Control():
		return control
	case l.Topology == locks.Independent:
		return severalServers
	}
	return oneServer
}

// Cell is the result of a lock in a row.
type Cell struct {
	Key     string // its look; empty if the scenario does not run the lock
	Sign    string // shown so that colour is not needed
	Rate    string // 3/3
	Word    string
	After   string // median time to the first violation
	Href    string
	Tooltip string
	Wrong   bool
	Fenced  bool // an overstay whose stale writes the fence refused
	Calm    bool // a control with the expected result

	Episodes int // of a lock that held
}

// wrongSign marks a cell that is not as expected.
const wrongSign = "✗"

// draw sets the columns of the table and the cells of its rows.
func (t *Table) draw() {
	t.Locks = nil
	for _, r := range t.Shown() {
		for l := range r.Result.All() {
			k := slices.IndexFunc(t.Locks, func(c column) bool { return c.Name == l.Lock })
			if k < 0 {
				t.Locks = append(t.Locks, column{l.Lock, kindOf(l)})
			} else if l.Topology != "" { // it ran, so its kind is known
				t.Locks[k].Kind = kindOf(l)
			}
		}
	}
	slices.SortStableFunc(t.Locks, func(a, b column) int { return cmp.Compare(a.Kind, b.Kind) })
	for _, r := range t.Rows {
		r.Cells = nil
		for _, lock := range t.Locks {
			if l := r.Result.Find(lock.Name); l != nil {
				r.Cells = append(r.Cells, r.cell(l))
			} else {
				r.Cells = append(r.Cells, Cell{Tooltip: "not in this scenario"})
			}
		}
	}
}

// worstFirst returns the rows to show, those that are not as expected first.
func (t *Table) worstFirst() []*Row {
	rows := t.Shown()
	slices.SortStableFunc(rows, func(a, b *Row) int { return cmp.Compare(min(len(b.wrong()), 1), min(len(a.wrong()), 1)) })
	return rows
}

// text returns the columns from one to another, and the rows that have any of these locks.
func (t *Table) text(from, to int, wrong string) [][]string {
	head := []string{"scenario"}
	for _, lock := range t.Locks[from:to] {
		head = append(head, lock.Name)
	}
	all := [][]string{head}
	for _, r := range t.worstFirst() {
		row, any := []string{r.Name}, false
		for _, c := range r.Cells[from:to] {
			row, any = append(row, c.short(wrong)), any || c.Key != ""
		}
		if any {
			all = append(all, row)
		}
	}
	return all
}

// short returns a cell as symbols without line breaks.
func (c Cell) short(wrong string) string {
	words := []string{c.Sign, c.Rate, c.After, "", ""}
	if c.Fenced {
		words[3] = "fenced"
	}
	if c.Wrong {
		words[4] = wrong
	}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
}

// cell returns the cell of a lock.
func (r *Row) cell(l *report.Lock) Cell {
	outcome := l.Outcome()
	if len(r.Runs) == 0 {
		outcome = report.NotRun
	}
	look := outcome.Look()
	v := Cell{Key: look.Color, Sign: look.Sign, Word: look.Label, Calm: len(r.Runs) > 0 && l.Calm()}
	v.Wrong = len(r.Runs) > 0 && l.Unsupported == "" && !l.AsExpected
	v.Tooltip = r.Name + ", " + l.Lock + ": " + l.Found()
	switch {
	case len(r.Runs) == 0:
		v.Tooltip = r.Name + ", " + l.Lock + ": " + r.reason()
	case l.Unsupported != "":
		v.Tooltip = l.Lock + " cannot run here: " + report.OneLine(l.Unsupported)
	case l.Rate != nil:
		v.Rate = fmt.Sprintf("%d/%d", l.ViolatingEpisodes, l.Episodes)
		v.Tooltip += fmt.Sprintf(" in %d of %s, rate %s", l.ViolatingEpisodes, report.Plural(l.Episodes, "episode"), report.RateText(l.Rate))
		if after, ok := stats.Median(l.ViolationAfterS); ok {
			v.After = strings.ReplaceAll(report.Seconds(after), " ", "\u00a0") // no line break before the unit
			v.Tooltip += ", first after " + report.Seconds(after) + " (median)"
		}
		if outcome == report.Held && !l.Control() {
			v.Episodes = l.Telling()
		}
		if l.LostUpdates > 0 {
			v.Tooltip += fmt.Sprintf(", %s of %s writes lost", report.Count(l.LostUpdates), report.Count(l.Writes))
		}
	}
	if l.Fenced() {
		v.Word, v.Fenced = look.Label+", fenced", true
		v.Tooltip += "; its fence protected the resource"
	}
	if l.Why != "" && len(r.Runs) > 0 {
		v.Tooltip += "; " + report.OneLine(l.Why)
	}
	if v.Wrong {
		v.Tooltip += "; expected " + l.Expected
	}
	for _, ran := range r.runsOf(l.Lock) {
		if v.Href = ran.Href; strings.HasSuffix(v.Href, page.File) {
			v.Href += "#" + page.Anchor(l.Lock)
		}
		if v.Href != "" {
			break
		}
	}
	return v
}
