package matrix

import (
	"context"
	"errors"
	"fmt"
	"io"
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

	now func() time.Time // for tests
}

// Run does what is missing of the matrix in dir, round by round: each scenario once,
// then each once more with the next seed, until there are as many episodes as were
// asked for, or the budget is spent. With a budget and no number of episodes it goes on
// until the budget is spent. Then it writes everything. A failure of one run is told and
// does not keep the others from being done.
func Run(ctx context.Context, dir string, w Work) (*Matrix, error) {
	s, err := ReadSettings(dir)
	if err != nil {
		return nil, err
	}
	if w.now == nil {
		w.now = time.Now
	}
	if w.Say == nil {
		w.Say = func(string) {}
	}
	begun := w.now()
	var failures []error
	stopped := "" // why what is missing is missing
	for round := 0; stopped == ""; round++ {
		did := false
		for i, part := range s.Plan {
			if ctx.Err() != nil {
				stopped = "the matrix was stopped before its turn"
				break
			}
			due, took, err := isDue(dir, s, part, round, w.Budget > 0)
			if err != nil {
				return nil, err
			}
			if !due {
				continue
			}
			if w.Budget > 0 {
				left := w.Budget - w.now().Sub(begun)
				if left <= 0 || left < took {
					stopped = fmt.Sprintf("the budget of %s was spent before its turn", w.Budget)
					continue // a shorter one may still fit
				}
			}
			did = true
			seed := s.Seed + uint64(round)
			w.Say(fmt.Sprintf("%s  round %d, %d of %d: %s, seed %d, %s", report.Clock(w.now().Sub(begun)), round+1, i+1, len(s.Plan), part.Scenario, seed, report.Plural(len(part.Locks), "lock")))
			if err := w.Do(ctx, part, seed, dir); err != nil && ctx.Err() == nil {
				failures = append(failures, fmt.Errorf("%s, seed %d: %w", part.Scenario, seed, err))
				w.Say(fmt.Sprintf("%s  %s failed: %v", report.Clock(w.now().Sub(begun)), part.Scenario, err))
			}
		}
		if !did {
			break
		}
	}
	m, err := Finish(dir, w.Expects, stopped)
	return m, errors.Join(err, errors.Join(failures...))
}

// isDue tells whether a scenario is to be run in a round, and how long such runs took.
func isDue(dir string, s Settings, part Part, round int, hasBudget bool) (due bool, took time.Duration, err error) {
	ran, err := finished(dir, part.Scenario)
	if err != nil {
		return false, 0, err
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
			return false, took, nil
		}
	}
	switch {
	case round == 0:
		return true, took, nil
	case s.Episodes == 0:
		return hasBudget, took, nil
	}
	// A run that failed must not be tried for ever: rounds are as many as are needed.
	return episodes < s.Episodes && round*part.Episodes < s.Episodes, took, nil
}

// Finish writes what came out; why says for what reason rows may be missing.
func Finish(dir string, expects Expects, why string) (*Matrix, error) {
	before, err := Read(dir)
	if err != nil {
		return nil, err
	}
	m, err := Collect(dir, expects)
	if err != nil {
		return nil, err
	}
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
