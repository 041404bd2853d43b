package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// SummaryMax bounds summary.md in bytes, because merge requests and step summaries have limits.
const SummaryMax = 64 << 10

// Summary writes summary.md: the conclusion, the tables, the counterexamples and the command that repeats the run. It
// leaves out rows and sections that do not fit, with a note.
func Summary(w io.Writer, r *Result) error {
	head, foot := summaryHead(r), ""
	if r.Again != "" {
		foot = "Again: " + MarkdownCode(r.Again) + "\n"
	}
	const reserve = 100 // for the note
	var b strings.Builder
	left := 0
	add := func(part string) {
		if len(head)+b.Len()+len(part)+reserve+len(foot) > SummaryMax {
			left++
			return
		}
		b.WriteString(part)
	}
	markdownTable(r, Columns, add)
	remarks := ""
	for l := range r.All() {
		for _, text := range l.remarks() {
			remarks = "\n"
			add("- " + MarkdownText(text) + "\n")
		}
	}
	add(remarks)
	markdownTable(r, FigureColumns, add)
	add(FiguresKey + "\n\n")
	// The counterexample of the screen is the first. Controls that are as expected have none.
	first := r.FirstViolation()
	addCounterexample(first, add)
	for l := range r.All() {
		if l != first && !l.Calm() {
			addCounterexample(l, add)
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "%s of this summary did not fit here; %s has them all.\n\n", Plural(left, "line or section"), ResultFile)
	}
	_, err := io.WriteString(w, head+b.String()+foot)
	return err
}

func summaryHead(r *Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# lockbench %s: %s\n\n", MarkdownText(r.Scenario), r.Heading())
	world := MarkdownText(r.World)
	if r.WorldAbout != "" {
		world += ", " + MarkdownText(r.WorldAbout)
	}
	if r.World == "" { // the run was killed before any history had a header
		fmt.Fprintf(&b, "%s side by side · %s\n\n", Plural(len(r.Locks), "lock"), Seconds(r.DurationS))
	} else {
		fmt.Fprintf(&b, "Seed %d · %s side by side · world %s · %s\n\n", r.Seed, Plural(len(r.Locks), "lock"), world, Seconds(r.DurationS))
	}
	if r.Interrupted {
		b.WriteString("**The run was stopped early: the verdicts are on what was recorded by then.**\n\n")
	}
	if trouble := r.Trouble(); trouble != "" {
		fmt.Fprintf(&b, "**%s**\n\n", MarkdownText(trouble))
	}
	// A few kilobytes hold the names of any number of locks that a table can show.
	if text := r.Conclusion(); text != "" {
		fmt.Fprintf(&b, "%s\n\n", cutBytes(markdown(OneLine(text)), 4<<10))
	}
	return b.String()
}

// remarks are the remark on the lock and all notes.
func (l *Lock) remarks() []string {
	var all []string
	if remark := l.Remark(); remark != "" {
		all = append(all, remark)
	}
	for _, note := range l.Notes {
		all = append(all, l.Lock+": "+note)
	}
	for _, c := range l.Checks {
		if c.Note != "" {
			all = append(all, l.Lock+": "+c.Name+": "+c.Note)
		}
	}
	return all
}

// markdownTable adds a table of the locks, row by row.
func markdownTable(r *Result, columns []Column, add func(string)) {
	titles, rule := make([]string, len(columns)), "|"
	for i, c := range columns {
		titles[i] = c.Title
		if c.Right {
			rule += " --: |"
		} else {
			rule += " --- |"
		}
	}
	add(strings.ToLower(MarkdownRow(titles)) + rule + "\n")
	for _, row := range cells(columns, r) {
		for i, text := range row {
			row[i] = MarkdownText(text)
		}
		add(MarkdownRow(row))
	}
	add("\n")
}

func addCounterexample(l *Lock, add func(string)) {
	if l == nil || l.Counterexample == nil {
		return
	}
	add(fmt.Sprintf("## %s: %s\n\n%s\n", MarkdownText(l.Lock), l.Found(), MarkdownBlock("text", strings.Join(l.Counterexample.Text(), "\n"))))
}

// MarkdownRow is a row of a table. The texts of its cells are safe; see [MarkdownText].
func MarkdownRow(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// MarkdownHead is the head of a table.
func MarkdownHead(titles []string) string {
	return MarkdownRow(titles) + MarkdownRow(slices.Repeat([]string{"---"}, len(titles)))
}

// MarkdownText makes a text safe for a cell of a table: one line, short, with Markdown and HTML escaped.
func MarkdownText(s string) string {
	const bytesMax = 300
	return markdown(cutBytes(OneLine(s), bytesMax))
}

func markdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "&", "&amp;", "|", `\|`, "<", "&lt;", ">", "&gt;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`).Replace(s)
}

// MarkdownBlock formats lines as a block of code in a language. Its fence is longer than any sequence of backquotes in them.
func MarkdownBlock(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence + "\n"
}

// MarkdownCode formats a command as code in one line.
func MarkdownCode(s string) string {
	const bytesMax = 4 << 10
	s = cutBytes(OneLine(s), bytesMax)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

// cutBytes cuts a text to a size at the end of a character.
func cutBytes(s string, bytesMax int) string {
	if len(s) <= bytesMax {
		return s
	}
	const mark = "…"
	end := bytesMax - len(mark)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}
