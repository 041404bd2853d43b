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
	"lockbench/internal/report"
	"lockbench/internal/stats"
)

// shelf holds the complete runs of a campaign. Each is read once, because a result does not change any more, and
// one finding of each kind is kept: the run has the others.
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
			c.Findings = oneOfEachKind(nil, c.Findings)
		}
	}
	s.read[folder] = r
	return r, nil
}

// complete returns the runs of a scenario in a world that have a result, by their seeds. A run that was stopped early is
// not one of them. There is one run of each seed, even if a folder was copied twice: the last in which the harness did
// not fail.
func (s *shelf) complete(world, scenario string) ([]Ran, error) {
	folder := path.Join(world, report.FolderName(scenario))
	entries, err := os.ReadDir(filepath.Join(s.dir, filepath.FromSlash(folder)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for finished runs: %w", err)
	}
	bySeed := map[uint64]Ran{}
	for _, e := range entries { // the older first
		dir := path.Join(folder, e.Name())
		if !isFile(filepath.Join(s.dir, filepath.FromSlash(dir), report.ResultFile)) {
			continue // killed before it could write one
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

// failed tells whether the harness failed for a lock in the run.
func (r *Ran) failed() bool {
	return slices.ContainsFunc(r.result.Locks, func(l report.Lock) bool { return l.Error != "" })
}

// took is how long the run took.
func (r *Ran) took() time.Duration { return time.Duration(r.result.DurationS * float64(time.Second)) }

// unable is why no lock with servers could take part in a run: the world cannot do what the scenario asks for. It is
// empty if one could, or if there are only controls.
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

// Finish collects the runs that are there and writes what came out. Without choices they are judged by the
// scenarios that are known by their names.
func (c *Campaign) Finish(chosen Choices) (err error) {
	if chosen == nil {
		if chosen, err = c.chosen(); err != nil {
			return err
		}
	}
	shelf := newShelf(c.Dir)
	for i := range c.Worlds {
		if err := c.collect(&c.Worlds[i], shelf, chosen, ""); err != nil {
			return err
		}
	}
	return c.write()
}

// collect collects the runs of a world; why is for what reason some may be missing.
func (c *Campaign) collect(w *World, shelf *shelf, chosen Choices, why string) error {
	for i := range w.Rows {
		r := &w.Rows[i]
		ran, err := shelf.complete(w.World, r.Scenario)
		if err != nil {
			return err
		}
		if len(ran) == 0 && len(r.Runs) > 0 {
			continue // its runs were not kept: what came out of them stands
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
		row.judge(chosen)
		*r = row
	}
	return nil
}

// origin takes note of when, where and by which lockbench a run was done.
func (w *World) origin(r *report.Result) {
	if w.Started.IsZero() || r.Started.Before(w.Started) {
		w.Started = r.Started
	}
	w.Machine = cmp.Or(w.Machine, r.Machine)
	w.About = cmp.Or(w.About, r.WorldAbout)
	if r.Program != "" && !slices.Contains(w.Programs, r.Program) {
		w.Programs = append(w.Programs, r.Program)
	}
}

// lay puts the runs of a row together, lock by lock.
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

// together is one lock over several runs: the worst verdict and class, the figures of
// all episodes. A failure of the harness in one of them is not made up for by others.
func together(name string, runs []*report.Lock) report.Lock {
	if len(runs) == 0 {
		return report.Lock{Lock: name, Verdict: checker.Unknown, Why: "not run", Options: map[string]string{}}
	}
	l := *runs[0]
	var figures []stats.Figures
	var why []string
	l.Verdict, l.Class, l.Why, l.Error, l.Plan, l.Mismatch, l.Counterexample = checker.Valid, checker.NoClass, "", "", nil, "", nil
	failed := 0
	for _, r := range runs {
		if r.Error != "" {
			failed++
			l.Error = r.Error
			continue
		}
		figures = append(figures, r.Figures)
		l.Counterexample = cmp.Or(l.Counterexample, r.Counterexample)
		l.Verdict, l.Class = max(l.Verdict, r.Verdict), max(l.Class, r.Class)
		if r.Why != "" && !slices.Contains(why, r.Why) {
			why = append(why, r.Why)
		}
	}
	if failed > 0 && failed < len(runs) {
		l.Error = fmt.Sprintf("%d of %s: %s", failed, report.Plural(len(runs), "run"), l.Error)
	}
	if len(figures) == 0 {
		l.Verdict = checker.Unknown
	}
	if l.Verdict == checker.Unknown {
		const most = 3
		l.Why = strings.Join(why[:min(len(why), most)], "; ")
	}
	l.Figures = stats.Merge(figures)
	l.Checks = checksOf(runs)
	return l
}

// checksOf is what each checker says of all runs, with one finding of each kind: the
// rest stands in the runs.
func checksOf(runs []*report.Lock) []checker.Result {
	var all []checker.Result
	for _, r := range runs {
		for _, c := range r.Checks {
			i := slices.IndexFunc(all, func(x checker.Result) bool { return x.Name == c.Name })
			if i < 0 {
				i = len(all)
				all = append(all, checker.Result{Name: c.Name})
			}
			sum := &all[i]
			sum.Verdict = max(sum.Verdict, c.Verdict)
			sum.Violations += c.Violations
			sum.LostUpdates += c.LostUpdates
			if sum.Why == "" {
				sum.Why = c.Why
			}
			sum.Findings = oneOfEachKind(sum.Findings, c.Findings)
		}
	}
	return all
}

// oneOfEachKind adds the findings of classes and rules that are not there yet.
func oneOfEachKind(kept, more []checker.Finding) []checker.Finding {
	for _, f := range more {
		if !slices.ContainsFunc(kept, func(x checker.Finding) bool { return x.Class == f.Class && x.Rule == f.Rule }) {
			kept = append(kept, f)
		}
	}
	return kept
}

// runsOf are the runs to look at for a lock: those in which it broke, and then the others.
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
