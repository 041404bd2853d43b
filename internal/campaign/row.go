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
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/internal/regular"
	"lockbench/internal/report"
	"lockbench/internal/stats"
)

// results caches the complete runs of a campaign. It reads each result once and keeps one finding of each kind.
type results struct {
	dir  string
	read map[string]*report.Result // by folder
}

func newResults(dir string) *results { return &results{dir: dir, read: map[string]*report.Result{}} }

func (s *results) result(folder string) (*report.Result, error) {
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
			c.Findings = oneOfEachKind(c.Findings)
		}
	}
	s.read[folder] = r
	return r, nil
}

// complete returns the complete runs of a scenario in a world, ordered by seed. There is one run of each seed, even if a
// folder was copied twice: the last one in which the harness did not fail.
func (s *results) complete(world, scenario string) ([]Ran, error) {
	folder := path.Join(world, report.FolderName(scenario))
	entries, err := os.ReadDir(filepath.Join(s.dir, filepath.FromSlash(folder)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for finished runs: %w", err)
	}
	bySeed := map[uint64]Ran{}
	for _, e := range entries { // oldest first
		dir := path.Join(folder, e.Name())
		if !regular.Is(filepath.Join(s.dir, filepath.FromSlash(dir), report.ResultFile)) {
			continue // killed before it wrote a result
		}
		r, err := s.result(dir)
		if err != nil {
			return nil, err
		}
		if r.Interrupted || r.Scenario != scenario {
			continue
		}
		ran := Ran{Dir: dir, Seed: r.Seed, Again: r.Again, result: r}
		for i := range r.Locks {
			if l := &r.Locks[i]; l.Verdict == checker.Violated {
				ran.Broke = append(ran.Broke, l.Lock)
			}
		}
		if before, there := bySeed[r.Seed]; !there || before.failed() || !ran.failed() {
			bySeed[r.Seed] = ran
		}
	}
	return slices.SortedFunc(maps.Values(bySeed), func(a, b Ran) int { return cmp.Compare(a.Seed, b.Seed) }), nil
}

// failed reports whether the harness failed for a lock of the run.
func (r *Ran) failed() bool {
	return slices.ContainsFunc(r.result.Locks, func(l report.Lock) bool { return l.Error != "" })
}

// took returns the duration of the run.
func (r *Ran) took() time.Duration { return time.Duration(r.result.DurationS * float64(time.Second)) }

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

// Finish collects the runs and writes the results. Without choices it uses the known scenarios.
func (c *Campaign) Finish(chosen Choices) (err error) {
	if chosen == nil {
		if chosen, err = c.chosen(); err != nil {
			return err
		}
	}
	done := newResults(c.Dir)
	for i := range c.Worlds {
		if err := c.collect(&c.Worlds[i], done, chosen, ""); err != nil {
			return err
		}
	}
	return c.write()
}

// collect collects the runs of a world. why is the reason for missing runs.
func (c *Campaign) collect(w *World, done *results, chosen Choices, why string) error {
	for i := range w.Rows {
		r := &w.Rows[i]
		ran, err := done.complete(w.World, r.Scenario)
		if err != nil {
			return err
		}
		if c.FiguresOnly && len(ran) == 0 {
			continue
		}
		for _, x := range ran {
			w.origin(x.result)
		}
		row := Row{Part: r.Part, Runs: ran, NotRun: cmp.Or(why, r.NotRun)}
		row.Result = &report.Result{
			Schema: report.SchemaVersion, Scenario: r.Scenario, World: w.World, WorldAbout: w.About, Seed: c.Seed,
			AsExpected: true, Started: c.Started, Program: c.Program, Machine: cmp.Or(w.Machine, c.Machine),
		}
		row.lay()
		if row.complete() {
			row.NotRun = ""
		}
		if len(ran) > 0 {
			s, err := chosen.scenario(r.Scenario)
			if err != nil {
				return err
			}
			row.judge(s)
		}
		*r = row
	}
	return nil
}

// origin records time, machine and version of a run.
func (w *World) origin(r *report.Result) {
	if w.Started.IsZero() || r.Started.Before(w.Started) {
		w.Started = r.Started
	}
	if !strings.Contains(w.Machine, r.Machine) { // shards have several
		w.Machine = strings.TrimPrefix(w.Machine+"; "+r.Machine, "; ")
	}
	w.About = cmp.Or(w.About, r.WorldAbout)
	if r.Program != "" && !slices.Contains(w.Programs, r.Program) {
		w.Programs = append(w.Programs, r.Program)
	}
}

// lay combines the runs of a row, lock by lock.
func (r *Row) lay() {
	for _, ran := range r.Runs {
		r.Result.Again = cmp.Or(r.Result.Again, ran.Again)
		r.Result.DurationS += ran.result.DurationS
		r.Result.WorldAbout = ran.result.WorldAbout
	}
	for _, name := range r.Locks {
		var runs []*report.Lock
		for _, ran := range r.Runs {
			for i := range ran.result.Locks {
				if l := &ran.result.Locks[i]; l.Lock == name {
					runs = append(runs, l)
				}
			}
		}
		l := together(name, runs)
		if len(r.Runs) == 0 {
			l.Why = r.notRun()
		}
		r.Result.Locks = append(r.Result.Locks, l)
	}
}

// together combines the runs of one lock: the worst run, with the figures of all episodes. Other runs do not make up for a
// failure of the harness.
func together(name string, runs []*report.Lock) report.Lock {
	if len(runs) == 0 {
		return report.Lock{Lock: name, Verdict: checker.Unknown, Why: "not run", Options: map[string]string{}}
	}
	var worst *report.Lock
	var figures []stats.Figures
	failure := ""
	for _, r := range runs {
		if r.Error != "" {
			failure = r.Error
			continue
		}
		figures = append(figures, r.Figures)
		if worst == nil || r.Outcome().Look().Severity > worst.Outcome().Look().Severity {
			worst = r
		}
	}
	l := *runs[0]
	if l.Verdict = checker.Unknown; worst != nil {
		l = *worst
	}
	l.Plan, l.Mismatch, l.Error, l.Figures = nil, "", failure, stats.Merge(figures)
	if failed := len(runs) - len(figures); failed > 0 && failed < len(runs) {
		l.Error = fmt.Sprintf("%d of %s: %s", failed, report.Plural(len(runs), "run"), failure)
	}
	return l
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

// runsOf returns the runs of a lock, violated ones first.
func (r *Row) runsOf(lock string) []Ran {
	var broke, others []Ran
	for _, ran := range r.Runs {
		if slices.Contains(ran.Broke, lock) {
			broke = append(broke, ran)
		} else {
			others = append(others, ran)
		}
	}
	return append(broke, others...)
}
