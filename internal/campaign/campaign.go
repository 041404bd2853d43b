// Package campaign does many runs, of several worlds, scenarios, locks and seeds, and shows their results in one table.
//
// campaign.json has the plan: the settings of the user, and how many runs each scenario has in each world. Results are only
// in the folders of the runs, which are ordinary runs. A run is done if its folder has a result.json.
//
//	results/matrix/<stamp>-<seed>/   or results/matrix/<name of the file>/[<I>-of-<N>/]
//	    campaign.json                  the plan
//	    report.html summary.md junit.xml
//	    <world>/<scenario>/<stamp>-<seed>/   a run; the stamp distinguishes attempts
//
// [Campaign.Run] does the runs that are missing. So an interrupted campaign, also after kill -9, continues where it
// stopped, and shards from several machines are merged by copying folders. [Campaign.Table] is a function of the folders
// of the runs. The page, the screen, comparisons, merged shards and published results show this table.
package campaign

import (
	"bytes"
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

// Schema is the version of campaign.json. Version 1 also had results.
const Schema = 2

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
	// Enough ends the runs of a lock in a scenario: at least so many episodes count, and all are violated. 0: no lock
	// leaves.
	Enough int `json:"enough,omitempty"`
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

// Campaign is the plan of a campaign and the folder of its runs.
type Campaign struct {
	Settings
	Worlds []World `json:"worlds"`
	// Dir is the campaign's folder.
	Dir string `json:"-"`
}

// World is a world with its jobs.
type World struct {
	World string `json:"world"`
	About string `json:"about,omitempty"`
	// Missing is the reason why the world cannot be used on this machine, and Stopped why runs were left out in it.
	Missing string `json:"missing,omitempty"`
	Stopped string `json:"stopped,omitempty"`
	Jobs    []Job  `json:"rows"`
}

// Job is a scenario in a world with its locks. It has a run for each seed.
type Job struct {
	Scenario string   `json:"scenario"`
	About    string   `json:"about,omitempty"`
	Locks    []string `json:"locks"`
	// Episodes is the number of episodes of a run.
	Episodes int `json:"episodes"`
	// Asked is the number of runs, with consecutive seeds; 0: one, or as many as the budget allows.
	Asked int `json:"asked,omitempty"`
}

// Run is a run of a job. The last run of a job has fewer episodes if the campaign's number of episodes is not a multiple.
type Run struct {
	World string
	Job
	Seed  uint64
	index int // of the job

	// These fields are set if the run was done.
	Result *report.Result
	Dir    string // relative to the campaign, with slashes
	Href   string // the page of the run, or its summary; empty if neither was kept
	gone   error  // the histories that are missing
}

// ID returns the identity of the run, wherever it is done.
func (r Run) ID() string { return fmt.Sprintf("%s/%s/%d", r.World, r.Scenario, r.Seed) }

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
	if what := differs(was, &Campaign{Settings: s, Worlds: worlds}); what != "" {
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
	switch {
	case c.Campaign == 1:
		if !c.hasRuns() && bytes.Contains(text, []byte(`"result":`)) {
			return nil, fmt.Errorf("read %s: an earlier lockbench wrote the results into this file, and the runs, which this one reads, are not in the folder; "+
				"name the folder of the matrix itself", name)
		}
		c.Campaign = Schema
	case c.Campaign != Schema:
		return nil, fmt.Errorf("read %s: it has schema %d and this lockbench reads schemas 1 and %d; read it with the lockbench that wrote it", name, c.Campaign, Schema)
	}
	for _, w := range c.Worlds {
		if w.World != report.FolderName(w.World) {
			return nil, fmt.Errorf("read %s: no world is named %q, which is not the name of a folder", name, w.World)
		}
	}
	return c, nil
}

// hasRuns reports whether any run was done.
func (c *Campaign) hasRuns() bool {
	found, _ := filepath.Glob(filepath.Join(c.Dir, "*", "*", "*", report.ResultFile)) // the pattern is well formed
	return len(found) > 0
}

// writeJSON writes the plan.
func (c *Campaign) writeJSON() error {
	return report.WriteFile(filepath.Join(c.Dir, File), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		return e.Encode(c)
	})
}

// Resume returns the command that continues this campaign.
func (c *Campaign) Resume() string { return "lockbench matrix --resume " + shellword.Quote(c.Dir) }

// Runs yields the runs of this shard in a world, round by round: each job once, then each again with the next seed. rounds
// returns how many runs a job has over all shards; the number may change while a loop goes on.
func (c *Campaign) Runs(w *World, rounds func(job int) int) iter.Seq[Run] {
	before := 0
	for i := range c.Worlds {
		if c.Worlds[i].World == w.World {
			break
		}
		for _, job := range c.Worlds[i].Jobs {
			before += job.Asked
		}
	}
	return func(yield func(Run) bool) {
		for round, more := 0, true; more; round++ {
			more = false
			for i, job := range w.Jobs {
				if round >= rounds(i) {
					continue
				}
				more = true
				// Jobs rotate between shards, so that no shard has all runs of a slow scenario.
				if !c.Shard.Has(before + round*len(w.Jobs) + (i+round)%len(w.Jobs)) {
					continue
				}
				if c.Episodes > 0 {
					job.Episodes = min(job.Episodes, c.Episodes-round*job.Episodes) // the last run has the rest
				}
				if !yield(Run{World: w.World, Job: job, Seed: c.Seed + uint64(round), index: i}) {
					return
				}
			}
		}
	}
}

// asked returns the least number of runs of the job.
func (j *Job) asked() int { return max(j.Asked, 1) }
