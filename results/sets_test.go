package results

import (
	"encoding/csv"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"lockbench/internal/virtual/search"
)

// sets is the folder of the results of explore --faults.
var sets = flag.String("sets", "", "take the counts of explore --faults, NAME.json for each lock and workload, from this `folder` into sets.csv")

// setColumns are the columns of sets.csv. A row without a kind is about all sets of a size.
var setColumns = []string{"Lock", "Workload", "Rounds", "Faults", "Sets", "NotRun", "Unknown", "Kind", "Shows", "Count", "After"}

// TestCollectSets writes sets.csv, and checks that it can be read.
func TestCollectSets(t *testing.T) {
	if *sets != "" {
		files, err := filepath.Glob(filepath.Join(*sets, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no results in %s: %v", *sets, err)
		}
		rows := [][]string{setColumns}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var f search.SetsFound
			if err := json.Unmarshal(text, &f); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			rows = append(rows, setRows(&f)...)
		}
		out, err := os.Create("sets.csv")
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if err := csv.NewWriter(out).WriteAll(rows); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open("sets.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) < 2 || !slices.Equal(rows[0], setColumns) {
		t.Errorf("sets.csv: %d rows, %v", len(rows), err)
	}
}

// TestResultsAreSmall: what was measured stays within 400,000 bytes, so that a clone stays small.
func TestResultsAreSmall(t *testing.T) {
	files, err := filepath.Glob("*.csv")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	sum := int64(0)
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	if sum > 400_000 {
		t.Errorf("the results have %d bytes", sum)
	}
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
