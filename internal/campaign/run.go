package campaign

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"lockbench/internal/report"
)

// Do does one run and leaves its folder in out.
type Do func(ctx context.Context, r Run, out string) error

// Place is how a world is used: Missing says why it cannot be on this machine, and then
// there is no Do.
type Place struct {
	Do      Do
	Missing string
}

// Work is how a campaign is run.
type Work struct {
	Chosen Choices
	Places map[string]Place // by the names of the worlds
	// Budget is how long it may take. The worlds share what is left of it evenly, in
	// their order: what one does not need the next ones have. A run is begun only if
	// those of its scenario before it say that it fits. 0: as long as it takes.
	Budget time.Duration
	Say    func(line string)
	// Columns is how wide the lines for a run are that Say hears. 0: report.ScreenWidth.
	Columns int

	now func() time.Time // for tests
}

// Run does what is missing of the campaign and writes what came out. A failure of one
// run, or in one world, is told and does not keep the others from being done.
func (c *Campaign) Run(ctx context.Context, w Work) error {
	if w.now == nil {
		w.now = time.Now
	}
	if w.Say == nil {
		w.Say = func(string) {}
	}
	ready := 0
	for i := range c.Worlds {
		if w.Places[c.Worlds[i].World].Missing == "" {
			ready++
		}
	}
	shelf := newShelf(c.Dir)
	left := w.Budget
	var failures []error
	for i := range c.Worlds {
		t := turn{Campaign: c, world: &c.Worlds[i], shelf: shelf, work: w, begun: w.now()}
		place := w.Places[t.world.World]
		t.do, t.world.Missing = place.Do, place.Missing
		var why string
		var err error
		switch {
		case place.Missing != "":
			said := "not run"
			if t.world.ran() > 0 {
				said = "not continued" // what ran there counts, and what did not is missing for this reason
			}
			w.Say(fmt.Sprintf("world %s: %s: %s", t.world.World, said, place.Missing))
			why = place.Missing
		default:
			if t.budget = left / time.Duration(ready); len(c.Worlds) > 1 {
				t.budget = t.budget.Round(time.Second) // people read it
			}
			ready--
			why, err = t.run(ctx)
			left -= w.now().Sub(t.begun)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("world %s: %w", t.world.World, err))
		}
		if err := c.collect(t.world, shelf, w.Chosen, why); err != nil {
			return err
		}
	}
	return errors.Join(errors.Join(failures...), c.write())
}

// turn is a world's part in a campaign that goes on.
type turn struct {
	*Campaign
	world  *World
	shelf  *shelf
	work   Work
	do     Do
	budget time.Duration // of this world, if the work has one
	begun  time.Time
	failed map[string]bool // folders of runs from before it began
}

// run goes round by round: each scenario once, then each once more with the next seed,
// until there are as many runs or episodes as were asked for, or the budget is spent.
// With a budget and neither number it goes on until that is spent. Of a scenario that
// the world can do for no lock with servers, one run is enough. What the harness failed
// in before is done again, once each time the campaign goes on: it says nothing of a
// lock, and what it failed for may be mended. Its folder stays. What is missing in the
// end is missing for the reason that is returned.
func (t *turn) run(ctx context.Context) (why string, err error) {
	t.failed = map[string]bool{}
	for i := range t.world.Rows {
		ran, err := t.shelf.whole(t.world.World, t.world.Rows[i].Scenario)
		if err != nil {
			return "", err
		}
		for j := range ran {
			t.failed[ran[j].Dir] = ran[j].failed()
		}
	}
	var failures []error
	for round := 0; why == ""; round++ {
		goesOn := false // something of this round was or is done, so there may be a next
		for i := range t.world.Rows {
			if ctx.Err() != nil {
				why = "the " + t.Kind + " was stopped before its turn"
				break
			}
			r := Run{World: t.world.World, Part: t.world.Rows[i].Part, Seed: t.Seed + uint64(round)}
			d, err := t.due(r, round, t.mine(t.world, i, round))
			if err != nil {
				return "", err
			}
			goesOn = goesOn || d.now || d.done
			if !d.now {
				continue
			}
			if left := t.budget - t.gone(); t.work.Budget > 0 && (left <= 0 || left < d.took) {
				spent := t.budget
				if spent <= 0 {
					spent = t.work.Budget // by the worlds before
				}
				why = fmt.Sprintf("the budget of %s was spent before its turn", spent)
				continue // a shorter one may still fit
			}
			if t.Episodes > 0 && r.Asked == 0 {
				r.Episodes = min(r.Episodes, t.Episodes-round*r.Episodes) // the last run has the rest
			}
			if d.again != "" {
				t.say(fmt.Sprintf("the harness failed in %s, so that is done again", d.again))
			}
			t.say(fmt.Sprintf("round %d, %d of %d: %s, seed %d, %s", round+1, i+1, len(t.world.Rows), r.Scenario, r.Seed, report.Plural(len(r.Locks), "lock")))
			before := t.work.now()
			if err := t.do(ctx, r, filepath.Join(t.Dir, r.World)); err != nil && ctx.Err() == nil {
				failures = append(failures, fmt.Errorf("%s, seed %d: %w", r.Scenario, r.Seed, err))
				t.say(fmt.Sprintf("%s failed: %v", r.Scenario, err))
			}
			if err := t.tell(r, round, i, t.work.now().Sub(before)); err != nil {
				return "", err
			}
		}
		if !goesOn {
			break
		}
	}
	err = errors.Join(failures...)
	if why == "" && err != nil {
		why = "a run failed: " + report.OneLine(err.Error())
	}
	return why, err
}

func (t *turn) gone() time.Duration { return t.work.now().Sub(t.begun) }

func (t *turn) say(line string) {
	t.work.Say(fmt.Sprintf("%s %s  %s", t.world.World, report.Clock(t.gone()), line))
}

// due is whether a run is to be done now, or was done.
type due struct {
	now, done bool
	again     string        // the folder of the attempt that the harness failed in
	took      time.Duration // the longest run of its scenario before it
}

func (t *turn) due(r Run, round int, mine bool) (due, error) {
	if r.Asked > 0 && round >= r.Asked {
		return due{}, nil
	}
	if !mine {
		return due{done: true}, nil // by another part
	}
	ran, err := t.shelf.whole(r.World, r.Scenario)
	if err != nil {
		return due{}, err
	}
	var d due
	episodes := 0
	for _, x := range ran {
		most := 1
		for i := range x.result.Locks {
			most = max(most, x.result.Locks[i].Episodes)
		}
		episodes += most
		d.took = max(d.took, time.Duration(x.result.DurationS*float64(time.Second)))
	}
	if i := slices.IndexFunc(ran, func(x Ran) bool { return x.Seed == r.Seed }); i >= 0 {
		if d.now = t.failed[ran[i].Dir]; d.now {
			d.again = ran[i].Dir
		}
		d.done = !d.now
		return d, nil
	}
	switch {
	case round == 0:
		d.now = true
	case r.Asked > 0:
		d.now = len(ran) == 0 || unable(ran[0].result) == ""
	case t.Episodes == 0:
		d.now = t.work.Budget > 0
	default: // a run that failed must not be tried for ever: rounds are as many as are needed
		d.now = episodes < t.Episodes && round*r.Episodes < t.Episodes
	}
	return d, nil
}
