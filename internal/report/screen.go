package report

import (
	"bytes"
	"cmp"
	"io"
	"path/filepath"
	"strings"

	"lockbench/checker"
	"lockbench/internal/shellword"
)

// Screen writes the result of a run to a terminal: the table of locks, the first violation, the conclusion, and
// the next commands.
type Screen struct {
	Result *Result
	Dir    string // the folder of the run; empty if nothing was written
	// Latest is the link to Dir, if there is one.
	Latest string
	// Report is the file to open; empty means summary.md in Dir.
	Report string
	// Program is the command for lockbench; empty: lockbench.
	Program string
	Color   bool
	// Width is how many columns there are; 0: [ScreenWidth].
	Width int
}

// width is the maximum width of a line.
func (s Screen) width() int {
	if s.Width <= 0 || s.Width > ScreenWidth {
		return ScreenWidth
	}
	return s.Width
}

// WriteTo writes lines of at most Width columns, except for paths and commands, which stay whole for copying.
func (s Screen) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	s.table(&b)
	s.remarks(&b)
	s.violation(&b)
	s.conclusion(&b)
	s.next(&b)
	return b.WriteTo(w)
}

var _ io.WriterTo = Screen{}

func (s Screen) line(b *bytes.Buffer, p paint, text string) {
	b.WriteString(p.on(strings.TrimRight(text, " "), s.Color))
	b.WriteByte('\n')
}

func (s Screen) table(b *bytes.Buffer) {
	rows := [][]string{{}} // the titles come first
	for _, c := range Columns {
		rows[0] = append(rows[0], c.Title)
	}
	rows = append(rows, cells(Columns, s.Result)...)
	widths, total := make([]int, len(Columns)), -2
	for j := range Columns {
		for _, row := range rows {
			widths[j] = max(widths[j], width(row[j]))
		}
		total += widths[j] + 2
	}
	// Names of locks are the only cells of any length.
	const nameMin = 12
	room := widths[0] - max(0, total-s.width())
	if room >= min(widths[0], nameMin) && clipNames(rows, room) {
		widths[0] = room
		s.wide(b, rows, widths)
	} else {
		s.stacked(b, rows[1:])
	}
	s.paragraph(b, dim, "", s.legend(rows[1:]))
}

// wide is the table with a line for each row, the titles first.
func (s Screen) wide(b *bytes.Buffer, rows [][]string, widths []int) {
	for i, row := range rows {
		var line strings.Builder
		for j, c := range Columns {
			p := noPaint
			switch {
			case i == 0:
				p = bold
			case c.Title == VerdictTitle:
				p = s.Result.Locks[i-1].Outcome().Look().paint
			case j == len(Columns)-1:
				p = s.Result.Locks[i-1].markPaint()
			}
			text := row[j]
			fill := strings.Repeat(" ", widths[j]-width(text))
			if text = p.on(text, s.Color); c.Right {
				line.WriteString(fill + text + "  ")
			} else {
				line.WriteString(text + fill + "  ")
			}
		}
		s.line(b, noPaint, line.String())
	}
}

// stacked is the table for a narrow screen: a line with name, verdict and mark of each lock, and its figures below.
func (s Screen) stacked(b *bytes.Buffer, rows [][]string) {
	for i, row := range rows {
		l := &s.Result.Locks[i]
		last := len(row) - 1
		verdict := l.Shown()
		name := clipMiddle(row[0], s.width()-width(verdict)-width(row[last])-4)
		s.line(b, noPaint, bold.on(name, s.Color)+"  "+l.Outcome().Look().paint.on(verdict, s.Color)+"  "+l.markPaint().on(row[last], s.Color))
		figures := []string{row[1]}
		for j := 3; j < last; j++ {
			if row[j] != missing {
				figures = append(figures, strings.ToLower(Columns[j].Title)+" "+row[j])
			}
		}
		for _, line := range wrap(strings.Join(figures, " · "), s.width()-2) {
			s.line(b, noPaint, "  "+line)
		}
	}
}

// legend explains the marks that occur and the columns.
func (s Screen) legend(rows [][]string) string {
	var parts []string
	for _, code := range []int{ExitExpected, ExitUnexpected, ExitUnknown} {
		exit := Exits[code]
		for _, row := range rows {
			if row[len(row)-1] == exit.mark {
				parts = append(parts, exit.mark+" "+exit.means)
				break
			}
		}
	}
	parts = append(parts, "lost: writes missing at the end", "outage: longest time without a grant", "p99: of acquiring")
	return strings.Join(parts, " · ")
}

// remarks are the lines for locks that need an explanation.
func (s Screen) remarks(b *bytes.Buffer) {
	if s.Result.Interrupted {
		s.paragraph(b, yellow, "", "The run was stopped early: the verdicts are on what was recorded by then.")
	}
	for l := range s.Result.All() {
		if remark := l.Remark(); remark != "" {
			mark, p := l.Mark(), l.markPaint()
			if mark == markExpected && l.Verdict == checker.Violated {
				mark, p = markNote, yellow // a tick would hide the findings
			}
			s.paragraph(b, noPaint, p.on(mark, s.Color)+" ", remark)
		}
		for _, note := range l.Notes {
			s.paragraph(b, noPaint, yellow.on(markNote, s.Color)+" ", l.Lock+": "+note)
		}
	}
	if trouble := s.Result.Trouble(); trouble != "" {
		s.paragraph(b, red, "", trouble)
	}
}

func (s Screen) violation(b *bytes.Buffer) {
	l := s.Result.FirstViolation()
	if l == nil || l.Counterexample == nil {
		return
	}
	b.WriteByte('\n')
	s.line(b, bold, "First violation")
	for _, line := range l.Counterexample.narrow(s.width()) {
		s.line(b, noPaint, line)
	}
}

func (s Screen) conclusion(b *bytes.Buffer) {
	if text := s.Result.Conclusion(); text != "" {
		b.WriteByte('\n')
		s.paragraph(b, noPaint, "", text)
	}
}

// next shows the files, the command that repeats the run, and the meaning of the exit code.
func (s Screen) next(b *bytes.Buffer) {
	type pointer struct{ word, what, note string }
	var pointers []pointer
	if s.Dir != "" {
		path := s.Report
		if path == "" {
			path = filepath.Join(s.Dir, SummaryFile)
		}
		pointers = append(pointers, pointer{"Report", path, ""})
	}
	if s.Result.Again != "" {
		note := "same faults; real time is never identical"
		switch {
		case s.Result.Repeats():
			note = "the same history, byte for byte; " + s.typed("lockbench replay") + " compares"
		case s.Result.Virtual:
			note = "same faults; this run was stopped early"
		}
		pointers = append(pointers, pointer{"Again", s.typed(s.Result.Again), note})
	}
	if dir := cmp.Or(s.Latest, s.Dir); dir != "" {
		if l := s.historyOf(); l != nil {
			pointers = append(pointers, pointer{"History", filepath.Join(dir, FolderName(l.Lock), HistoryFile), s.typed("lockbench check " + shellword.Quote(dir))})
		}
	}
	if len(pointers) > 0 {
		b.WriteByte('\n')
	}
	const wordWidth = 9
	for _, p := range pointers {
		line := pad(p.word, wordWidth) + Printable(p.what)
		note := Printable(p.note)
		if width(line)+2+width(note) <= s.width() {
			line += "  " + note
		} else if note != "" {
			indent := strings.Repeat(" ", wordWidth)
			line += "\n" + indent + Wrap(note, wordWidth, s.width())
		}
		s.line(b, noPaint, line)
	}
	s.paragraph(b, Exits[s.Result.ExitCode()].paint, "", s.Result.ExitLine())
}

// typed is a command with the name of this program.
func (s Screen) typed(command string) string {
	if of, ok := strings.CutPrefix(command, "lockbench "); ok && s.Program != "" {
		return s.Program + " " + of
	}
	return command
}

// historyOf is the lock of the first violation, or the first lock that took part.
func (s Screen) historyOf() *Lock {
	if l := s.Result.FirstViolation(); l != nil {
		return l
	}
	for i := range s.Result.Locks {
		if l := &s.Result.Locks[i]; l.Unsupported == "" {
			return l
		}
	}
	return nil
}

// paragraph wraps a text, with a hanging indent.
func (s Screen) paragraph(b *bytes.Buffer, p paint, before, text string) {
	indent := 0
	if before != "" {
		indent = 2 // a mark and a space
	}
	for i, line := range wrap(OneLine(text), s.width()-indent) {
		if i == 0 {
			line = before + p.on(line, s.Color)
		} else {
			line = strings.Repeat(" ", indent) + p.on(line, s.Color)
		}
		s.line(b, noPaint, line)
	}
}
