package campaign

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/run"
)

// Runner does one run in a world, in a new folder in out. A world that cannot be used has the reason, and no Do.
type Runner struct {
	Do      func(ctx context.Context, r Run, out string) error
	Missing string
}

// Work describes how to run a campaign.
type Work struct {
	Worlds map[string]Runner // by the names of the worlds
	// Budget limits the time; 0: unlimited. The worlds share the remaining time evenly, in order. A run starts only if it
	// fits by the duration of earlier runs of its scenario.
	Budget time.Duration
	Say    func(line string) // may wrap long lines

	now func() time.Time // for tests
}

// Run does the missing runs and writes the reports. A failure of one run or world does not stop the others.
func (c *Campaign) Run(ctx context.Context, w Work) (*Table, error) {
	if w.now == nil {
		w.now = time.Now
	}
	if w.Say == nil {
		w.Say = func(string) {}
	}
	ready := 0
	for i := range c.Worlds {
		if w.Worlds[c.Worlds[i].World].Missing == "" {
			ready++
		}
	}
	done := newReader(c.Dir)
	left := w.Budget
	var failures []error
	for i := range c.Worlds {
		l := loop{Campaign: c, world: &c.Worlds[i], reader: done, work: w, begun: w.now()}
		if err := l.read(); err != nil {
			return nil, err
		}
		runner := w.Worlds[l.world.World]
		if l.world.Missing = runner.Missing; runner.Missing != "" {
			said := "not run"
			if slices.ContainsFunc(l.ran, func(runs []Run) bool { return len(runs) > 0 }) {
				said = "not continued"
			}
			w.Say(fmt.Sprintf("world %s: %s: %s", l.world.World, said, runner.Missing))
			continue
		}
		l.budget = left / time.Duration(ready)
		ready--
		if err := l.run(ctx, runner); err != nil {
			failures = append(failures, fmt.Errorf("world %s: %w", l.world.World, err))
		}
		l.world.Stopped = l.why
		left -= w.now().Sub(l.begun)
	}
	t, err := c.table(done)
	if err != nil {
		return nil, errors.Join(append(failures, err)...)
	}
	return t, errors.Join(append(failures, c.writeJSON(), t.Write())...)
}

// loop does the missing runs of one world.
type loop struct {
	*Campaign
	*reader
	world    *World
	work     Work
	budget   time.Duration // of this world, if there is one
	begun    time.Time
	ran      [][]Run         // of each job
	failed   map[string]bool // the folders of runs in which the harness failed before this campaign ran
	pace     run.Pace
	why      string // the reason for runs that are missing at the end
	failures []error
}

// turn is a run of a job in a round.
type turn struct {
	Run
	round, job int
}

// read reads the runs that were done earlier.
func (l *loop) read() (err error) {
	l.failed, l.ran = map[string]bool{}, make([][]Run, len(l.world.Jobs))
	for i := range l.world.Jobs {
		if l.ran[i], err = l.runs(l.world.World, l.world.Jobs[i]); err != nil {
			return err
		}
		for _, x := range l.ran[i] {
			l.failed[x.Dir] = x.failed()
			l.pace.Add(x.took())
		}
	}
	return nil
}

// run goes round by round: each scenario once, then each again with the next seed. A run in which the harness failed is
// repeated once each time the campaign continues, and its folder remains.
func (l *loop) run(ctx context.Context, runner Runner) error {
	for t := range l.turns {
		if ctx.Err() != nil {
			break
		}
		if err := l.do(ctx, t, runner); err != nil {
			return err
		}
	}
	err := errors.Join(l.failures...)
	switch {
	case ctx.Err() != nil:
		l.why = "the matrix was stopped before this world"
	case l.why == "" && err != nil:
		l.why = "a run failed: " + report.OneLine(err.Error())
	}
	return err
}

// turns yields the missing runs. It ends after a round without wanted runs, or when the budget is spent.
func (l *loop) turns(yield func(turn) bool) {
	for round, more := 0, true; more && l.why == ""; round++ {
		more = false
		for i, job := range l.world.Jobs {
			if !l.wants(i, round) {
				continue
			}
			more = true
			if !l.has(l.world, i, round) || l.done(i, round) {
				continue
			}
			longest := time.Duration(0)
			for _, x := range l.ran[i] {
				longest = max(longest, x.took())
			}
			if left := l.budget - l.gone(); l.work.Budget > 0 && (left <= 0 || left < longest) {
				l.why = fmt.Sprintf("the budget of %s was spent before this world", l.work.Budget)
				continue // a shorter one may still fit
			}
			if l.Episodes > 0 {
				job.Episodes = min(job.Episodes, l.Episodes-round*job.Episodes) // the last run has the rest
			}
			if !yield(turn{Run{World: l.world.World, Job: job, Seed: l.Seed + uint64(round)}, round, i}) {
				return
			}
		}
	}
}

// wants reports whether a job has a run in a round. If the world can run no lock with servers, one run is enough to know
// that.
func (l *loop) wants(job, round int) bool {
	asked := l.world.Jobs[job].Asked
	switch {
	case round == 0:
		return true
	case len(l.ran[job]) > 0 && unable(l.ran[job][0].Result) != "":
		return false
	case asked > 0:
		return round < asked
	}
	return l.work.Budget > 0
}

// done reports whether a run was done before.
func (l *loop) done(job, round int) bool {
	x := l.find(job, round)
	return x != nil && !l.failed[x.Dir]
}

func (l *loop) find(job, round int) *Run {
	i := slices.IndexFunc(l.ran[job], func(x Run) bool { return x.Seed == l.Seed+uint64(round) })
	if i < 0 {
		return nil
	}
	return &l.ran[job][i]
}

func (l *loop) do(ctx context.Context, t turn, runner Runner) error {
	if x := l.find(t.job, t.round); x != nil {
		l.say(fmt.Sprintf("the harness failed in %s, so the run is repeated", x.Dir))
	}
	l.say(fmt.Sprintf("round %d, %d of %d: %s, seed %d, %s", t.round+1, t.job+1, len(l.world.Jobs), t.Scenario, t.Seed, report.Plural(len(t.Locks), "lock")))
	before := l.work.now()
	if err := runner.Do(ctx, t.Run, filepath.Join(l.Dir, t.World)); err != nil && ctx.Err() == nil {
		l.failures = append(l.failures, fmt.Errorf("%s, seed %d: %w", t.Scenario, t.Seed, err))
		l.say(fmt.Sprintf("%s failed: %v", t.Scenario, err))
	}
	var err error
	if l.ran[t.job], err = l.runs(t.World, l.world.Jobs[t.job]); err != nil {
		return err
	}
	x := l.find(t.job, t.round)
	if x == nil {
		return nil
	}
	l.pace.Add(x.took())
	return l.tell(t, x, l.work.now().Sub(before))
}

func (l *loop) gone() time.Duration { return l.work.now().Sub(l.begun) }

func (l *loop) say(line string) {
	l.work.Say(fmt.Sprintf("%s %s  %s", l.world.World, report.Clock(l.gone()), line))
}

// tell reports the result of a run, its duration, and an estimate for the rest of the world's turn.
func (l *loop) tell(t turn, x *Run, took time.Duration) error {
	row := Row{Job: t.Job, Runs: []Run{*x}, Result: x.Result}
	s, err := l.scenario(&row)
	if err != nil {
		return err
	}
	parts := []string{report.OneLine(t.Scenario)}
	for lock := range row.Result.All() {
		c := row.cell(lock)
		text := c.Sign + " " + lock.Lock
		if c.Rate != "" {
			text += " " + c.Rate
		}
		if _, odd := oddOf(s, lock); odd {
			text += " " + wrongSign
		}
		parts = append(parts, text)
	}
	end := report.Roughly(took)
	if left := l.left(t); left > 0 {
		end += ", ~" + report.Roughly(left) + " left"
		if len(l.Worlds) > 1 {
			end += " in " + l.world.World
		}
	}
	l.work.Say(strings.Join(append(parts, end), "  "))
	return nil
}

// left estimates the duration of the rest of the world's turn.
func (l *loop) left(after turn) time.Duration {
	runs, open := 0, false
	for i, job := range l.world.Jobs {
		open = open || job.Asked == 0
		for round := after.round; round < max(job.Asked, 1); round++ {
			if (round > after.round || i > after.job) && l.wants(i, round) && l.has(l.world, i, round) && !l.done(i, round) {
				runs++
			}
		}
	}
	left := l.pace.Left(runs)
	if budget := max(0, l.budget-l.gone()); l.work.Budget > 0 && (open || left > budget) {
		return budget
	}
	return left
}
