package index

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockbench/internal/regular"
	"lockbench/internal/report"
)

// NightsMost is how many nights are kept: one year.
const NightsMost = 366

// nightFile is the file of a night. It is small, so that it can be kept longer than the runs.
type nightFile struct {
	Night int     `json:"night"` // the schema
	Runs  []entry `json:"runs"`
}

const nightSchema = 1

// KeepNight writes the file of a night, named after its time and seed, and removes nights beyond a year. It replaces
// the file of the same night.
func KeepNight(dir string, started time.Time, seed uint64, results []*report.Result) error {
	night := nightFile{Night: nightSchema}
	for _, r := range results {
		e := entry{}
		e.take(r)
		e.Started = started // all runs belong to one night
		night.Runs = append(night.Runs, e)
	}
	text, err := json.Marshal(night)
	if err != nil {
		return fmt.Errorf("keep the figures of a night: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("keep the figures of a night: %w", err)
	}
	name := fmt.Sprintf("%s-%d.json", started.UTC().Format("20060102-150405"), seed)
	if err := report.WriteText(filepath.Join(dir, name), text); err != nil {
		return err
	}
	files, err := nightFiles(dir)
	if err != nil {
		return err
	}
	for _, old := range files[:max(0, len(files)-NightsMost)] {
		err = errors.Join(err, os.Remove(old))
	}
	return err
}

// nightFiles are the files of nights in a folder, the oldest first.
func nightFiles(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "[0-9]*-*.json"))
	if err != nil {
		return nil, fmt.Errorf("find the nights in %s: %w", dir, err)
	}
	slices.Sort(files)
	return files, nil
}

// Nights reads all nights in a folder. The error names files that cannot be read; the others are returned.
func Nights(dir string) (Shelf, error) {
	files, err := nightFiles(dir)
	if err != nil {
		return Shelf{}, err
	}
	var s Shelf
	for _, file := range files {
		var night nightFile
		text, readErr := regular.ReadFile(file)
		if errors.Is(readErr, fs.ErrNotExist) {
			continue // another process has removed it
		}
		if readErr == nil {
			readErr = json.Unmarshal(text, &night)
		}
		if readErr == nil && night.Night != nightSchema {
			readErr = fmt.Errorf("it has schema %d and this lockbench reads %d", night.Night, nightSchema)
		}
		if readErr != nil {
			err = errors.Join(err, fmt.Errorf("%s is left out: %w", file, readErr))
			continue
		}
		s.runs = append(s.runs, night.Runs...)
	}
	slices.SortStableFunc(s.runs, func(a, b entry) int {
		return cmp.Or(b.Started.Compare(a.Started), strings.Compare(a.Scenario, b.Scenario))
	})
	return s, err
}
