package site

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/report/page"
)

// runList is the content of a results folder. Paths are relative to the folder, with slashes.
type runList struct {
	runs      []entry  // the newest first
	campaigns []string // folders of campaigns that have a page
	open      []string // folders of runs without a result.json: in progress, or ended without one
}

// entry is the data of a run.
type entry struct {
	file
	Scenario string
	World    string
	Seed     uint64
	Started  time.Time
	Exit     int
	Stopped  bool
	Locks    []lock
	Trouble  string // why it could not be read

	recorded []string // the locks that have a history
	Gone     []string // those of them whose history is missing
}

// file identifies a version of a result.json.
type file struct {
	Dir            string // of the run
	Page           string // the page of the run, in its folder; a report is written after its result
	size, modified int64
}

// lock is one lock of a run.
type lock struct {
	Name  string
	Found string // violated double-grant
	Look  string
	Sign  string // of one that is not as expected: undecided has its own
	Calm  bool   // a control that is as expected
}

// scan returns the current content of a folder. It reads only results that are new or have changed since before.
func (before runList) scan(root fs.FS) (runList, error) {
	known := map[file]entry{}
	for _, e := range before.runs {
		known[e.file] = e
	}
	var now runList
	err := fs.WalkDir(root, ".", func(dir string, d fs.DirEntry, err error) error {
		if dir == "." || err == nil && !d.IsDir() {
			return err
		}
		const depthMax = 4 // matrix/CAMPAIGN/WORLD/SCENARIO/RUN
		if err != nil || hidden(dir) || strings.Count(dir, "/") > depthMax {
			return fs.SkipDir
		}
		info, err := fs.Stat(root, path.Join(dir, report.ResultFile))
		switch {
		case err == nil && info.Mode().IsRegular():
			f := file{dir, report.ResultFile, info.Size(), info.ModTime().UnixNano()}
			for _, name := range []string{report.SummaryFile, page.File} {
				if isFile(root, path.Join(dir, name)) {
					f.Page = name
				}
			}
			e, ok := known[f]
			if !ok {
				e = readEntry(root, f)
			}
			if folder, err := fs.Sub(root, dir); err == nil {
				e.Gone = report.Gone(folder, e.recorded)
			}
			now.runs = append(now.runs, e)
		case isFile(root, path.Join(dir, report.PlanFile)):
			now.open = append(now.open, dir)
		case isFile(root, path.Join(dir, report.CampaignFile)) && isFile(root, path.Join(dir, page.File)):
			now.campaigns = append(now.campaigns, dir)
			return nil
		default:
			return nil
		}
		return fs.SkipDir
	})
	slices.SortStableFunc(now.runs, func(a, b entry) int {
		return cmp.Or(b.Started.Compare(a.Started), strings.Compare(a.Dir, b.Dir))
	})
	return now, err
}

func isFile(root fs.FS, name string) bool {
	info, err := fs.Stat(root, name)
	return err == nil && info.Mode().IsRegular()
}

func readEntry(root fs.FS, f file) entry {
	text, err := fs.ReadFile(root, path.Join(f.Dir, report.ResultFile))
	if err != nil {
		return entry{file: f, Exit: report.ExitHarness, Trouble: err.Error()}
	}
	r, err := report.ReadResult(text)
	if err != nil {
		return entry{file: f, Exit: report.ExitHarness, Trouble: fmt.Sprintf("its %s cannot be read: %v", report.ResultFile, err)}
	}
	e := entry{file: f, recorded: r.Recorded(), Scenario: r.Scenario, World: r.World, Seed: r.Seed, Started: r.Started, Stopped: r.Interrupted, Exit: r.ExitCode()}
	for l := range r.All() {
		sign := ""
		if l.Odd() {
			sign = l.Mark()
		}
		e.Locks = append(e.Locks, lock{report.OneLine(l.Lock), l.Shown(), l.Outcome().Look().Color, sign, l.Calm()})
	}
	return e
}
