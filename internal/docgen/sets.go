package main

import (
	"cmp"
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

// addSets puts the results of explore --faults, NAME.json for each lock and workload, into the file, each in the place of an earlier one.
func addSets(folder string) error {
	rows, err := readSetRows()
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return noResults(folder)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var f search.SetsFound
		if err := json.Unmarshal(text, &f); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		rows = slices.DeleteFunc(rows, func(r []string) bool { return r[0] == f.Lock && r[1] == f.Workload })
		rows = append(rows, setRows(&f)...)
	}
	slices.SortStableFunc(rows, func(a, b []string) int {
		return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1]))
	})
	short, faults := shorten(rows)
	return errors.Join(
		writeRows(setsFile, slices.Concat([][]string{setColumns}, short)),
		writeRows(setFaultsFile, slices.Concat([][]string{{"Number", "Fault"}}, faults)),
	)
}

// readSetRows returns the rows of sets.csv with all columns, and the faults of a kind by name.
func readSetRows() ([][]string, error) {
	named, err := readCSV(setFaultsFile)
	if err != nil {
		return nil, err
	}
	rows, err := readCSV(setsFile)
	if err != nil {
		return nil, err
	}
	faults := map[string]string{} // by number
	for _, r := range named {
		faults[r[0]] = r[1]
	}
	var above []string
	for _, r := range rows {
		if r[0] == "" {
			copy(r, above)
		}
		above = r[:searchColumns]
		if r[kindColumn] == "" {
			continue
		}
		kind := strings.Split(r[kindColumn], "+")
		for i, number := range kind {
			kind[i] = faults[number]
		}
		r[kindColumn] = strings.Join(kind, " + ")
	}
	return rows, nil
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
