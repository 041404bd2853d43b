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
// cuts the end of parts that do not fit, with a note.
func Summary(w io.Writer, r *Result) error {
	head := summaryHead(r)
	foot := summaryFoot(r)
	table := summaryTable(r, SummaryMax/2-len(head)-len(foot))
	figures := summaryFigures(r, (SummaryMax-len(head)-len(table)-len(foot))/3)
	told := summaryViolations(r, SummaryMax-1-len(head)-len(table)-len(figures)-len(foot))
	_, err := io.WriteString(w, head+table+figures+told+foot)
	return err
}

func summaryHead(r *Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# lockbench %s: %s\n\n", MarkdownText(r.Scenario), r.Outcome())
	world := MarkdownText(r.World)
	if r.WorldAbout != "" {
		world += ", " + MarkdownText(r.WorldAbout)
	}
	fmt.Fprintf(&b, "Seed %d · %s side by side · world %s · %s\n\n", r.Seed, Plural(len(r.Locks), "lock"), world, Seconds(r.DurationS))
	if r.Interrupted {
		b.WriteString("**The run was stopped early: the verdicts are on what was recorded by then.**\n\n")
	}
	if trouble := r.Trouble(); trouble != "" {
		fmt.Fprintf(&b, "**%s**\n\n", MarkdownText(trouble))
	}
	// A few kilobytes hold the names of any number of locks that a table can show.
	if text := r.Conclusion(); text != "" {
		fmt.Fprintf(&b, "%s\n\n", cutBytes(markdown(text), 4<<10))
	}
	return b.String()
}

func summaryFoot(r *Result) string {
	var b strings.Builder
	if text := r.Handoffs(); text != "" {
		fmt.Fprintf(&b, "%s\n\n", cutBytes(markdown(text), 4<<10))
	}
	if r.Again != "" {
		fmt.Fprintf(&b, "Again: %s\n", code(cutBytes(r.Again, 4<<10)))
	}
	return b.String()
}

// summaryTable is the table of the screen, with the remarks on the locks below.
func summaryTable(r *Result, bytesMax int) string {
	remarks := make([]string, len(r.Locks))
	for i := range r.Locks {
		l := &r.Locks[i]
		say := func(text string) { remarks[i] += "- " + MarkdownText(text) + "\n" }
		if remark := l.Remark(); remark != "" {
			say(remark)
		}
		for _, note := range l.Notes {
			say(l.Lock + ": " + note)
		}
		for _, c := range l.Checks {
			if c.Note != "" {
				say(l.Lock + ": " + c.Name + ": " + c.Note)
			}
		}
	}
	return markdownTable(r, Columns, remarks, bytesMax)
}

// summaryFigures is the table of the other figures.
func summaryFigures(r *Result, bytesMax int) string {
	const key = "rate: violated of all episodes, with exact bounds (Clopper-Pearson, 95 %) · " +
		"to violation: median time from the beginning of an episode · lost of 1000: writes missing at the end · " +
		"before, during, after: acquires before the first fault, during a fault, and all others · " +
		"overlap: how long two clients certainly held at once\n\n"
	return markdownTable(r, FigureColumns, make([]string, len(r.Locks)), bytesMax-len(key)) + key
}

// markdownTable is a table of the locks, with the remarks on each lock below. It leaves out locks that do not fit.
func markdownTable(r *Result, columns []Column, remarks []string, bytesMax int) string {
	titles, rule := make([]string, len(columns)), "|"
	for i, c := range columns {
		titles[i] = c.Title
		if c.Right {
			rule += " --: |"
		} else {
			rule += " --- |"
		}
	}
	var b, below strings.Builder
	b.WriteString(strings.ToLower(MarkdownRow(titles)) + rule + "\n")
	left := 0
	for i, row := range cells(columns, r) {
		line := MarkdownRow(safe(row))
		const reserve = 200 // for the lines that end the table
		if b.Len()+below.Len()+len(line)+len(remarks[i])+reserve > bytesMax {
			left++
			continue
		}
		b.WriteString(line)
		below.WriteString(remarks[i])
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n%s did not fit here; %s has them all.\n", Plural(left, "lock"), ResultFile)
	}
	b.WriteByte('\n')
	if below.Len() > 0 {
		b.WriteString(below.String() + "\n")
	}
	return b.String()
}

// summaryViolations are the counterexamples, the one of the screen first, without controls that are as expected.
func summaryViolations(r *Result, bytesMax int) string {
	var b strings.Builder
	first := r.FirstViolation()
	order := make([]*Lock, 0, len(r.Locks)+1)
	if first != nil {
		order = append(order, first)
	}
	for i := range r.Locks {
		if l := &r.Locks[i]; l != first && !l.Calm() {
			order = append(order, l)
		}
	}
	left := 0
	for _, l := range order {
		if l.Counterexample == nil {
			continue
		}
		// The fence is longer than any sequence of backquotes in the text.
		text := strings.Join(l.Counterexample.Text(), "\n")
		fence := "```"
		for strings.Contains(text, fence) {
			fence += "`"
		}
		section := fmt.Sprintf("## %s: %s\n\n%stext\n%s\n%s\n\n", MarkdownText(l.Lock), l.Found(), fence, text, fence)
		const reserve = 100 // for the note on the rest
		if b.Len()+len(section)+reserve > bytesMax {
			left++
			continue
		}
		b.WriteString(section)
	}
	if left > 0 {
		fmt.Fprintf(&b, "The counterexamples of %s more did not fit here.\n\n", Plural(left, "lock"))
	}
	return b.String()
}

// MarkdownRow is a row of a table. The texts of its cells are safe; see [MarkdownText].
func MarkdownRow(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// MarkdownHead is the head of a table.
func MarkdownHead(titles []string) string {
	return MarkdownRow(titles) + MarkdownRow(slices.Repeat([]string{"---"}, len(titles)))
}

// safe are texts that are safe for cells.
func safe(texts []string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = MarkdownText(text)
	}
	return all
}

// MarkdownText makes a text safe for a cell of a table: one line, short, with Markdown and HTML escaped.
func MarkdownText(s string) string {
	const bytesMax = 300
	return markdown(cutBytes(OneLine(s), bytesMax))
}

func markdown(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`).Replace(s)
}

// code formats a command as code.
func code(s string) string {
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
