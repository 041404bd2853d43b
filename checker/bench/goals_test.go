package bench

import (
	"context"
	"fmt"

	"lockbench/checker/internal/sweep"
)

// judged judges all locks of a case once.
func judged(m sweep.Model, all []*sweep.Ops) (worst verdict) {
	for _, o := range all {
		worst = max(worst, verdictOf(sweep.Check(m, o)))
	}
	return worst
}

// verdict is the verdict of a check; worse is greater.
type verdict int

const (
	valid verdict = iota
	undecided
	violated
)

func (v verdict) String() string { return [...]string{"valid", "undecided", "violated"}[v] }

func verdictOf(r sweep.Result) verdict {
	switch {
	case len(r.Findings) > 0:
		return violated
	case r.Why != "":
		return undecided
	}
	return valid
}

// expect returns an error if a case does not get its intended verdict.
func expect(c Case, got verdict) error {
	want := valid
	if c.Late {
		want = violated
	}
	if got != want {
		return fmt.Errorf("measure %s: the history is judged %s and was made to be %s", c.Name, got, want)
	}
	return nil
}

// ratios measures the ratios to porcupine.
func ratios(ctx context.Context, o Options) ([]Row, error) {
	const porcupineNeeds = 12 << 30
	limit := Limit{Time: o.Limit, Memory: memoryFor(porcupineNeeds)}
	var rows []Row
	for _, part := range []struct {
		goal float64
		c    Case
	}{
		{100, Case{Name: "10,000 operations, 30 clients", Ops: 10_000, Clients: 30}},
		{100, Case{Name: "violating, 1,000 operations, 21 of them unknown", Ops: 1_000, Clients: 5, Lost: 21, Late: true}},
	} {
		c := part.c
		c.Seed, c.Locks = o.Seed, 1
		all := c.Histories()
		var got verdict
		cold, warm := best(daytime, 20, func() { got = judged(c.Model, all) })
		if err := expect(c, got); err != nil {
			return rows, err
		}
		row := Row{What: "against porcupine, " + c.Name, Goal: fmt.Sprintf("%s ×", thousands(part.goal))}
		o.say("measuring porcupine on %s", c.Name)
		other, err := porcupineOn(ctx, c, limit)
		if err != nil {
			return rows, fmt.Errorf("measure porcupine on %s: %w", c.Name, err)
		}
		ratio := other.Took.Seconds() / warm.Seconds()
		row.Met = ratio >= part.goal
		least := ""
		if other.GaveUp != "" {
			least = "more than "
		}
		row.Reached = fmt.Sprintf("%s%s ×", least, thousands(ratio))
		row.Detail = fmt.Sprintf("%s against %s; cold %s; %d unknown", other, round(warm), round(cold), unknownOf(all))
		if other.GaveUp == "" && other.Linearizable == c.Late {
			return rows, fmt.Errorf("measure %s: porcupine and the checker disagree", c.Name)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func unknownOf(all []*sweep.Ops) (n int) {
	for _, o := range all {
		for _, op := range o.All {
			if op.Out == sweep.Unknown {
				n++
			}
		}
	}
	return n
}
