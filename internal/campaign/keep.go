package campaign

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/internal/regular"
	"lockbench/internal/report"
)

// greenFolder has the last green campaign, between repeated ones, without histories.
const greenFolder = "green"

// NightsFile has a line for each row and lock of each night.
const NightsFile = "nights.csv"

var nightsHead = []string{"Night", "Scenario", "World", "Seed", "Lock", "Found", "Violating", "Episodes"}

// Kept is a repeated campaign, compared with the last green one. Green means: as expected and without a change for the
// worse.
type Kept struct {
	*Table
	// Change is the comparison with the last green campaign; nil if there was none.
	Change *Comparison
}

// Keep compares a campaign with another one, by default the last green one, and keeps its figures.
func Keep(before, dir, kept string) (*Kept, error) {
	dir, err := Inside(dir)
	if err != nil {
		return nil, err
	}
	t, err := readTable(dir)
	if err != nil {
		return nil, err
	}
	n := &Kept{Table: t}
	tonight := t.Results()
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
	if err := keepNight(kept, t.Campaign.Started, tonight); err != nil {
		return nil, err
	}
	if !n.Green() {
		return n, nil
	}
	if err := keepGreen(green, t); err != nil {
		return nil, fmt.Errorf("keep the results of a green campaign: %w", err)
	}
	return n, nil
}

// keepGreen replaces a folder with the plan and the results of a campaign, without histories.
func keepGreen(green string, t *Table) error {
	made := *t.Campaign
	made.Dir = green + ".new"
	if err := errors.Join(os.RemoveAll(made.Dir), os.MkdirAll(made.Dir, 0o755)); err != nil {
		return err
	}
	for _, r := range t.Rows {
		for _, x := range r.Runs {
			dir := filepath.FromSlash(x.Dir)
			if err := os.MkdirAll(filepath.Join(made.Dir, dir), 0o755); err != nil {
				return err
			}
			for _, name := range []string{report.ResultFile, report.ScenarioFile} {
				text, err := regular.ReadFile(filepath.Join(t.Campaign.Dir, dir, name))
				if name == report.ScenarioFile && errors.Is(err, fs.ErrNotExist) {
					continue // the folder was itself kept without it
				}
				if err == nil {
					err = report.WriteText(filepath.Join(made.Dir, dir, name), text)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return errors.Join(made.writeJSON(), os.RemoveAll(green), os.Rename(made.Dir, green))
}

// keepNight adds the runs of a night to the file in a folder. A run replaces itself.
func keepNight(dir string, started time.Time, results []*report.Result) error {
	path := filepath.Join(dir, NightsFile)
	lines, err := readNights(path)
	if err != nil {
		return fmt.Errorf("read the figures of earlier nights in %s: %w; move the file away to begin again", path, err)
	}
	night := started.UTC().Format(time.RFC3339)
	for _, r := range results {
		run := []string{night, r.Scenario, r.World, strconv.FormatUint(r.Seed, 10)}
		lines = slices.DeleteFunc(lines, func(line []string) bool { return slices.Equal(line[:len(run)], run) })
		for l := range r.All() {
			violating, episodes := l.Counted()
			lines = append(lines, slices.Concat(run, []string{report.OneLine(l.Lock), l.Shown(), strconv.Itoa(violating), strconv.Itoa(episodes)}))
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("keep the figures of a night: %w", err)
	}
	return report.WriteFile(path, func(w io.Writer) error {
		return csv.NewWriter(w).WriteAll(append([][]string{nightsHead}, lines...))
	})
}

// readNights returns the lines of a file after its head, and none if there is no file.
func readNights(path string) ([][]string, error) {
	text, err := regular.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	lines, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 || !slices.Equal(lines[0], nightsHead) {
		return nil, fmt.Errorf("its first line is not %s", strings.Join(nightsHead, ","))
	}
	return lines[1:], nil
}

// Green reports whether the next campaigns are compared with this one. A campaign that is worse must not become the
// reference.
func (n *Kept) Green() bool {
	return n.Table.ExitCode() == report.ExitExpected && (n.Change == nil || n.Change.ExitCode() == report.ExitExpected)
}

// ExitCode is 1 after a change for the worse, and 3 if nothing was run, which would otherwise be missed. Without a
// reference the expectations of the scenarios decide. Runs that did not fit into the budget are reported only.
func (n *Kept) ExitCode() int {
	switch {
	case n.Ran() == 0:
		return report.ExitHarness
	case n.Change != nil && n.Change.worse() > 0:
		return report.ExitUnexpected
	case n.Change == nil && n.Table.ExitCode() != report.ExitUnknown:
		return n.Table.ExitCode()
	}
	return report.ExitExpected
}

// Summary writes a summary in Markdown, changes first.
func (n *Kept) Summary(w io.Writer) error {
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
	text, err := regular.ReadFile(filepath.Join(n.Campaign.Dir, report.SummaryFile))
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
