package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/stats"
)

// shelf holds the whole runs of a campaign. Each is read once, for a result does not
// change any more, and of its findings one of each kind is kept: the rest stands in
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
			c.Findings = oneOfEachKind(nil, c.Findings)
		}
	}
	s.read[folder] = r
	return r, nil
}

// whole are the runs of a scenario in a world that have a result, by their seeds. A run
// that was stopped early is not one of them.
func (s *shelf) whole(world, scenario string) ([]Ran, error) {
	folder := path.Join(world, report.FolderName(scenario))
	entries, err := os.ReadDir(filepath.Join(s.dir, filepath.FromSlash(folder)))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, fmt.Errorf("look for finished runs: %w", err)
	}
	var all []Ran
	for _, e := range entries {
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

// failed tells whether the harness failed for a lock in the run.
func (r *Ran) failed() bool {
	return slices.ContainsFunc(r.result.Locks, func(l report.Lock) bool { return l.Error != "" })
}

// unable is why no lock with servers could take part: the world cannot do what the
// scenario asks for. Empty if one could, or if there is none but controls.
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

// Finish puts the runs that are there together and writes what came out. Without choices
// they are judged by the scenarios that are known by their names.
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

// collect puts the runs of a world together; why is for what reason some may be missing.
func (c *Campaign) collect(w *World, shelf *shelf, chosen Choices, why string) error {
	for i := range w.Rows {
		r := &w.Rows[i]
		ran, err := shelf.whole(w.World, r.Scenario)
		if err != nil {
			return err
		}
		if len(ran) == 0 && len(r.Runs) > 0 {
			continue // its runs were kept elsewhere, or are their seeds: what came out of them stands
		}
		for _, x := range ran {
			w.origin(x.result)
		}
		row := Row{Part: r.Part, Runs: ran, NotRun: cmp.Or(why, r.NotRun)}
		row.Result = &report.Result{
			Schema: report.SchemaVersion, Scenario: r.Scenario, World: w.World, WorldAbout: w.About, Seed: c.Seed,
			AsExpected: true, Started: c.Started, Program: c.Program, Machine: cmp.Or(w.Machine, c.Machine),
		}
		row.lay(chosen)
		if row.whole() {
			row.NotRun = ""
		}
		if c.Each {
			row.judge(chosen)
			if row.Elsewhere > 0 {
				row.Rates = nil // they are for all runs together to show
			}
		}
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
func (r *Row) lay(chosen Choices) {
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
		switch {
		case len(r.Runs) == 0:
			l.Why = r.notRun()
		case l.Unsupported == "" && l.Error == "":
			l.Expected, l.AsExpected, l.Mismatch = chosen.judge(run.Expects, r.Scenario, &l)
		}
		if l.AsExpected {
			l.Counterexample = nil // the runs have theirs
		}
		if len(r.Runs) > 0 {
			r.Result.AsExpected = r.Result.AsExpected && (l.AsExpected || l.Unsupported != "")
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
