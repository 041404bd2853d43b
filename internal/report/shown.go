package report

import "lockbench/checker"

// What the pages show is made of the same words and figures as the screen. This file
// hands them out.

// Titles are the heads of the screen's table; the last column, the mark, has none.
func Titles() []string {
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = c.title
	}
	return titles
}

// RightAligned tells whether a column of the screen's table holds figures.
func RightAligned(column int) bool { return columns[column].right }

// Row is a lock's row of the screen's table.
func (l *Lock) Row() []string {
	row := make([]string, len(columns))
	for i, c := range columns {
		row[i] = c.cell(l)
	}
	return row
}

// Remark says what the table has no column for: why nothing could be said, or why what
// was said is not what was expected. Empty for most.
func (l *Lock) Remark() string { return l.remark() }

// Word is the verdict, or what stands in its place: failed, unsupported.
func (l *Lock) Word() string { return l.verdictWord() }

// Mark is the sign at the end of a row: as expected, or not.
func (l *Lock) Mark() string { return l.mark() }

// FencedOff tells whether a lock overstayed and its fence kept the resource whole.
func (l *Lock) FencedOff() bool { return l.Class == checker.Overstay && l.fencedOff() }

// Outcome is the run in a few words, for a heading.
func (r *Result) Outcome() string { return r.outcome() }

// AnyViolated tells whether a lock that is not a control was violated.
func (r *Result) AnyViolated() bool { return r.violated() > 0 }

// Conclusion says what may be taken from the table, and what not.
func (r *Result) Conclusion() string { return conclusion(r) }

// Trouble says in what the run cannot be trusted, or nothing.
func (r *Result) Trouble() string { return trouble(r) }

// ExitLine tells the exit code in words.
func (r *Result) ExitLine() string { return exitLine(r) }

// Handoffs tells how long a waiter waited after a release, of locks that have that.
func (r *Result) Handoffs() string { return r.handoffs() }

// OneLine makes any text fit for one line, without control characters.
func OneLine(s string) string { return oneLine(s) }

// Plural writes a number with its noun.
func Plural(n int, noun string) string { return plural(n, noun) }

// MarkdownText makes a text of any origin fit for a cell of a Markdown table.
func MarkdownText(s string) string { return cutText(s) }

// Look is what pages colour a lock by: what was found, not whether it was expected.
func (l *Lock) Look() string {
	switch {
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
