package campaign

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lockbench/internal/regular"
	"lockbench/internal/report"
	"lockbench/internal/report/index"
	"lockbench/internal/report/site"
)

// What is kept between campaigns that are run again and again, in a folder of its own: the figures of the last green
// one, those of a year in a small file each, and the page that shows them.
const (
	greenFolder = "green"
	nightFolder = "nights"
	TrendsFile  = "trends.html"
)

// Kept is a campaign that is run again and again, next to the last one that was green: in which everything was as
// expected and nothing had become worse.
type Kept struct {
	*Campaign
	// Change is against the last green one; nil if there was none yet.
	Change *Comparison
	// Trouble is what could not be read of earlier ones.
	Trouble error
}

// Keep compares a campaign with another one, by itself the last green one that a folder keeps, and keeps its figures
// there.
func Keep(before, dir, kept string) (*Kept, error) {
	c, err := Read(dir)
	if err != nil {
		return nil, err
	}
	n := &Kept{Campaign: c}
	tonight, err := Results(dir)
	if err != nil {
		return nil, err
	}
	green := filepath.Join(kept, greenFolder)
	if before == "" && Is(green) {
		before = green
	}
	if before != "" {
		earlier, err := Results(before)
		if err != nil {
			return nil, fmt.Errorf("compare with the last green one: %w; remove %s to start over", err, before)
		}
		n.Change = Compare(earlier, tonight)
	}
	if len(tonight) == 0 {
		return n, nil // nothing to keep
	}
	nights := filepath.Join(kept, nightFolder)
	if err := index.KeepNight(nights, c.Started, c.Seed, tonight); err != nil {
		return nil, err
	}
	var shelf index.Shelf
	shelf, n.Trouble = index.Nights(nights)
	if err := (&report.Bundle{Dir: kept}).Write(TrendsFile, func(w io.Writer) error { return site.Nights(w, shelf) }); err != nil {
		return nil, err
	}
	if !n.Green() {
		return n, nil
	}
	text, err := regular.ReadFile(filepath.Join(dir, File))
	if err == nil {
		err = os.MkdirAll(green, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("keep the figures of a green campaign: %w", err)
	}
	return n, (&report.Bundle{Dir: green}).Write(File, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// Green tells whether the next ones are compared with this one. One that is not green would hide from the next that
// it was worse.
func (n *Kept) Green() bool {
	return n.Campaign.ExitCode() == report.ExitExpected && (n.Change == nil || n.Change.ExitCode() == report.ExitExpected)
}

// ExitCode is 1 for a change for the worse, and 3 if nothing was run, which would otherwise go unnoticed. As long as
// none was green, the expectations of the scenarios decide. What was not run for want of time is reported and fails
// nothing.
func (n *Kept) ExitCode() int {
	ran := 0
	for i := range n.Worlds {
		ran += n.Worlds[i].ran()
	}
	switch {
	case ran == 0:
		return report.ExitHarness
	case n.Change != nil && n.Change.Worse():
		return report.ExitUnexpected
	case n.Change == nil && n.Campaign.ExitCode() != report.ExitUnknown:
		return n.Campaign.ExitCode()
	}
	return report.ExitExpected
}

// Write writes it in Markdown, what changed first.
func (n *Kept) Write(w io.Writer) error {
	var b strings.Builder
	head := "no green one to compare with yet"
	if n.Change != nil {
		head = n.Change.headline()
	}
	fmt.Fprintf(&b, "# lockbench: %s\n\n", head)
	if n.Change != nil {
		b.WriteString("```\n")
		if err := n.Change.Write(&b); err != nil {
			return err
		}
		b.WriteString("```\n\n")
	}
	after := "not green: later ones are compared with an earlier one"
	if n.Green() {
		after = "green: the next ones are compared with it"
	}
	fmt.Fprintf(&b, "This one is %s.\n\n", after)
	if n.Trouble != nil {
		fmt.Fprintf(&b, "%s\n\n", report.MarkdownText(report.OneLine(n.Trouble.Error())))
	}
	text, err := regular.ReadFile(filepath.Join(n.Dir, report.SummaryFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the summary: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			b.WriteByte('#') // a part of this one
		}
		b.WriteString(line)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// headline says in a few words what changed.
func (c *Comparison) headline() string {
	worse, other := 0, 0
	for _, x := range c.Changes {
		if x.Worse {
			worse++
		} else {
			other++
		}
	}
	said := "nothing changed"
	switch {
	case worse > 0:
		said = report.Plural(worse, "change") + " for the worse"
	case other > 0:
		said = report.Plural(other, "change") + ", none for the worse"
	}
	if len(c.OnlyA) > 0 {
		said += fmt.Sprintf(", and %d that the last green one had was not run", len(c.OnlyA))
	}
	return said
}
