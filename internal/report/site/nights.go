package site

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockbench/internal/regular"
	"lockbench/internal/report"
)

// The files of repeated campaigns: the figures of their runs, and a page of them that needs no network.
const (
	nightsFile = "nights.json"
	TrendsFile = "trends.html"
)

// year is how long the figures of a run are kept.
const year = 366 * 24 * time.Hour

// nights is the content of nights.json.
type nights struct {
	Schema int     `json:"schema"`
	Runs   []entry `json:"runs"` // the newest first
}

const nightsSchema = 1

// KeepNight adds the runs of a night to the figures in a folder, drops those that are older than a year, and writes the
// page. It replaces the same runs of the same night.
func KeepNight(dir string, started time.Time, results []*report.Result) error {
	path := filepath.Join(dir, nightsFile)
	kept := nights{Schema: nightsSchema}
	text, err := regular.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err == nil && kept.Schema != nightsSchema {
		err = fmt.Errorf("it has schema %d and this lockbench reads %d", kept.Schema, nightsSchema)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the figures of earlier nights in %s: %w; move the file away to begin again", path, err)
	}
	for _, r := range results {
		e := newEntry(r)
		e.Started = started // all runs belong to one night
		kept.Runs = slices.DeleteFunc(kept.Runs, func(old entry) bool {
			return old.Started.Before(started.Add(-year)) ||
				old.Started.Equal(started) && old.Seed == e.Seed && old.Scenario == e.Scenario && old.World == e.World
		})
		kept.Runs = append(kept.Runs, e)
	}
	slices.SortStableFunc(kept.Runs, func(a, b entry) int {
		return cmp.Or(b.Started.Compare(a.Started), strings.Compare(a.Scenario, b.Scenario))
	})
	if text, err = json.Marshal(kept); err != nil {
		return fmt.Errorf("keep the figures of a night: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("keep the figures of a night: %w", err)
	}
	return errors.Join(
		report.WriteText(path, text),
		report.WriteFile(filepath.Join(dir, TrendsFile), func(w io.Writer) error {
			return trendsPage.Execute(w, newTrends(kept.Runs))
		}),
	)
}
