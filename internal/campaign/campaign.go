// Package campaign does many runs and lays what came out side by side: worlds ×
// scenarios × locks × seeds. A matrix is a campaign in one world, which is judged over
// all runs of a scenario together; an acceptance is one in several worlds, in which
// each run must be as its scenario expects.
//
// It has no road of its own. Each of its runs is an ordinary run with an ordinary
// results folder, and those folders are all that it knows: a run that has a result.json
// is whole, one that has none is to be done. So a campaign that was interrupted, also by
// kill -9, goes on where it stood, and parts that were run on several machines are put
// together by copying folders.
//
//	results/<kind>/<stamp>-<seed>/
//	  campaign.json                what was asked for, and then what came out
//	  acceptance.md                of an acceptance: all worlds side by side
//	  <world>/
//	    report.html summary.md junit.xml badge.json
//	    <scenario>/<stamp>-<seed>/   a run; the stamp tells two attempts at it apart
package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/internal/regular"
	"lockbench/internal/report"
	"lockbench/internal/shard"
	"lockbench/internal/shellword"
	"lockbench/internal/stats"
	"lockbench/internal/world/external"
	"lockbench/scenarios"
)

// File is what a campaign is told by its folder.
const File = "campaign.json"

// Schema is that of campaign.json. Fields are added, never renamed.
const Schema = 1

// The kinds of campaign are the commands that begin them.
const (
	MatrixKind     = "matrix"
	AcceptanceKind = "acceptance"
	// SpreadKind is one that a file describes and that is split by runs, where the parts of a matrix
	// are whole scenarios.
	SpreadKind = "campaign"
)

// byRuns tells whether its parts share the runs of each scenario. Those of the others have
// scenarios of their own.
func (s Settings) byRuns() bool { return s.Kind == SpreadKind }

// Settings are what was asked for. They are on the disk before anything runs.
type Settings struct {
	Campaign  int    `json:"campaign"` // the schema
	Kind      string `json:"kind"`
	Locks     string `json:"locks,omitempty"`
	Scenarios string `json:"scenarios,omitempty"`
	Seed      uint64 `json:"seed"` // of the first runs; those after it count up
	// Episodes is how many each cell has; 0: as each scenario says.
	Episodes int `json:"episodes,omitempty"`
	// Asked is what is expected in place of what the scenarios say.
	scenarios.Asked
	// Servers are those of somebody else's, in world external.
	Servers external.Given `json:"servers,omitzero"`
	// Each says that each run must be as its scenario expects. Otherwise all runs of a
	// scenario together must.
	Each    bool        `json:"each,omitempty"`
	Shard   shard.Shard `json:"shard,omitzero"`
	Started time.Time   `json:"started,omitzero"`
	Program string      `json:"program,omitempty"`
	Machine string      `json:"machine,omitempty"`
	Again   string      `json:"again,omitempty"` // the command
	// Groups are the headings under which locks stand beside others of their family.
	Groups map[string]string `json:"groups,omitempty"`
}

// Campaign is what was asked for, and what came out.
type Campaign struct {
	Settings
	Worlds []World `json:"worlds"`
	// Dir is where it lies.
	Dir string `json:"-"`
}

// World is a world with what is to be run in it.
type World struct {
	World string `json:"world"`
	About string `json:"about,omitempty"`
	// Missing says why the world cannot be used on this machine.
	Missing string `json:"missing,omitempty"`
	// Started is when, and Machine where, the first of its runs began; nothing if none did.
	Started time.Time `json:"started,omitzero"`
	Machine string    `json:"machine,omitempty"`
	// Programs are the lockbenches that ran: more than one if the campaign went on with
	// another.
	Programs []string `json:"programs,omitempty"`
	// Again is the command, where it is not that of the campaign.
	Again string `json:"again,omitempty"`
	Rows  []Row  `json:"rows"`
}

// Part is a scenario with the locks that it runs.
type Part struct {
	Scenario string   `json:"scenario"`
	About    string   `json:"about,omitempty"`
	Locks    []string `json:"locks"`
	// Episodes is how many one run has.
	Episodes int `json:"episodes"`
	// Asked is how many runs are wanted, each with the next seed; 0: as the number of
	// episodes, or the budget, says.
	Asked int `json:"asked,omitempty"`
	// Elsewhere is how many of these belong to other parts.
	Elsewhere int `json:"elsewhere,omitempty"`
}

// Row is a scenario in a world: its locks over all of its runs.
type Row struct {
	Part
	// Result is that of all runs together; its Locks have the figures of all episodes.
	Result *report.Result `json:"result,omitempty"`
	Runs   []Ran          `json:"runs,omitempty"`
	// NotRun says why fewer were run than were asked for.
	NotRun string `json:"not_run,omitempty"`
	// Odd are the runs that were not as expected, where each must be.
	Odd []Odd `json:"odd,omitempty"`
	// Rates are then the locks that broke more or less often over all seeds than they may.
	Rates []string `json:"rates,omitempty"`
}

// Run is one run that is to be done. Its Episodes are those of this run: the last run of a
// scenario has fewer where the campaign asks for a number that is not a multiple.
type Run struct {
	World string
	Part
	Seed uint64
}

// ID names the run: what has it is the same run, wherever it was done.
func (r Run) ID() string { return fmt.Sprintf("%s/%s/%d", r.World, r.Scenario, r.Seed) }

// Ran is one run that was done.
type Ran struct {
	Dir   string `json:"dir"` // relative to the campaign, with slashes
	Seed  uint64 `json:"seed"`
	Again string `json:"again,omitempty"`
	// Broke are the locks that were violated in it.
	Broke []string `json:"broke,omitempty"`

	result *report.Result
}

// Odd is a lock that in one run did not do what was expected of it.
type Odd struct {
	Seed  uint64 `json:"seed"`
	Lock  string `json:"lock"`
	Text  string `json:"text"`
	Dir   string `json:"dir"` // of the run, relative to the campaign, with slashes
	Again string `json:"again"`
	// Harness says that lockbench failed, and Undecided that it could not tell.
	Harness   bool `json:"harness,omitempty"`
	Undecided bool `json:"undecided,omitempty"`
}

// Create makes the folder of a new campaign and writes down what was asked for.
func Create(out string, s Settings, worlds []World) (*Campaign, error) {
	b, err := report.Create(out, s.Kind, s.Started, s.Seed)
	if err != nil {
		return nil, err
	}
	s.Campaign = Schema
	c := &Campaign{Settings: s, Worlds: worlds, Dir: b.Dir}
	return c, c.writeJSON()
}

// earlier are what campaigns were told by before they had one format.
var earlier = []string{"matrix.json", "acceptance.json"}

// Is tells whether a folder is a campaign, or once was one.
func Is(dir string) bool {
	return slices.ContainsFunc(append([]string{File}, earlier...), func(name string) bool { return isFile(filepath.Join(dir, name)) })
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Read reads a campaign as it was written last.
func Read(dir string) (*Campaign, error) {
	name := filepath.Join(dir, File)
	text, err := regular.ReadFile(name)
	if err != nil {
		for _, old := range earlier {
			if isFile(filepath.Join(dir, old)) {
				return nil, fmt.Errorf("read %s: it has %s and no %s: an earlier lockbench wrote it, and goes on with it; this one begins anew", dir, old, File)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read %s: there is none; name the folder of a matrix, such as results/matrix/20261121-114000-7, or name the folder of an acceptance", name)
		}
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	c := &Campaign{Dir: dir}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if c.Campaign != Schema {
		return nil, fmt.Errorf("read %s: it has schema %d and this lockbench reads %d", name, c.Campaign, Schema)
	}
	return c, nil
}

// Open reads a campaign that the command of its kind is to go on with.
func Open(dir, kind string) (*Campaign, error) {
	c, err := Read(dir)
	if err == nil && c.Kind != kind {
		return nil, fmt.Errorf("%s was begun by lockbench %s, and only that goes on with it", dir, c.Kind)
	}
	return c, err
}

// file puts a file into a folder of the campaign, whole or not at all.
func (c *Campaign) file(folder, name string, w func(io.Writer) error) error {
	return (&report.Bundle{Dir: filepath.Join(c.Dir, folder)}).Write(name, w)
}

func (c *Campaign) writeJSON() error {
	slim := *c
	slim.Worlds = slices.Clone(c.Worlds)
	for i := range slim.Worlds {
		w := &slim.Worlds[i]
		w.Rows = slices.Clone(w.Rows)
		for j := range w.Rows {
			w.Rows[j].Result = figures(w.Rows[j].Result)
		}
	}
	return c.file("", File, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(slim)
	})
}

// figures is a result without what stands in those of its runs, and what no table and
// no comparison asks for.
func figures(r *report.Result) *report.Result {
	if r == nil {
		return nil
	}
	slim := *r
	slim.About, slim.Plan, slim.Locks = "", nil, slices.Clone(r.Locks)
	for i := range slim.Locks {
		l := &slim.Locks[i]
		l.Options, l.Plan, l.AcquireMS, l.OverlapMS = nil, nil, nil, nil
		if after, ok := stats.Median(l.ViolationAfterS); ok {
			l.ViolationAfterS = []float64{after}
		}
		if a, ok := l.LatencyMS["acquire"]; ok {
			l.LatencyMS = map[string]stats.Latency{"acquire": a}
		}
		fence, judged := l.Check(checker.Resource)
		l.Checks = nil
		if judged && l.Claims.Fenced {
			l.Checks = []checker.Result{{Name: fence.Name, Verdict: fence.Verdict}}
		}
	}
	return &slim
}

// write puts everything that is made from a campaign into its folder.
func (c *Campaign) write() error {
	all := []error{c.writeJSON()}
	for i := range c.Worlds {
		if w := &c.Worlds[i]; w.Missing == "" || w.ran() > 0 {
			all = append(all, os.MkdirAll(filepath.Join(c.Dir, w.World), 0o755), (&matrix{w, c}).write())
		}
	}
	if c.Each {
		all = append(all, c.file("", AcceptanceFile, c.acceptance))
	}
	return errors.Join(all...)
}

// Pages are those of the worlds.
func (c *Campaign) Pages() []string {
	var all []string
	for _, w := range c.Worlds {
		if path := filepath.Join(c.Dir, w.World, PageFile); isFile(path) {
			all = append(all, path)
		}
	}
	return all
}

// Remarks are what a person must hear of a matrix: what was not run, and what is not as
// expected.
func (c *Campaign) Remarks() []string {
	var all []string
	for _, w := range c.Worlds {
		for i := range w.Rows {
			r := &w.Rows[i]
			if why := r.notRun(); why != "" {
				all = append(all, r.Scenario+": "+why)
			}
			for _, l := range r.wrong() {
				all = append(all, fmt.Sprintf("%s %s, %s", l.Mark(), r.Scenario, l.Remark()))
			}
		}
	}
	return all
}

// Resume is the command that goes on with this campaign.
func (c *Campaign) Resume() string {
	if c.byRuns() {
		return c.Again // the same command goes on
	}
	return "lockbench " + c.Kind + " --resume " + shellword.Quote(c.Dir)
}

// ran is how many runs there are of a world.
func (w *World) ran() int {
	n := 0
	for i := range w.Rows {
		n += len(w.Rows[i].Runs)
	}
	return n
}

// ExitCode is what a program that ran the campaign should end with.
func (c *Campaign) ExitCode() int {
	var rows []Row
	for _, w := range c.Worlds {
		rows = append(rows, w.Rows...)
	}
	return exitCode(rows, c.Each)
}

// exitCode is 0 only if what was asked for was run and is as expected; each says that
// each run must be. What was not run is undecided, and so is a campaign of nothing.
func exitCode(rows []Row, each bool) int {
	code, tried := report.ExitExpected, false
	for i := range rows {
		r := &rows[i]
		if !each {
			tried = tried || len(r.Runs) > 0 && slices.ContainsFunc(r.Result.Locks, able)
			code = report.Worst(code, r.together())
			continue
		}
		if r.Unable() == "" && len(r.Runs) > 0 {
			tried = true
		}
		if !r.whole() {
			code = report.Worst(code, report.ExitUnknown)
		}
		if len(r.Rates) > 0 {
			code = report.Worst(code, report.ExitUnexpected)
		}
		for _, o := range r.Odd {
			code = report.Worst(code, o.exitCode())
		}
	}
	if !tried {
		return report.Worst(code, report.ExitUnknown) // nothing happened is not the same as nothing went wrong
	}
	return code
}

// able tells whether a lock could take part.
func able(l report.Lock) bool { return l.Unsupported == "" }

// together is the exit code of all runs of a row together.
func (r *Row) together() int {
	switch {
	case len(r.Runs) == 0:
		return report.ExitUnknown
	case !slices.ContainsFunc(r.Result.Locks, able):
		return report.ExitExpected // its cells say why
	}
	return r.Result.ExitCode()
}

func (o *Odd) exitCode() int {
	switch {
	case o.Harness:
		return report.ExitHarness
	case o.Undecided:
		return report.ExitUnknown
	}
	return report.ExitUnexpected
}

// whole tells whether everything that was asked for was run.
func (r *Row) whole() bool { return len(r.Runs) >= max(r.Asked, 1)-r.Elsewhere || r.Unable() != "" }

// Unable is why no lock with servers could take part: the world cannot do what the
// scenario asks for. Empty if one could, if there is none but controls, or before a run.
func (r *Row) Unable() string {
	if len(r.Runs) == 0 {
		return ""
	}
	return unable(r.Result)
}

// asExpected is how many of its runs were as expected.
func (r *Row) asExpected() int {
	odd := map[uint64]bool{}
	for _, o := range r.Odd {
		odd[o.Seed] = true
	}
	return len(r.Runs) - len(odd)
}

// notRun says that none of its runs was done, and why.
func (r *Row) notRun() string {
	switch {
	case len(r.Runs) > 0:
		return ""
	case r.Elsewhere > 0 && r.Elsewhere == r.Asked:
		return "in other parts"
	case r.NotRun == "":
		return "not run"
	}
	return "not run: " + r.NotRun
}
