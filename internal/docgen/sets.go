package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"lockbench/internal/virtual/search"
)

// setsFile has the counts of explore --faults, and setFaultsFile the names of the faults in it.
const (
	setsFile      = "results/sets.csv"
	setFaultsFile = "results/sets-faults.csv"
)

// setColumns are the columns of sets.csv. A row without a lock has the first searchColumns columns of the row above. A kind has
// the numbers of its faults, 12+3, and a row without a kind is about all sets of a size.
var setColumns = []string{"Lock", "Workload", "Rounds", "Faults", "Sets", "NotRun", "Unknown", "Kind", "Shows", "Count", "After"}

const searchColumns, kindColumn = 7, 7

// takeSets replaces sets.csv by the results of explore --faults, NAME.json for each lock and workload.
func takeSets(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return noResults(folder)
	}
	var rows [][]string
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
	short, faults := shorten(rows)
	return errors.Join(
		writeRows(setsFile, slices.Concat([][]string{setColumns}, short)),
		writeRows(setFaultsFile, slices.Concat([][]string{{"Number", "Fault"}}, faults)),
	)
}

// writeRows writes a CSV file.
func writeRows(file string, rows [][]string) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	return csv.NewWriter(out).WriteAll(rows)
}

// shorten leaves out the columns of a search that the row above has, too, and numbers the faults of the kinds.
func shorten(rows [][]string) (short, faults [][]string) {
	numbers := map[string]string{}
	var above []string
	for _, row := range rows {
		search := row[:searchColumns]
		row = slices.Clone(row)
		if slices.Equal(search, above) {
			clear(row[:searchColumns])
		}
		above = search
		if kind := row[kindColumn]; kind != "" {
			var parts []string
			for _, fault := range strings.Split(kind, " + ") {
				if numbers[fault] == "" {
					numbers[fault] = strconv.Itoa(len(numbers) + 1)
					faults = append(faults, []string{numbers[fault], fault})
				}
				parts = append(parts, numbers[fault])
			}
			row[kindColumn] = strings.Join(parts, "+")
		}
		short = append(short, row)
	}
	return short, faults
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
