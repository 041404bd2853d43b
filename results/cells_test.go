// Package results keeps what campaigns measured, and writes it into the tables of the documentation.
//
//	cells.csv    one line for each scenario, lock and world: what the runs found
//	batches.csv  one line for each campaign: which program, machine and seeds measured these cells
//
// To measure again and write the tables: make measure FILE=campaigns/libraries.yaml.
package results

import (
	"encoding/csv"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"lockbench/checker"
	"lockbench/internal/campaign"
	"lockbench/internal/report"
)

// The files of this folder.
const (
	cellsFile   = "cells.csv"
	batchesFile = "batches.csv"
)

// noPart is the verdict of a lock that cannot take part in a scenario, or that no fault of the scenario concerns.
const noPart = "none"

// cell is the result of one lock in one scenario and world, over all runs of one campaign.
type cell struct {
	World, Scenario, Lock string
	Verdict, Class        string
	Violating, Episodes   figure // the violated ones of the episodes that count
	LostWrites, OutageS   figure
	Batch                 string
}

// figure is a number, or nothing: a figure that was not measured is empty and not 0.
type figure struct {
	value    float64
	measured bool
}

// measuredAs returns a figure that was measured.
func measuredAs[N int | float64](n N) figure { return figure{float64(n), true} }

func (f figure) n() int { return int(f.value) }

// String returns the number, or an empty text.
func (f figure) String() string {
	if !f.measured {
		return ""
	}
	return strconv.FormatFloat(f.value, 'f', -1, 64)
}

// parseFigure is the reverse of String.
func parseFigure(text string) (figure, error) {
	if text == "" {
		return figure{}, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	return measuredAs(n), err
}

// plus returns the sum, which is unknown if one of the figures is.
func (f figure) plus(g figure) figure {
	if !f.measured || !g.measured {
		return figure{}
	}
	return measuredAs(f.value + g.value)
}

// atLeast returns the larger figure, or the one that was measured.
func (f figure) atLeast(g figure) figure {
	if !f.measured || g.measured && g.value > f.value {
		return g
	}
	return f
}

// batch is a campaign that measured cells.
type batch struct {
	Batch                          string
	Program, Machine, World, About string
	Seeds, Begun                   string
}

// place is what there is one cell for.
type place struct{ world, scenario, lock string }

func (c cell) place() place { return place{c.World, c.Scenario, c.Lock} }

// readTable reads a CSV file with a header line into structs of the same fields.
func readTable[T any](file string) ([]T, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var all []T
	for n, line := range lines[1:] {
		var one T
		v := reflect.ValueOf(&one).Elem()
		if len(line) != v.NumField() {
			return nil, fmt.Errorf("%s:%d: %d fields, expected %d", file, n+2, len(line), v.NumField())
		}
		for i, text := range line {
			var err error
			switch field := v.Field(i).Addr().Interface().(type) {
			case *figure:
				*field, err = parseFigure(text)
			case *int:
				*field, err = strconv.Atoi(text)
			case *string:
				*field = text
			default:
				err = fmt.Errorf("a field of type %T cannot be read", field)
			}
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, n+2, err)
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// writeTable writes structs as a CSV file with their fields as the header line.
func writeTable[T any](file string, all []T) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w := csv.NewWriter(f)
	var header []string
	row := reflect.TypeFor[T]()
	for i := range row.NumField() {
		header = append(header, row.Field(i).Name)
	}
	if err := w.Write(header); err != nil {
		return err
	}
	for _, one := range all {
		var line []string
		v := reflect.ValueOf(one)
		for i := range v.NumField() {
			line = append(line, fmt.Sprint(v.Field(i).Interface()))
		}
		if err := w.Write(line); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// runsBelow returns the results of the runs below a folder. A campaign has one run for each seed, as in its table. A run that was
// interrupted does not count.
func runsBelow(folder string) (all []*report.Result, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return err
		case campaign.Is(path):
			c, err := campaign.Read(path)
			if err != nil {
				return err
			}
			t, err := c.Table()
			if err != nil {
				return err
			}
			for _, r := range t.Rows {
				for _, x := range r.Runs {
					all = append(all, x.Result)
				}
			}
			return fs.SkipDir
		}
		text, err := os.ReadFile(filepath.Join(path, report.ResultFile))
		if err != nil {
			return nil // another folder
		}
		r, err := report.ReadResult(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if !r.Interrupted {
			all = append(all, r)
		}
		return fs.SkipDir
	})
	return all, err
}

// collect adds up the runs below a folder, one cell for each place. A lock whose harness failed in a run does not count.
func collect(folder string) (cells []cell, batches []batch, err error) {
	at := map[place]*cell{}
	byWorld := map[string]*batch{}
	seeds := map[string][]uint64{}
	runs, err := runsBelow(folder)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range runs {
		b := byWorld[r.World]
		if b == nil {
			begun := r.Started.UTC().Format("2006-01-02")
			b = &batch{
				Batch: begun + "-" + filepath.Base(folder) + "-" + r.World, Program: r.Program, Machine: r.Machine,
				World: r.World, About: r.WorldAbout, Begun: begun,
			}
			byWorld[r.World] = b
		}
		if b.Program != r.Program || b.Machine != r.Machine {
			return nil, nil, fmt.Errorf("%s, seed %d, was run by %s on %s, and other runs of this folder by %s on %s", r.Scenario, r.Seed, r.Program, r.Machine, b.Program, b.Machine)
		}
		seeds[r.World] = append(seeds[r.World], r.Seed)
		for i := range r.Locks {
			l := &r.Locks[i]
			if l.Error != "" {
				continue
			}
			c := cell{World: r.World, Scenario: r.Scenario, Lock: l.Lock, Batch: b.Batch}
			if l.Unsupported != "" || strings.Contains(l.Why, "no fault of this scenario concerns it") {
				c.Verdict = noPart
			} else {
				c.Verdict, c.Class = l.Verdict.String(), classOf(l)
				broke, counted := l.Counted()
				c.Violating, c.Episodes = measuredAs(broke), measuredAs(counted)
				c.LostWrites, c.OutageS = measuredAs(l.LostUpdates), measuredAs(float64(int(l.OutageS*100))/100)
			}
			if sum := at[c.place()]; sum == nil {
				at[c.place()] = &c
			} else {
				sum.add(c)
			}
		}
	}
	for _, c := range at {
		cells = append(cells, *c)
	}
	for world, b := range byWorld {
		b.Seeds = fmt.Sprintf("%d..%d", slices.Min(seeds[world]), slices.Max(seeds[world]))
		batches = append(batches, *b)
	}
	return cells, batches, nil
}

// classOf returns the class of a violation, or the first check that found something.
func classOf(l *report.Lock) string {
	if l.Class != checker.NoClass {
		return l.Class.String()
	}
	for _, c := range l.Checks {
		if c.Verdict == checker.Violated {
			return c.Name
		}
	}
	return ""
}

// severity orders the verdicts of several runs of one cell: the first one stands for all.
var severity = []string{"violated", "valid", "unknown", noPart}

// add adds another run of the same cell. An undecided run does not count where another was decided.
func (c *cell) add(d cell) {
	worse, better := *c, d
	if slices.Index(severity, d.Verdict) < slices.Index(severity, c.Verdict) {
		worse, better = d, *c
	}
	*c = worse
	if better.Verdict == "unknown" || better.Verdict == noPart {
		return
	}
	c.Violating, c.Episodes, c.LostWrites = worse.Violating.plus(better.Violating), worse.Episodes.plus(better.Episodes), worse.LostWrites.plus(better.LostWrites)
	c.OutageS = worse.OutageS.atLeast(better.OutageS)
}

// merge replaces the cells that were measured again, and drops the batches that no cell names any more.
func merge(cells, newCells []cell, batches, newBatches []batch) ([]cell, []batch) {
	at := map[place]cell{}
	for _, c := range append(cells, newCells...) {
		at[c.place()] = c
	}
	used := map[string]bool{}
	var all []cell
	for _, c := range at {
		used[c.Batch] = true
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b cell) int {
		return slices.Compare([]string{a.World, a.Scenario, a.Lock}, []string{b.World, b.Scenario, b.Lock})
	})
	byName := map[string]batch{}
	for _, b := range append(batches, newBatches...) {
		if used[b.Batch] {
			byName[b.Batch] = b
		}
	}
	var kept []batch
	for _, b := range byName {
		kept = append(kept, b)
	}
	slices.SortFunc(kept, func(a, b batch) int { return strings.Compare(a.Batch, b.Batch) })
	return all, kept
}
