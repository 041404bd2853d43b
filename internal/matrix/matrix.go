// Package matrix runs many scenarios on many locks and lays what came out side by
// side: which lock survives what, as one table.
//
// It has no road of its own. Each of its runs is an ordinary run with an ordinary
// results folder, and those folders are all that it knows: a run that has a
// result.json is done, one that has none is to be done. So a matrix that was
// interrupted, also by kill -9, goes on where it stood, and parts that were run on
// several machines are put together by copying folders.
//
//	results/matrix/<stamp>-<seed>/
//	  matrix.json                  what was asked for, and then what came out
//	  report.html summary.md junit.xml badge.json
//	  <scenario>/<stamp>-<seed>/   the runs
//
// What a run is, and what is expected of a lock, is handed in as functions: this
// package knows neither worlds nor scenarios.
package matrix

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"lockbench/internal/report"
)

// File is what a matrix is told by its folder.
const File = "matrix.json"

// Schema is that of matrix.json. Fields are added, never renamed.
const Schema = 1

// Settings are what was asked for. They are on the disk before anything runs.
type Settings struct {
	Matrix    int       `json:"matrix"` // the schema
	Locks     string    `json:"locks,omitempty"`
	Scenarios string    `json:"scenarios,omitempty"`
	World     string    `json:"world"`
	About     string    `json:"world_about,omitempty"`
	Seed      uint64    `json:"seed"`
	Episodes  int       `json:"episodes,omitempty"` // of each cell; 0: as each scenario says
	Started   time.Time `json:"started,omitzero"`
	Program   string    `json:"program,omitempty"`
	Machine   string    `json:"machine,omitempty"`
	Again     string    `json:"again,omitempty"` // the command
	// Shard is which of Shards parts this one is, from 1; both 0: the whole.
	Shard  int    `json:"shard,omitempty"`
	Shards int    `json:"shards,omitempty"`
	Plan   []Part `json:"plan"`
}

// Part is a scenario with the locks that it runs.
type Part struct {
	Scenario string   `json:"scenario"`
	About    string   `json:"about,omitempty"`
	Locks    []string `json:"locks"`
	// Episodes is how many one run has.
	Episodes int `json:"episodes"`
	// Runs is how many runs are wanted, each with the next seed, whatever the budget
	// would allow; 0: as the settings' number of episodes, or their budget, say.
	Runs int `json:"runs,omitempty"`
}

// Matrix is what came out.
type Matrix struct {
	Settings
	Rows []Row `json:"rows"`
	// Stopped is why what is missing is missing, if anything is.
	Stopped string `json:"stopped,omitempty"`
	// Dir is where it lies.
	Dir string `json:"-"`
}

// Row is one scenario: its locks over all of its runs.
type Row struct {
	// Result is that of all runs together; its Locks have the figures of all episodes.
	Result *report.Result `json:"result"`
	Runs   []Ran          `json:"runs,omitempty"`
	// NotRun says why there is none.
	NotRun string `json:"not_run,omitempty"`
}

// Ran is one run of a row.
type Ran struct {
	Dir   string `json:"dir"` // relative to the matrix, with slashes
	Seed  uint64 `json:"seed"`
	Again string `json:"again,omitempty"`
	// Broke are the locks that were violated in it.
	Broke []string `json:"broke,omitempty"`

	result *report.Result
}

// Result is what the run found, with one finding of each class. It is nil for a matrix
// that was read and not collected.
func (r *Ran) Result() *report.Result { return r.result }

// failed tells whether the harness failed for a lock in it.
func (r *Ran) failed() bool {
	return slices.ContainsFunc(r.result.Locks, func(l report.Lock) bool { return l.Error != "" })
}

// Unable is why no lock with servers could take part in the run: the world cannot do
// what the scenario asks for. Empty if one could, or if there is none but controls.
func (r *Ran) Unable() string {
	why := ""
	for i := range r.result.Locks {
		switch l := &r.result.Locks[i]; {
		case l.Control():
		case l.Unsupported == "":
			return ""
		default:
			why = cmp.Or(why, report.OneLine(l.Unsupported))
		}
	}
	return why
}

// Expects says what a scenario expects of a lock, and whether the figures of all runs
// together are so.
type Expects func(scenario string, l *report.Lock) (expected string, holds bool, why string)

// write puts a file into the folder of a matrix, whole or not at all.
func write(dir, name string, w func(io.Writer) error) error {
	return (&report.Bundle{Dir: dir}).Write(name, w)
}

func writeJSON(dir string, v any) error {
	return write(dir, File, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		return e.Encode(v)
	})
}

// Create makes the folder of a new matrix and writes down what was asked for.
func Create(out string, s Settings) (dir string, err error) {
	b, err := report.Create(out, "matrix", s.Started, s.Seed)
	if err != nil {
		return "", err
	}
	return b.Dir, Begin(b.Dir, s)
}

// Begin writes down in a folder that is there what is asked for.
func Begin(dir string, s Settings) error {
	s.Matrix = Schema
	return writeJSON(dir, s)
}

// Is tells whether a folder is a matrix.
func Is(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, File))
	return err == nil && info.Mode().IsRegular()
}

// ReadSettings reads what was asked for.
func ReadSettings(dir string) (Settings, error) {
	m, err := Read(dir)
	if err != nil {
		return Settings{}, err
	}
	return m.Settings, nil
}

// Read reads a matrix as it was written last.
func Read(dir string) (*Matrix, error) {
	name := filepath.Join(dir, File)
	text, err := os.ReadFile(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read %s: there is none; name the folder of a matrix, such as results/matrix/20261121-114000-7", name)
		}
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	m := &Matrix{Dir: dir}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if m.Matrix != Schema {
		return nil, fmt.Errorf("read %s: it has schema %d and this lockbench reads %d", name, m.Matrix, Schema)
	}
	return m, nil
}

// shelf holds the finished runs of a matrix. Each is read once, for a result does not
// change any more, and of its findings one of each class is kept: the rest stands in
// the run, and hundreds of runs are a lot of findings.
type shelf struct {
	dir  string
	read map[string]*report.Result // by folder
}

func newShelf(dir string) *shelf { return &shelf{dir: dir, read: map[string]*report.Result{}} }

func (s *shelf) result(folder string) (*report.Result, error) {
	if r, ok := s.read[folder]; ok {
		return r, nil
	}
	b, err := report.Load(filepath.Join(s.dir, filepath.FromSlash(folder)))
	if err != nil {
		return nil, err
	}
	r := b.Result
	for i := range r.Locks {
		for j := range r.Locks[i].Checks {
			c := &r.Locks[i].Checks[j]
			c.Findings = oneOfEachClass(nil, c.Findings)
		}
	}
	s.read[folder] = r
	return r, nil
}

// finished are the runs of a scenario that have a result, by their seeds. A run that
// was stopped early is not one of them.
func (s *shelf) finished(scenario string) ([]Ran, error) {
	dir := s.dir
	folder := report.FolderName(scenario)
	entries, err := os.ReadDir(filepath.Join(dir, folder))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, fmt.Errorf("look for finished runs: %w", err)
	}
	var all []Ran
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		relative := path.Join(folder, e.Name())
		if _, err := os.Stat(filepath.Join(dir, folder, e.Name(), report.ResultFile)); err != nil {
			continue // killed before it could write one
		}
		r, err := s.result(relative)
		if err != nil {
			return nil, err
		}
		if r.Interrupted || r.Scenario != scenario {
			continue
		}
		ran := Ran{Dir: relative, Seed: r.Seed, Again: r.Again, result: r}
		for i := range r.Locks {
			if l := &r.Locks[i]; l.Verdict.String() == "violated" {
				ran.Broke = append(ran.Broke, l.Lock)
			}
		}
		// Of one seed there is one run, also if a folder was copied twice. One that the
		// harness failed in gives way to the next, which was done in its place.
		switch i := slices.IndexFunc(all, func(x Ran) bool { return x.Seed == r.Seed }); {
		case i < 0:
			all = append(all, ran)
		case all[i].failed():
			all[i] = ran
		}
	}
	slices.SortFunc(all, func(a, b Ran) int { return cmp.Compare(a.Seed, b.Seed) })
	return all, nil
}

// Collect reads all finished runs of a matrix and puts them together.
func Collect(dir string, expects Expects) (*Matrix, error) {
	return collect(newShelf(dir), expects)
}

func collect(shelf *shelf, expects Expects) (*Matrix, error) {
	dir := shelf.dir
	s, err := ReadSettings(dir)
	if err != nil {
		return nil, err
	}
	m := &Matrix{Settings: s, Dir: dir}
	for _, part := range s.Plan {
		ran, err := shelf.finished(part.Scenario)
		if err != nil {
			return nil, err
		}
		m.Rows = append(m.Rows, rowOf(s, part, ran, expects))
	}
	return m, nil
}

// ExitCode is what a program that ran the matrix should end with. What was not run is
// undecided, and so is a matrix without rows.
func (m *Matrix) ExitCode() int {
	code, notRun := report.ExitExpected, len(m.Rows) == 0
	weight := map[int]int{report.ExitExpected: 0, report.ExitUnknown: 1, report.ExitUnexpected: 2, report.ExitHarness: 3}
	for _, r := range m.Rows {
		if r.NotRun != "" {
			notRun = true
			continue
		}
		one := r.Result.ExitCode()
		if one == report.ExitUnknown && r.nobodyCould() {
			one = report.ExitExpected // its cells say why
		}
		if weight[one] > weight[code] {
			code = one
		}
	}
	if notRun && code == report.ExitExpected {
		return report.ExitUnknown
	}
	return code
}

// nobodyCould tells whether every lock of a row is unsupported in this world.
func (r *Row) nobodyCould() bool {
	return !slices.ContainsFunc(r.Result.Locks, func(l report.Lock) bool { return l.Unsupported == "" })
}
