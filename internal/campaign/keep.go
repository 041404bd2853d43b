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
)

// greenFolder has the figures of the last green campaign, between repeated ones.
const greenFolder = "green"

// Kept is a repeated campaign, compared with the last green one. Green means: as expected and without a change for the
// worse.
type Kept struct {
	*Campaign
	// Change is the comparison with the last green campaign; nil if there was none.
	Change *Comparison
}

// Keep compares a campaign with another one, by default the last green one, and keeps its figures.
func Keep(before, dir, kept string) (*Kept, error) {
	dir, err := Inside(dir)
	if err != nil {
		return nil, err
	}
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
	if err := keepNight(kept, c.Started, tonight); err != nil {
		return nil, err
	}
	if !n.Green() {
		return n, nil
	}
	if err := os.MkdirAll(green, 0o755); err != nil {
		return nil, fmt.Errorf("keep the figures of a green campaign: %w", err)
	}
	figures := *c
	figures.Dir, figures.FiguresOnly = green, true
	return n, figures.writeJSON()
}

// Green reports whether the next campaigns are compared with this one. A campaign that is worse must not become the
// reference.
func (n *Kept) Green() bool {
	return n.Campaign.ExitCode() == report.ExitExpected && (n.Change == nil || n.Change.ExitCode() == report.ExitExpected)
}

// ExitCode is 1 after a change for the worse, and 3 if nothing was run, which would otherwise be missed. Without a
// reference the expectations of the scenarios decide. Runs that did not fit into the budget are reported only.
func (n *Kept) ExitCode() int {
	ran := 0
	for i := range n.Worlds {
		ran += n.Worlds[i].ran()
	}
	switch {
	case ran == 0:
		return report.ExitHarness
	case n.Change != nil && n.Change.worse() > 0:
		return report.ExitUnexpected
	case n.Change == nil && n.Campaign.ExitCode() != report.ExitUnknown:
		return n.Campaign.ExitCode()
	}
	return report.ExitExpected
}

// Write writes a summary in Markdown, changes first.
func (n *Kept) Write(w io.Writer) error {
	var b strings.Builder
	head := "no green one to compare with yet"
	if n.Change != nil {
		head = n.Change.headline()
	}
	fmt.Fprintf(&b, "# lockbench: %s\n\n", head)
	if n.Change != nil {
		var change strings.Builder
		if err := n.Change.Write(&change); err != nil {
			return err
		}
		b.WriteString(report.MarkdownBlock("", change.String()) + "\n")
	}
	after := "not green: later campaigns are compared with an earlier one"
	if n.Green() {
		after = "green: the next campaigns are compared with it"
	}
	fmt.Fprintf(&b, "This one is %s.\n\n", after)
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
