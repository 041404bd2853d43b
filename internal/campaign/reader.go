package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/internal/regular"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/scenarios"
)

// reader reads the runs of a campaign from their folders, each result once. It keeps one finding of each kind.
type reader struct {
	dir     string
	results map[string]Run // by folder
}

func newReader(dir string) *reader { return &reader{dir: dir, results: map[string]Run{}} }

func (r *reader) path(name ...string) string {
	return filepath.Join(r.dir, filepath.FromSlash(path.Join(name...)))
}

// run reads the run in a folder.
func (r *reader) run(dir string) (Run, error) {
	if x, ok := r.results[dir]; ok {
		return x, nil
	}
	b, err := report.Load(r.path(dir))
	if err != nil {
		return Run{}, err
	}
	for l := range b.Result.All() {
		for i := range l.Checks {
			l.Checks[i].Findings = oneOfEachKind(l.Checks[i].Findings)
		}
	}
	x := Run{Seed: b.Result.Seed, Result: b.Result, Dir: dir, gone: b.Gone()}
	for _, file := range []string{report.SummaryFile, page.File} {
		if regular.Is(r.path(dir, file)) {
			x.Href = page.Href(path.Join(dir, file))
		}
	}
	r.results[dir] = x
	return x, nil
}

// runs returns the runs of a job that were done, ordered by seed. There is one run of each seed, even if a folder was
// copied twice: the last one in which the harness did not fail.
func (r *reader) runs(world string, job Job) ([]Run, error) {
	folder := path.Join(world, report.FolderName(job.Scenario))
	entries, err := os.ReadDir(r.path(folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for finished runs: %w", err)
	}
	bySeed := map[uint64]Run{}
	for _, e := range entries { // oldest first
		dir := path.Join(folder, e.Name())
		if !regular.Is(r.path(dir, report.ResultFile)) {
			continue // killed before it wrote a result
		}
		x, err := r.run(dir)
		if err != nil {
			return nil, err
		}
		if x.Result.Interrupted || x.Result.Scenario != job.Scenario {
			continue
		}
		x.World, x.Job = world, job
		if before, there := bySeed[x.Seed]; !there || before.failed() || !x.failed() {
			bySeed[x.Seed] = x
		}
	}
	return slices.SortedFunc(maps.Values(bySeed), func(a, b Run) int { return cmp.Compare(a.Seed, b.Seed) }), nil
}

// scenario returns the scenario of a row with the expectations of the settings. The copy in the folder of a run comes
// first: this machine may lack the user's file, and this lockbench may have another scenario of the name.
func (c *Campaign) scenario(r *Row) (*scenarios.Scenario, error) {
	s, err := scenarios.Load(r.Scenario)
	for _, x := range r.Runs {
		text, readErr := regular.ReadFile(filepath.Join(c.Dir, filepath.FromSlash(x.Dir), report.ScenarioFile))
		if readErr != nil {
			continue
		}
		if ran, readErr := scenarios.Read(r.Scenario+".yaml", text); readErr == nil {
			s, err = ran, nil
			break
		} else if err != nil {
			err = readErr // the copy of a file of the user
		}
	}
	if err != nil {
		return nil, fmt.Errorf("judge the runs of %s: %w", r.Scenario, err)
	}
	var uses []scenarios.LockUse
	for _, name := range r.Locks {
		uses = append(uses, scenarios.Called(name))
	}
	return c.Asked.Apply(s, uses)
}

// failed reports whether the harness failed for a lock of the run.
func (r *Run) failed() bool {
	return slices.ContainsFunc(r.Result.Locks, func(l report.Lock) bool { return l.Error != "" })
}

// broke reports whether a lock was violated in the run.
func (r *Run) broke(lock string) bool {
	l := r.Result.Find(lock)
	return l != nil && l.Verdict == checker.Violated
}

// took returns the duration of the run.
func (r *Run) took() time.Duration { return time.Duration(r.Result.DurationS * float64(time.Second)) }

// unable returns the reason why no lock with servers could take part in a run: the world does not support the scenario. It
// is empty if a lock could, or if there are only controls.
func unable(r *report.Result) string {
	why := ""
	for i := range r.Locks {
		switch l := &r.Locks[i]; {
		case l.Control():
		case l.Unsupported == "":
			return ""
		default:
			why = cmp.Or(why, report.OneLine(l.Unsupported))
		}
	}
	return why
}

// oneOfEachKind returns the first finding of each class and rule.
func oneOfEachKind(all []checker.Finding) []checker.Finding {
	var kept []checker.Finding
	for _, f := range all {
		if !slices.ContainsFunc(kept, func(x checker.Finding) bool { return x.Class == f.Class && x.Rule == f.Rule }) {
			kept = append(kept, f)
		}
	}
	return kept
}
