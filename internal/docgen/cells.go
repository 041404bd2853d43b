package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The files of what campaigns measured: a line for each scenario, lock and world, with what the runs found, and a line for each
// campaign, with the program, the machine and the seeds.
const (
	cellsFile   = "results/cells.csv"
	batchesFile = "results/batches.csv"
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
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return figure{}, fmt.Errorf("%q is not a figure", text)
	}
	return measuredAs(n), nil
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
	Batch                                 string
	Program, Judge, Machine, World, About string // Judge is the version of the program that judged the histories
	Seeds, Begun                          string
}

// commitOf finds the commit in the version of a program.
var commitOf = regexp.MustCompile(`-([0-9a-f]{12})(\)|$)`)

// commit returns the commit whose program measured, or "" if the program names none, or had changes.
func (b batch) commit() string { return commitIn(b.Program) }

func commitIn(program string) string {
	if found := commitOf.FindStringSubmatch(program); found != nil {
		return found[1]
	}
	return ""
}

// oneCommit returns an error unless each cell names a batch, and all batches were measured by one commit.
func oneCommit(cells []cell, batches []batch) error {
	var problems []error
	named := map[string]bool{}
	for _, b := range batches {
		named[b.Batch] = true
		switch first := batches[0]; {
		case b.commit() == "":
			problems = append(problems, fmt.Errorf("batch %s was measured by %q, which names no commit", b.Batch, b.Program))
		case commitIn(b.Judge) == "" || b.Judge != first.Judge:
			problems = append(problems, fmt.Errorf("batch %s was judged by %q, and batch %s by %q; collect all of them with one docgen, built in a clone without changes", b.Batch, b.Judge, first.Batch, first.Judge))
		case b.commit() != first.commit():
			problems = append(problems, fmt.Errorf("batch %s was measured by commit %s, and batch %s by %s", b.Batch, b.commit(), first.Batch, first.commit()))
		}
	}
	for _, c := range cells {
		if !named[c.Batch] {
			problems = append(problems, fmt.Errorf("%s of %s in %s was measured by batch %q, which %s does not have", c.Scenario, c.Lock, c.World, c.Batch, batchesFile))
			named[c.Batch] = true // once
		}
	}
	return errors.Join(problems...)
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
	row := reflect.TypeFor[T]()
	if len(lines) == 0 || !slices.Equal(lines[0], header(row)) {
		return nil, fmt.Errorf("%s: the first line is not %s", file, strings.Join(header(row), ","))
	}
	var all []T
	for n, line := range lines[1:] {
		var one T
		v := reflect.ValueOf(&one).Elem()
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

// header returns the names of the fields of a struct.
func header(row reflect.Type) (names []string) {
	for i := range row.NumField() {
		names = append(names, row.Field(i).Name)
	}
	return names
}

// writeTable writes structs as a CSV file with their fields as the header line.
func writeTable[T any](file string, all []T) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w := csv.NewWriter(f)
	if err := w.Write(header(reflect.TypeFor[T]())); err != nil {
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
