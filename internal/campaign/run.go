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

// Do does one run. It makes its folder in out.
type Do func(ctx context.Context, r Run, out string) error

// Runner is a usable world, or the reason why it cannot be used; then Do is nil.
type Runner struct {
	Do      Do
	Missing string
}

// Work describes how to run a campaign.
type Work struct {
	Chosen Choices
	Worlds map[string]Runner // by the names of the worlds
	// Budget limits the time; 0: unlimited. The worlds share the remaining time evenly, in order. A run starts only if it
	// fits by the duration of earlier runs of its scenario.
	Budget time.Duration
	Say    func(line string) // may wrap long lines

	now func() time.Time // for tests
}

// Run does the missing runs and writes the results. A failure of one run or world does not stop the others.
func (c *Campaign) Run(ctx context.Context, w Work) error {
	if w.now == nil {
		w.now = time.Now
	}
	if w.Say == nil {
		w.Say = func(string) {}
	}
	c.FiguresOnly = false // it has runs from now on
	ready := 0
	for i := range c.Worlds {
		if w.Worlds[c.Worlds[i].World].Missing == "" {
			ready++
		}
	}
	done := newResults(c.Dir)
	left := w.Budget
	var failures []error
	for i := range c.Worlds {
		t := inWorld{Campaign: c, world: &c.Worlds[i], results: done, work: w, begun: w.now()}
		runner := w.Worlds[t.world.World]
		t.world.Missing = runner.Missing
		if runner.Missing != "" {
			said := "not run"
			if t.world.ran() > 0 {
				said = "not continued"
			}
			w.Say(fmt.Sprintf("world %s: %s: %s", t.world.World, said, runner.Missing))
			t.why = runner.Missing
		} else {
			t.budget = left / time.Duration(ready)
			ready--
			if err := t.run(ctx, runner.Do); err != nil {
				failures = append(failures, fmt.Errorf("world %s: %w", t.world.World, err))
			}
			left -= w.now().Sub(t.begun)
		}
		if err := c.collect(t.world, done, w.Chosen, t.why); err != nil {
			return err
		}
	}
	return errors.Join(errors.Join(failures...), c.write())
}

// inWorld is the part of one world in a campaign that runs.
type inWorld struct {
	*Campaign
	world    *World
	results  *results
	work     Work
	budget   time.Duration // of this world, if there is one
	begun    time.Time
	ran      [][]Ran         // the complete runs of each row
	failed   map[string]bool // the folders of runs in which the harness failed before this campaign ran
	pace     run.Pace
	why      string // the reason for runs that are missing at the end
	failures []error
}

// job is a run to do.
type job struct {
	Run
	round, row int
}

// run goes round by round: each scenario once, then each again with the next seed. A run in which the harness failed is
// repeated once each time the campaign continues, and its folder remains.
func (t *inWorld) run(ctx context.Context, do Do) error {
	t.failed, t.ran = map[string]bool{}, make([][]Ran, len(t.world.Rows))
	for i := range t.world.Rows {
		if err := t.read(i); err != nil {
			return err
		}
		for _, x := range t.ran[i] {
			t.failed[x.Dir] = x.failed()
			t.pace.Add(x.took())
		}
	}
	var broken error
	run.Each(ctx, t.jobs, 1, func(ctx context.Context, j job) bool {
		broken = t.do(ctx, j, do)
		return broken == nil
	})
	if broken != nil {
		return broken
	}
	err := errors.Join(t.failures...)
	switch {
	case ctx.Err() != nil:
		t.why = "the matrix was stopped before this world"
	case t.why == "" && err != nil:
		t.why = "a run failed: " + report.OneLine(err.Error())
	}
	return err
}

func (t *inWorld) read(row int) (err error) {
	t.ran[row], err = t.results.complete(t.world.World, t.world.Rows[row].Scenario)
	return err
}

// jobs yields the missing runs. It ends after a round without wanted runs, or when the budget is spent.
func (t *inWorld) jobs(yield func(job) bool) {
	for round, more := 0, true; more && t.why == ""; round++ {
		more = false
		for i := range t.world.Rows {
			if !t.wants(i, round) {
				continue
			}
			more = true
			if !t.mine(t.world, i, round) || t.done(i, round) {
				continue
			}
			p := t.world.Rows[i].Part
			longest := time.Duration(0)
			for _, x := range t.ran[i] {
				longest = max(longest, x.took())
			}
			if left := t.budget - t.gone(); t.work.Budget > 0 && (left <= 0 || left < longest) {
				t.why = fmt.Sprintf("the budget of %s was spent before this world", t.work.Budget)
				continue // a shorter one may still fit
			}
			if t.Episodes > 0 {
				p.Episodes = min(p.Episodes, t.Episodes-round*p.Episodes) // the last run has the rest
			}
			if !yield(job{Run{World: t.world.World, Part: p, Seed: t.Seed + uint64(round)}, round, i}) {
				return
			}
		}
	}
}

// wants reports whether a row has a run in a round. If the world can run no lock with servers, one run is enough to know
// that.
func (t *inWorld) wants(row, round int) bool {
	p := t.world.Rows[row].Part
	switch {
	case round == 0:
		return true
	case len(t.ran[row]) > 0 && unable(t.ran[row][0].result) != "":
		return false
	case p.Asked > 0:
		return round < p.Asked
	}
	return t.work.Budget > 0
}

// done reports whether a run of this campaign is complete.
func (t *inWorld) done(row, round int) bool {
	x := t.find(row, round)
	return x != nil && !t.failed[x.Dir]
}

func (t *inWorld) find(row, round int) *Ran {
	i := slices.IndexFunc(t.ran[row], func(x Ran) bool { return x.Seed == t.Seed+uint64(round) })
	if i < 0 {
		return nil
	}
	return &t.ran[row][i]
}

func (t *inWorld) do(ctx context.Context, j job, do Do) error {
	if x := t.find(j.row, j.round); x != nil {
		t.say(fmt.Sprintf("the harness failed in %s, so the run is repeated", x.Dir))
	}
	t.say(fmt.Sprintf("round %d, %d of %d: %s, seed %d, %s", j.round+1, j.row+1, len(t.world.Rows), j.Scenario, j.Seed, report.Plural(len(j.Locks), "lock")))
	before := t.work.now()
	if err := do(ctx, j.Run, filepath.Join(t.Dir, j.World)); err != nil && ctx.Err() == nil {
		t.failures = append(t.failures, fmt.Errorf("%s, seed %d: %w", j.Scenario, j.Seed, err))
		t.say(fmt.Sprintf("%s failed: %v", j.Scenario, err))
	}
	if err := t.read(j.row); err != nil {
		return err
	}
	x := t.find(j.row, j.round)
	if x == nil {
		return nil
	}
	t.pace.Add(x.took())
	return t.tell(j, x, t.work.now().Sub(before))
}

func (t *inWorld) gone() time.Duration { return t.work.now().Sub(t.begun) }

func (t *inWorld) say(line string) {
	t.work.Say(fmt.Sprintf("%s %s  %s", t.world.World, report.Clock(t.gone()), line))
}

// tell reports the result of a run, its duration, and an estimate for the rest of the world's turn.
func (t *inWorld) tell(j job, x *Ran, took time.Duration) error {
	s, err := t.work.Chosen.scenario(j.Scenario)
	if err != nil {
		return err
	}
	row := Row{Part: j.Part, Runs: []Ran{*x}, Result: x.result}
	parts := []string{report.OneLine(j.Scenario)}
	for l := range row.Result.All() {
		c := t.cellOf(line{&row, j.Scenario}, l)
		text := c.Sign + " " + l.Lock
		if c.Rate != "" {
			text += " " + c.Rate
		}
		if _, odd := oddOf(s, l); odd {
			text += " " + wrongSign
		}
		parts = append(parts, text)
	}
	end := report.Roughly(took)
	if left := t.left(j); left > 0 {
		end += ", ~" + report.Roughly(left) + " left"
		if len(t.Worlds) > 1 {
			end += " in " + t.world.World
		}
	}
	t.work.Say(strings.Join(append(parts, end), "  "))
	return nil
}

// left estimates the duration of the rest of the world's turn.
func (t *inWorld) left(after job) time.Duration {
	jobs, open := 0, false
	for i := range t.world.Rows {
		p := t.world.Rows[i].Part
		open = open || p.Asked == 0
		for round := after.round; round < max(p.Asked, 1); round++ {
			if (round > after.round || i > after.row) && t.wants(i, round) && t.mine(t.world, i, round) && !t.done(i, round) {
				jobs++
			}
		}
	}
	left := t.pace.Left(jobs)
	if budget := max(0, t.budget-t.gone()); t.work.Budget > 0 && (open || left > budget) {
		return budget
	}
	return left
}

// mine reports whether a run belongs to this shard. Scenarios rotate between shards, so that no shard has all runs of a
// slow scenario.
func (c *Campaign) mine(world *World, row, round int) bool {
	piece := 0
	for i := range c.Worlds {
		w := &c.Worlds[i]
		if w.World == world.World {
			piece += round*len(w.Rows) + (row+round)%len(w.Rows)
			break
		}
		for j := range w.Rows {
			piece += w.Rows[j].Asked
		}
	}
	return c.Shard.Has(piece)
}
