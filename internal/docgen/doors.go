package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/locks/catalog"
)

// doorsFile says which rules of the conformance suite each call of each library kept and broke.
const doorsFile = "results/doors.csv"

// door is the result of the suite for one call of a library on one topology. Broken and Undecided are names of rules.
type door struct {
	Lock, Call, Version, Topology string
	Kept                          int
	Broken, Undecided             string
}

// doorsBlock returns the table of calls.
func doorsBlock() (string, error) {
	all, err := readTable[door](doorsFile)
	return doorsTable(all), err
}

// addDoors puts the results of a folder into the file, each in the place of an earlier one.
func addDoors(folder string) error {
	all, err := readTable[door](doorsFile)
	if err != nil && !os.IsNotExist(err) {
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
		var r struct {
			Lock, Call, Version string
			Topologies          []struct {
				Topology string
				LeftOut  string `json:"left_out"`
				Rules    []struct{ Rule, Result string }
			}
		}
		if err := json.Unmarshal(text, &r); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, on := range r.Topologies {
			if on.LeftOut != "" {
				continue
			}
			d := door{Lock: r.Lock, Call: r.Call, Version: cmp.Or(r.Version, pinned(r.Lock)), Topology: on.Topology}
			var broken, undecided []string
			for _, rule := range on.Rules {
				switch rule.Result {
				case "kept":
					d.Kept++
				case "broken":
					broken = append(broken, rule.Rule)
				case "undecided":
					undecided = append(undecided, rule.Rule)
				}
			}
			d.Broken, d.Undecided = strings.Join(broken, " "), strings.Join(undecided, " ")
			all = slices.DeleteFunc(all, func(o door) bool {
				return o.Lock == d.Lock && o.Call == d.Call && o.Topology == d.Topology
			})
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b door) int { return cmp.Or(inCatalog(a, b), strings.Compare(a.Topology, b.Topology)) })
	return writeTable(doorsFile, all)
}

// pinned is the version of a library in Go, whose adapter is built with it.
func pinned(lock string) string {
	if l, _ := catalog.Find(lock); l.Library != nil && len(l.Library.Guests) == 0 && !strings.Contains(l.Library.Version, "of this machine") {
		return l.Library.Version
	}
	return ""
}

// inCatalog orders results as the catalog has libraries and calls.
func inCatalog(a, b door) int {
	names := catalog.Names()
	l, _ := catalog.Find(a.Lock)
	return cmp.Or(slices.Index(names, a.Lock)-slices.Index(names, b.Lock), slices.Index(l.Calls(), a.Call)-slices.Index(l.Calls(), b.Call))
}

// doorsTable has a row for each call of each library. A call without a result has an empty row.
func doorsTable(all []door) string {
	var b strings.Builder
	b.WriteString("| library | call | version | on | kept | broken | undecided | not run |\n| --- | --- | --- | --- | --: | --- | --- | --- |\n")
	for _, l := range catalog.All() {
		if l.Library == nil {
			continue
		}
		calls := l.Calls()
		if calls == nil {
			calls = []string{""}
		}
		for _, call := range calls {
			row := fmt.Sprintf("| `%s` | %s | | | | | | |\n", l.Name, coded(call))
			for _, d := range all {
				if d.Lock == l.Name && d.Call == call {
					row = fmt.Sprintf("| `%s` | %s | %s | %s | %d | %s | %s | %s |\n", l.Name, coded(call), d.Version, d.Topology, d.Kept,
						coded(d.Broken), coded(d.Undecided), coded(strings.Join(slices.Sorted(maps.Keys(l.Excused)), " ")))
				}
			}
			b.WriteString(row)
		}
	}
	return b.String()
}

// coded shows words as code.
func coded(words string) string {
	if words == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(words, " ", "` `") + "`"
}
