package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"lockbench/internal/virtual/search"
)

// setsFile has the counts of explore --faults. Tests of docs/ write them into pages.
const setsFile = "results/sets.csv"

// setColumns are the columns of sets.csv. A row without a kind is about all sets of a size.
var setColumns = []string{"Lock", "Workload", "Rounds", "Faults", "Sets", "NotRun", "Unknown", "Kind", "Shows", "Count", "After"}

// takeSets replaces sets.csv by the results of explore --faults, NAME.json for each lock and workload.
func takeSets(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return noResults(folder)
	}
	rows := [][]string{setColumns}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var f search.SetsFound
		if err := json.Unmarshal(text, &f); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		rows = append(rows, setRows(&f)...)
	}
	out, err := os.Create(setsFile)
	if err != nil {
		return err
	}
	defer out.Close()
	return csv.NewWriter(out).WriteAll(rows)
}

// setRows are the rows of one lock.
func setRows(f *search.SetsFound) (rows [][]string) {
	for _, l := range f.Levels {
		if !l.Complete {
			continue
		}
		head := []string{
			f.Lock, f.Workload, strconv.Itoa(f.Rounds), strconv.Itoa(l.Faults), strconv.Itoa(l.Sets), strconv.Itoa(l.NotRun), strconv.Itoa(l.Unknown),
		}
		rows = append(rows, append(slices.Clone(head), "", "", strconv.Itoa(l.Violated), ""))
		for _, kind := range slices.Sorted(maps.Keys(l.Kinds)) {
			for _, shows := range slices.Sorted(maps.Keys(l.Kinds[kind])) {
				after := "" // that many sets, and explore finds the smallest one again
				for _, s := range f.Smallest {
					if s.Kind() == kind && s.Shows() == shows {
						after = strconv.Itoa(s.After)
					}
				}
				rows = append(rows, append(slices.Clone(head), kind, shows, strconv.Itoa(l.Kinds[kind][shows]), after))
			}
		}
	}
	return rows
}
