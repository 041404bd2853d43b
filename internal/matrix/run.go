package matrix

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"lockbench/internal/report"
)

// Do does one run of a scenario with a seed and leaves its folder in out.
type Do func(ctx context.Context, part Part, seed uint64, out string) error

// Work is how a matrix is run.
type Work struct {
	Do      Do
	Expects Expects
	// Budget is how long it may take; a run is begun only if those of its scenario before
	// it say that it fits. 0: as long as it takes.
	Budget time.Duration
	Say    func(line string)

	Now func() time.Time // for tests; nil: time.Now
}

// Run does what is missing of the matrix in dir, round by round: each scenario once,
// then each once more with the next seed, until there are as many episodes as were
// asked for, or the budget is spent. With a budget and no number of episodes it goes on
// until the budget is spent. Of a part that says how many runs it wants, so many are
// done, and only one if the world can do it for no lock with servers. Then it writes
// everything. A failure of one run is told and does not keep the others from being done.
// What the harness failed in before is done again, once each time the matrix goes on:
// it says nothing of a lock, and what it failed for may be mended. Its folder stays.
func Run(ctx context.Context, dir string, w Work) (*Matrix, error) {
	s, err := ReadSettings(dir)
	if err != nil {
		return nil, err
	}
	if w.Now == nil {
		w.Now = time.Now
	}
	if w.Say == nil {
		w.Say = func(string) {}
	}
	begun := w.Now()
	shelf := newShelf(dir)
	failed := map[string]bool{} // folders of runs before this one began
	for _, part := range s.Plan {
		ran, err := shelf.finished(part.Scenario)
		if err != nil {
			return nil, err
		}
		for i := range ran {
			failed[ran[i].Dir] = ran[i].failed()
		}
	}
	var failures []error
	stopped := "" // why what is missing is missing
	for round := 0; stopped == ""; round++ {
		goesOn := false // something of this round was or is done, so there may be a next
		for i, part := range s.Plan {
			if ctx.Err() != nil {
				stopped = "the matrix was stopped before its turn"
				break
			}
			due, done, took, err := isDue(shelf, s, part, round, w.Budget > 0, failed)
			if err != nil {
				return nil, err
			}
			goesOn = goesOn || due || done
			if !due {
				continue
			}
			if w.Budget > 0 {
				left := w.Budget - w.Now().Sub(begun)
				if left <= 0 || left < took {
					stopped = fmt.Sprintf("the budget of %s was spent before its turn", w.Budget)
					continue // a shorter one may still fit
				}
			}
			seed := s.Seed + uint64(round)
			if old, ok := shelf.of(part.Scenario, seed); ok {
				w.Say(fmt.Sprintf("%s  the harness failed in %s, so that is done again", report.Clock(w.Now().Sub(begun)), old))
			}
			w.Say(fmt.Sprintf("%s  round %d, %d of %d: %s, seed %d, %s", report.Clock(w.Now().Sub(begun)), round+1, i+1, len(s.Plan), part.Scenario, seed, report.Plural(len(part.Locks), "lock")))
			if err := w.Do(ctx, part, seed, dir); err != nil && ctx.Err() == nil {
				failures = append(failures, fmt.Errorf("%s, seed %d: %w", part.Scenario, seed, err))
				w.Say(fmt.Sprintf("%s  %s failed: %v", report.Clock(w.Now().Sub(begun)), part.Scenario, err))
			}
		}
		if !goesOn {
			break
		}
	}
	m, err := finish(shelf, w.Expects, stopped)
	return m, errors.Join(err, errors.Join(failures...))
}

// of is the folder of the finished run with a seed.
func (s *shelf) of(scenario string, seed uint64) (string, bool) {
	ran, err := s.finished(scenario)
	i := slices.IndexFunc(ran, func(r Ran) bool { return r.Seed == seed })
	if err != nil || i < 0 {
		return "", false
	}
	return ran[i].Dir, true
}

// isDue tells whether a scenario is to be run in a round or was, and how long such runs
// took. Those of the failed folders are to be done again.
func isDue(shelf *shelf, s Settings, part Part, round int, hasBudget bool, failed map[string]bool) (due, done bool, took time.Duration, err error) {
	if part.Runs > 0 && round >= part.Runs {
		return false, false, 0, nil
	}
	ran, err := shelf.finished(part.Scenario)
	if err != nil {
		return false, false, 0, err
	}
	episodes := 0
	for _, r := range ran {
		most := 0
		for i := range r.result.Locks {
			most = max(most, r.result.Locks[i].Episodes)
		}
		episodes += max(most, 1)
		took = max(took, time.Duration(r.result.DurationS*float64(time.Second)))
		if r.Seed == s.Seed+uint64(round) {
			return failed[r.Dir], !failed[r.Dir], took, nil
		}
	}
	switch {
	case round == 0:
		return true, false, took, nil
	case part.Runs > 0:
		return len(ran) == 0 || ran[0].Unable() == "", false, took, nil
	case s.Episodes == 0:
		return hasBudget, false, took, nil
	}
	// A run that failed must not be tried for ever: rounds are as many as are needed.
	return episodes < s.Episodes && round*part.Episodes < s.Episodes, false, took, nil
}

// Finish writes what came out; why says for what reason rows may be missing.
func Finish(dir string, expects Expects, why string) (*Matrix, error) {
	if before, err := Read(dir); err == nil && why == "" {
		why = before.Stopped // nothing was tried since
	}
	return finish(newShelf(dir), expects, why)
}

func finish(shelf *shelf, expects Expects, why string) (*Matrix, error) {
	before, err := Read(shelf.dir)
	if err != nil {
		return nil, err
	}
	m, err := collect(shelf, expects)
	if err != nil {
		return nil, err
	}
	m.Stopped = why
	for i := range m.Rows {
		if r := &m.Rows[i]; r.NotRun != "" {
			switch {
			case why != "":
				r.NotRun += ": " + why
			case i < len(before.Rows) && before.Rows[i].NotRun != "":
				r.NotRun = before.Rows[i].NotRun // nothing was tried since
			}
			for j := range r.Result.Locks {
				r.Result.Locks[j].Why = r.NotRun
			}
		}
	}
	return m, m.write()
}

// write puts everything that is made from a matrix into its folder.
func (m *Matrix) write() error {
	results := make([]*report.Result, len(m.Rows))
	for i := range m.Rows {
		results[i] = m.Rows[i].Result
	}
	return errors.Join(
		writeJSON(m.Dir, m),
		write(m.Dir, report.SummaryFile, m.summary),
		write(m.Dir, report.JUnitFile, func(w io.Writer) error { return report.JUnitAll(w, results) }),
		write(m.Dir, report.BadgeFile, func(w io.Writer) error { return report.Badge(w, "lockbench matrix", results...) }),
		write(m.Dir, PageFile, m.page),
	)
}
