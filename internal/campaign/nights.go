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

// NightsFile has a line for each lock of each run of each night.
const NightsFile = "nights.csv"

var nightsHead = []string{"Night", "Scenario", "World", "Seed", "Lock", "Found", "Violating", "Episodes"}

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
