// Package campaign runs many combinations of worlds, scenarios, locks and seeds, and shows their results side by side.
//
// Each run of a campaign is an ordinary run with an ordinary results folder. These folders are the only state of a
// campaign: a run is complete if its folder has a result.json. So an interrupted campaign, also after kill -9, continues
// where it stopped, and shards from several machines are merged by copying folders.
//
//	results/matrix/<stamp>-<seed>/   or results/matrix/<name of the file>/[<I>-of-<N>/]
//	    campaign.json                  the settings and the results
//	    report.html summary.md junit.xml
//	    <world>/<scenario>/<stamp>-<seed>/   a run; the stamp distinguishes attempts
//
// A row is a scenario in a world with its runs, one for each seed. Each run is compared with the verdicts that its
// scenario expects. A rate is judged over all episodes of all seeds.
package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockbench/internal/regular"
	"lockbench/internal/report"
	"lockbench/internal/shard"
	"lockbench/internal/shellword"
	"lockbench/internal/world/external"
	"lockbench/scenarios"
)

// File is the name of the file in the folder of every campaign.
const File = report.CampaignFile

// Folder is the name of the folder of campaigns in a results folder.
const Folder = "matrix"

// Schema is the version of campaign.json. Fields are added and never renamed.
const Schema = 1

// Settings are the choices of the user. They are on disk before the first run.
type Settings struct {
	Campaign  int    `json:"campaign"` // the schema
	Locks     string `json:"locks,omitempty"`
	Scenarios string `json:"scenarios,omitempty"`
	Seed      uint64 `json:"seed"` // of the first run of each row; the others count up
	// Seeds is the number of runs of each row in the format of [ParseSeeds], and Episodes the number of episodes of each
	// row. The default is one run, or as many as the budget allows.
	Seeds    string `json:"seeds,omitempty"`
	Episodes int    `json:"episodes,omitempty"`
	// Asked replaces the expectations of scenarios.
	scenarios.Asked
	// Servers are the servers of world external.
	Servers external.Given `json:"servers,omitzero"`
	Shard   shard.Shard    `json:"shard,omitzero"`
	Started time.Time      `json:"started,omitzero"`
	Program string         `json:"program,omitempty"`
	Machine string         `json:"machine,omitempty"`
	Again   string         `json:"again,omitempty"` // the command
}

// Campaign is a campaign with its results.
type Campaign struct {
	Settings
	Worlds []World `json:"worlds"`
	// FiguresOnly means that the figures were kept without the runs.
	FiguresOnly bool `json:"figures_only,omitempty"`
	// Dir is the campaign's folder.
	Dir string `json:"-"`
}

// World is a world with its rows.
type World struct {
	World string `json:"world"`
	About string `json:"about,omitempty"`
	// Missing is the reason why the world cannot be used on this machine.
	Missing string `json:"missing,omitempty"`
	// Started and Machine are the time and the machine of the first run; zero without a run.
	Started time.Time `json:"started,omitzero"`
	Machine string    `json:"machine,omitempty"`
	// Programs are the versions of lockbench that did the runs, usually one.
	Programs []string `json:"programs,omitempty"`
	Rows     []Row    `json:"rows"`
}

// Part is a scenario with its locks.
type Part struct {
	Scenario string   `json:"scenario"`
	About    string   `json:"about,omitempty"`
	Locks    []string `json:"locks"`
	// Episodes is the number of episodes of a run.
	Episodes int `json:"episodes"`
	// Asked is the number of runs, with consecutive seeds; 0: one, or as many as the budget allows.
	Asked int `json:"asked,omitempty"`
	// Elsewhere is the number of runs that belong to other shards.
	Elsewhere int `json:"elsewhere,omitempty"`
}

// Row is a scenario in a world: its locks over all its runs.
type Row struct {
	Part
	// Result combines all runs; its Locks have the figures of all episodes.
	Result *report.Result `json:"result,omitempty"`
	Runs   []Ran          `json:"runs,omitempty"`
	// NotRun is the reason for missing runs.
	NotRun string `json:"not_run,omitempty"`
	// Odd are locks that did not meet the expectation in a run.
	Odd []Odd `json:"odd,omitempty"`
	// Rates are locks whose rate over all seeds differs from the expectation.
	Rates []string `json:"rates,omitempty"`
}

// Run is a run to do. Its last run of a row has fewer episodes if the campaign's number of episodes is not a multiple.
type Run struct {
	World string
	Part
	Seed uint64
}

// ID returns the identity of the run, wherever it is done.
func (r Run) ID() string { return fmt.Sprintf("%s/%s/%d", r.World, r.Scenario, r.Seed) }

// Ran is a run that was done.
type Ran struct {
	Dir   string `json:"dir"` // relative to the campaign, with slashes
	Seed  uint64 `json:"seed"`
	Again string `json:"again,omitempty"`
	// Broke are the locks that were violated in it.
	Broke []string `json:"broke,omitempty"`

	result *report.Result
}

// Create makes the folder of a new campaign and writes the settings.
func Create(out string, s Settings, worlds []World) (*Campaign, error) {
	b, err := report.Create(out, Folder, s.Started, s.Seed)
	if err != nil {
		return nil, err
	}
	return create(b.Dir, s, worlds)
}

func create(dir string, s Settings, worlds []World) (*Campaign, error) {
	s.Campaign = Schema
	c := &Campaign{Settings: s, Worlds: worlds, Dir: dir}
	return c, c.writeJSON()
}

// OpenOrCreate continues the campaign in a named folder, or begins it. A batch engine can so restart a shard on any
// machine. If the folder contains a different campaign, it returns an error.
func OpenOrCreate(out, name string, s Settings, worlds []World) (*Campaign, error) {
	dir := filepath.Join(out, Folder, name)
	if s.Shard.N > 0 {
		dir = filepath.Join(dir, s.Shard.Folder())
	}
	if !Is(dir) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make the folder of a campaign: %w", err)
		}
		return create(dir, s, worlds)
	}
	was, err := Read(dir)
	if err != nil {
		return nil, err
	}
	if what := was.differs(&Campaign{Settings: s, Worlds: worlds}); what != "" {
		return nil, wrong("--out", fmt.Sprintf("%s has another campaign: it differs in %s", dir, what), "give a new folder, or remove that one")
	}
	return was, nil
}

// Is reports whether a folder contains a campaign.
func Is(dir string) bool { return regular.Is(filepath.Join(dir, File)) }

// Inside returns the folder of the only campaign in a results folder, such as the one of --out. It returns other folders
// as they are.
func Inside(dir string) (string, error) {
	if Is(dir) || regular.Is(filepath.Join(dir, report.ResultFile)) {
		return dir, nil
	}
	var found []string
	entries, _ := os.ReadDir(filepath.Join(dir, Folder)) // without it, the caller reports what is wrong with dir
	for _, e := range slices.Backward(entries) {
		if inside := filepath.Join(dir, Folder, e.Name()); Is(inside) {
			found = append(found, inside)
		}
	}
	switch len(found) {
	case 0:
		return dir, nil
	case 1:
		return found[0], nil
	}
	const most = 5
	text := strings.Join(found[:min(len(found), most)], ", ")
	if more := len(found) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "", fmt.Errorf("%s has %d matrices; name one of them: %s", dir, len(found), text)
}

// Read reads a campaign from its folder.
func Read(dir string) (*Campaign, error) {
	name := filepath.Join(dir, File)
	text, err := regular.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: there is no such file; name the folder of a matrix, such as results/matrix/20261121-114000-7", name)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	c := &Campaign{Dir: dir}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if c.Campaign != Schema {
		return nil, fmt.Errorf("read %s: it has schema %d and this lockbench reads %d", name, c.Campaign, Schema)
	}
	c.FiguresOnly = c.FiguresOnly || c.copied()
	return c, nil
}

// copied reports whether the folder has nothing but the file of the campaign, which then was copied to keep its figures.
func (c *Campaign) copied() bool {
	entries, err := os.ReadDir(c.Dir)
	return err == nil && len(entries) == 1 && c.any(func(r *Row) bool { return len(r.Runs) > 0 })
}

// Gone returns an error that names the runs of the campaign that are missing, or whose histories are.
func (c *Campaign) Gone() error {
	if c.FiguresOnly {
		return nil
	}
	var gone []error
	for ran := range c.runs() {
		dir := filepath.Join(c.Dir, filepath.FromSlash(ran.Dir))
		if !regular.Is(filepath.Join(dir, report.ResultFile)) {
			gone = append(gone, fmt.Errorf("%s: %s is gone", dir, report.ResultFile))
			continue
		}
		b, err := report.Load(dir)
		if err == nil {
			err = b.Gone()
		}
		gone = append(gone, err)
	}
	return errors.Join(gone...)
}

// runs returns the runs that were done.
func (c *Campaign) runs() iter.Seq[Ran] {
	return func(yield func(Ran) bool) {
		for _, w := range c.Worlds {
			for _, r := range w.Rows {
				for _, ran := range r.Runs {
					if !yield(ran) {
						return
					}
				}
			}
		}
	}
}

// file writes a file of the campaign's folder atomically.
func (c *Campaign) file(name string, w func(io.Writer) error) error {
	return report.WriteFile(filepath.Join(c.Dir, name), w)
}

func (c *Campaign) writeJSON() error {
	return c.file(File, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(c)
	})
}

// write writes all files of the campaign.
func (c *Campaign) write() error {
	var results []*report.Result
	for _, r := range c.lines() {
		result := *r.Result
		result.Scenario = r.name
		results = append(results, &result)
	}
	return errors.Join(c.writeJSON(),
		c.file(PageFile, c.page),
		c.file(report.SummaryFile, c.summary),
		c.file(report.JUnitFile, func(w io.Writer) error { return report.JUnit(w, results...) }),
	)
}

// Page returns the path of the page.
func (c *Campaign) Page() string { return filepath.Join(c.Dir, PageFile) }

// Resume returns the command that continues this campaign.
func (c *Campaign) Resume() string { return "lockbench matrix --resume " + shellword.Quote(c.Dir) }

// line is a row of a table.
type line struct {
	*Row
	name string // the scenario, with its world if there are several
}

// lines returns the rows of all worlds that are usable here or ran earlier.
func (c *Campaign) lines() []line {
	var all []line
	for i := range c.Worlds {
		w := &c.Worlds[i]
		if w.Missing != "" && w.ran() == 0 {
			continue
		}
		for j := range w.Rows {
			name := w.Rows[j].Scenario
			if len(c.Worlds) > 1 {
				name += " · " + w.World
			}
			all = append(all, line{&w.Rows[j], name})
		}
	}
	return all
}

// ran returns the number of runs that were done in a world.
func (w *World) ran() int {
	n := 0
	for i := range w.Rows {
		n += len(w.Rows[i].Runs)
	}
	return n
}

func (c *Campaign) worldNames() string {
	names := ""
	for _, w := range c.Worlds {
		names += w.World + ","
	}
	return names
}

// wanted returns the least number of runs of the row in this campaign or shard.
func (r *Row) wanted() int { return max(r.Asked, 1) - r.Elsewhere }

// complete reports whether all runs of the row were done.
func (r *Row) complete() bool { return len(r.Runs) >= r.wanted() || r.Unable() != "" }

// Unable returns the reason why no lock with servers could take part: the world does not support the scenario. It is empty
// if a lock could, if there are only controls, and before the first run.
func (r *Row) Unable() string {
	if len(r.Runs) == 0 {
		return ""
	}
	return unable(r.Result)
}

// notRun returns the reason why none of the runs was done.
func (r *Row) notRun() string {
	switch {
	case len(r.Runs) > 0:
		return ""
	case r.wanted() == 0:
		return "in other shards"
	case r.NotRun == "":
		return "not run"
	}
	return "not run: " + r.NotRun
}
