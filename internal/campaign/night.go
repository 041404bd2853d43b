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

// What is kept from night to night, in a folder of its own: the figures of the last green night, those
// of all nights of a year in a small file each, and the page that shows them.
const (
	greenFolder = "green"
	nightFolder = "nights"
	TrendsFile  = "trends.html"
)

// Night is a campaign that is run again and again, beside the last one that was green: in which all
// was as expected and nothing had become worse.
type Night struct {
	*Campaign
	// Change is against the last green night; nil if there was none yet.
	Change *Comparison
	// Trouble is what could not be read of earlier nights.
	Trouble error
}

// Nightly compares a campaign with the last green night that a folder keeps, and keeps its figures
// there.
func Nightly(dir, kept string) (*Night, error) {
	c, err := Read(dir)
	if err != nil {
		return nil, err
	}
	n := &Night{Campaign: c}
	tonight, err := Results(dir)
	if err != nil {
		return nil, err
	}
	green := filepath.Join(kept, greenFolder)
	if Is(green) {
		before, err := Results(green)
		if err != nil {
			return nil, fmt.Errorf("compare with the last green night: %w; remove %s to begin anew", err, green)
		}
		n.Change = Compare(before, tonight)
	}
	if len(tonight) == 0 {
		return n, nil // nothing that anybody could keep
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
		return nil, fmt.Errorf("keep a green night: %w", err)
	}
	return n, (&report.Bundle{Dir: green}).Write(File, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// Green tells whether the next nights are compared with this one. One that is not would hide from
// the next that it was worse.
func (n *Night) Green() bool {
	return n.Campaign.ExitCode() == report.ExitExpected && (n.Change == nil || n.Change.ExitCode() == report.ExitExpected)
}

// ExitCode is 1 for a change for the worse, and 3 if nothing was run, since nobody would notice
// that. What scenarios expect decides as long as no night was green. What was not
// run for want of time is told, and fails no night.
func (n *Night) ExitCode() int {
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

// Summary tells it in Markdown, what changed first.
func (n *Night) Summary(w io.Writer) error {
	var b strings.Builder
	head := "no green night to compare with yet"
	if n.Change != nil {
		head = n.Change.headline()
	}
	fmt.Fprintf(&b, "# Nightly: %s\n\n", head)
	if n.Change != nil {
		b.WriteString("```\n")
		if err := n.Change.Write(&b); err != nil {
			return err
		}
		b.WriteString("```\n\n")
	}
	after := "not green: later nights are compared with an earlier one"
	if n.Green() {
		after = "green: the next nights are compared with it"
	}
	fmt.Fprintf(&b, "This night is %s.\n\n", after)
	if n.Trouble != nil {
		fmt.Fprintf(&b, "%s\n\n", report.MarkdownText(report.OneLine(n.Trouble.Error())))
	}
	files := []string{AcceptanceFile}
	for _, world := range n.Worlds {
		files = append(files, filepath.Join(world.World, report.SummaryFile))
	}
	for _, file := range files {
		text, err := regular.ReadFile(filepath.Join(n.Dir, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read what came out: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "#") {
				b.WriteByte('#') // they are parts of this one
			}
			b.WriteString(line)
		}
		b.WriteByte('\n')
		if file == AcceptanceFile {
			break // it has them all
		}
	}
	_, err := io.WriteString(w, b.String())
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
		said += fmt.Sprintf(", and %d that the last green night had was not run", len(c.OnlyA))
	}
	return said
}
