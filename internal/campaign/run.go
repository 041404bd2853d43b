package campaign

import (
	"context"
	"errors"
	"fmt"
	"math"
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
	last     int    // the number of rounds, once there is a reason
	failures []error
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
	for r := range l.Runs(l.world, l.rounds) {
		if ctx.Err() != nil {
			break
		}
		if l.done(r) || !l.fits(r) {
			continue
		}
		r.Locks = l.leave(r.Locks, l.ran[r.index])
		if err := l.do(ctx, r, runner); err != nil {
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

// rounds returns how many runs of a job are wanted. With a budget, jobs without a number of runs go on until the budget is
// spent. If the world can run no lock with servers, one run is enough to know that.
func (l *loop) rounds(job int) int {
	n := l.world.Jobs[job].asked()
	switch {
	case len(l.ran[job]) > 0 && unable(l.ran[job][0].Result) != "":
		n = 1
	case l.settled(l.ran[job]):
		n = len(l.ran[job])
	case l.world.Jobs[job].Asked == 0 && l.work.Budget > 0:
		n = math.MaxInt
	}
	if l.why != "" {
		n = min(n, l.last)
	}
	return n
}

// leave returns the locks without those of which enough is known. Controls stay.
func (c *Campaign) leave(names []string, runs []Run) []string {
	return slices.DeleteFunc(slices.Clone(names), func(lock string) bool { return c.knows(runs, lock) })
}

// settled reports whether enough is known of every lock that takes part in the runs of a job.
func (c *Campaign) settled(runs []Run) bool {
	if c.Enough == 0 || len(runs) == 0 {
		return false
	}
	return !slices.ContainsFunc(runs[0].Result.Locks, func(l report.Lock) bool {
		return !l.Control() && l.Unsupported == "" && !c.knows(runs, l.Lock)
	})
}

// knows reports whether enough is known of a lock.
func (c *Campaign) knows(runs []Run, lock string) bool {
	violating, episodes := 0, 0
	for _, r := range runs {
		l := r.Result.Find(lock)
		switch {
		case l == nil:
			continue
		case l.Control() || l.Error != "":
			return false
		}
		broke, of := l.Counted()
		violating, episodes = violating+broke, episodes+of
	}
	return c.Enough > 0 && episodes >= c.Enough && violating == episodes
}

// fits reports whether the rest of the budget is enough for a run. If not, shorter runs of the same round may still fit.
func (l *loop) fits(r Run) bool {
	longest := time.Duration(0)
	for _, x := range l.ran[r.index] {
		longest = max(longest, x.took())
	}
	left := l.budget - l.spent()
	if l.work.Budget == 0 || left > 0 && left >= longest {
		return true
	}
	l.why, l.last = fmt.Sprintf("the budget of %s was spent before this world", l.work.Budget), l.round(r)
	return false
}

// round returns the round of a run, from 1.
func (l *loop) round(r Run) int { return int(r.Seed-l.Seed) + 1 }

// done reports whether a run was done before.
func (l *loop) done(r Run) bool {
	x := l.find(r)
	return x != nil && !l.failed[x.Dir]
}

// find returns the run of the same seed that was done, or nil.
func (l *loop) find(r Run) *Run {
	i := slices.IndexFunc(l.ran[r.index], func(x Run) bool { return x.Seed == r.Seed })
	if i < 0 {
		return nil
	}
	return &l.ran[r.index][i]
}

func (l *loop) do(ctx context.Context, r Run, runner Runner) error {
	if x := l.find(r); x != nil {
		l.say(fmt.Sprintf("the harness failed in %s, so the run is repeated", x.Dir))
	}
	l.say(fmt.Sprintf("round %d, %d of %d: %s, seed %d, %s", l.round(r), r.index+1, len(l.world.Jobs), r.Scenario, r.Seed, report.Plural(len(r.Locks), "lock")))
	before := l.work.now()
	if err := runner.Do(ctx, r, filepath.Join(l.Dir, r.World)); err != nil && ctx.Err() == nil {
		l.failures = append(l.failures, fmt.Errorf("%s, seed %d: %w", r.Scenario, r.Seed, err))
		l.say(fmt.Sprintf("%s failed: %v", r.Scenario, err))
	}
	var err error
	if l.ran[r.index], err = l.runs(r.World, l.world.Jobs[r.index]); err != nil {
		return err
	}
	x := l.find(r)
	if x == nil {
		return nil
	}
	l.pace.Add(x.took())
	return l.tell(r, x, l.work.now().Sub(before))
}

// spent returns the time of the world so far.
func (l *loop) spent() time.Duration { return l.work.now().Sub(l.begun) }

func (l *loop) say(line string) {
	l.work.Say(fmt.Sprintf("%s %s  %s", l.world.World, report.Clock(l.spent()), line))
}

// tell reports the result of a run, its duration, and an estimate for the rest of the world's turn.
func (l *loop) tell(r Run, x *Run, took time.Duration) error {
	row := Row{Job: r.Job, Runs: []Run{*x}, Result: x.Result}
	s, err := l.scenario(&row)
	if err != nil {
		return err
	}
	parts := []string{report.OneLine(r.Scenario)}
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
	if left := l.left(r); left > 0 {
		end += ", ~" + report.Roughly(left) + " left"
		if len(l.Worlds) > 1 {
			end += " in " + l.world.World
		}
	}
	l.work.Say(strings.Join(append(parts, end), "  "))
	return nil
}

// left estimates the duration of the rest of the world's turn.
func (l *loop) left(after Run) time.Duration {
	planned := func(job int) int { return min(l.rounds(job), l.world.Jobs[job].asked()) }
	runs := 0
	for r := range l.Runs(l.world, planned) {
		later := r.Seed > after.Seed || r.Seed == after.Seed && r.index > after.index
		if later && !l.done(r) {
			runs++
		}
	}
	left := l.pace.Left(runs)
	open := slices.ContainsFunc(l.world.Jobs, func(j Job) bool { return j.Asked == 0 })
	if budget := max(0, l.budget-l.spent()); l.work.Budget > 0 && (open || left > budget) {
		return budget
	}
	return left
}
