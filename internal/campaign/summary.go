package campaign

import (
	"fmt"
	"io"
	"strings"

	"lockbench/internal/report"
	"lockbench/internal/report/page"
)

// columnsMax is the number of locks in a table of summary.md that GitHub shows without scrolling.
const columnsMax = 8

// legend explains the tables.
func legend() string {
	var parts []string
	for _, outcome := range report.Outcomes() {
		look := outcome.Look()
		parts = append(parts, strings.TrimSuffix(look.Sign+" "+look.Label+": "+look.Means, ": "))
	}
	return strings.Join(parts, " · ") + " · \"fenced\": the fence kept the resource whole · blank: not in the scenario · **✗** not what the scenario expects. " +
		"3/5 2.2 s: violated in three of five episodes, and the median time from the beginning of an episode to its first violation."
}

// incomplete is the end of a summary that is too long.
const incomplete = "The summary is incomplete; report.html contains the rest.\n"

// summary writes summary.md: unexpected results with the commands that repeat them, missing runs, and the verdicts. It
// ends at report.SummaryMax, and then reports that.
func (t *Table) summary(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# lockbench matrix: %s\n\n%s. Seeds from %d.\n\n", t.Outcome(), t.Counts(), t.Campaign.Seed)
	if again := t.Campaign.Again; again != "" {
		fmt.Fprintf(&b, "Again: %s\n\n", report.MarkdownCode(again))
	}
	section := func(title string, text []string) {
		if len(text) > 0 {
			fmt.Fprintf(&b, "## %s\n\n- %s\n\n", title, strings.Join(text, "\n- "))
		}
	}
	var odd, notRun, from []string
	for _, r := range t.Shown() {
		for _, rate := range r.Rates {
			odd = append(odd, fmt.Sprintf("%s, all seeds together: %s", report.MarkdownText(r.Name), report.MarkdownText(rate)))
		}
		for _, o := range r.Odd {
			odd = append(odd, fmt.Sprintf("%s, [seed %d](%s), %s: %s\n  %s", report.MarkdownText(r.Name), o.Seed,
				target(o.Dir+"/"+report.SummaryFile), report.MarkdownText(o.Lock), report.MarkdownText(o.Text), report.MarkdownCode(o.Result.Again)))
		}
	}
	for _, text := range t.missing() {
		notRun = append(notRun, report.MarkdownText(text))
	}
	for _, text := range t.provenance() {
		from = append(from, report.MarkdownText(text))
	}
	section("Not as expected, each with the command that repeats it", odd)
	section("Not run", notRun)
	section("Where and with what", from)
	if len(t.Locks) > 0 {
		b.WriteString("## Verdicts\n\n" + legend() + "\n\n")
		for at := 0; at < len(t.Locks); at += columnsMax {
			markdownTable(&b, t.text(at, min(at+columnsMax, len(t.Locks)), "**"+wrongSign+"**"))
		}
	}
	text := b.String()
	if len(text) > report.SummaryMax {
		const reserve = 200 // for the sentence
		text = text[:strings.LastIndexByte(text[:report.SummaryMax-reserve], '\n')] + "\n\n" + incomplete
	}
	_, err := io.WriteString(w, text)
	return err
}

// target escapes a path for a link in Markdown.
func target(path string) string {
	var b strings.Builder
	for _, c := range []byte(page.Href(path)) {
		if c <= ' ' || strings.IndexByte("()<>[]\\`\"'&", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// markdownTable writes a table whose first row is the head. The names in its first row and column can be any text.
func markdownTable(b *strings.Builder, table [][]string) {
	for i, row := range table {
		for j := range row {
			if i == 0 || j == 0 {
				row[j] = report.MarkdownText(row[j])
			}
		}
		if i == 0 {
			b.WriteString(report.MarkdownHead(row))
		} else {
			b.WriteString(report.MarkdownRow(row))
		}
	}
	b.WriteByte('\n')
}
