package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"lockbench/checker/sweep"
)

// judged runs the checker over all locks of a case, once.
func judged(c *sweep.Checker, m sweep.Model, all []*sweep.Ops) (worst sweep.Verdict) {
	for _, o := range all {
		worst = max(worst, c.Check(m, o).Verdict)
	}
	return worst
}

// expect is an error if a case is not judged as it was made.
func expect(c Case, got sweep.Verdict) error {
	want := sweep.Valid
	if c.Late {
		want = sweep.Violated
	}
	if got != want {
		return fmt.Errorf("measure %s: the history is judged %s and was made to be %s", c.Name, got, want)
	}
	return nil
}

// ratios compares with porcupine.
func ratios(ctx context.Context, o Options) ([]Row, error) {
	const porcupineNeeds = 12 << 30
	limit := Limit{Time: o.Limit, Memory: memoryFor(porcupineNeeds)}
	var rows []Row
	for _, part := range []struct {
		goal float64
		c    Case
	}{
		{500, Case{Name: "10,000 operations, 30 clients, no unknown", Ops: 10_000, Clients: 30}},
		{2_000, Case{Name: "100,000 operations, 30 clients", Ops: 100_000, Clients: 30}},
		{100_000, Case{Name: "violating, 1,000 operations, 21 of them unknown", Ops: 1_000, Clients: 5, Lost: 21, Late: true}},
	} {
		c := part.c
		c.Seed, c.Locks = o.Seed, 1
		all := c.Histories()
		var engine sweep.Checker
		var got sweep.Verdict
		cold, warm := best(daytime, 20, func() { got = judged(&engine, c.Model, all) })
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
		for _, out := range o.Out {
			if out == sweep.Unknown {
				n++
			}
		}
	}
	return n
}

// speeds measures large histories by themselves.
func speeds(ctx context.Context, o Options) ([]Row, error) {
	const million = 1_000_000
	var rows []Row
	for _, part := range []struct {
		goal float64
		c    Case
	}{
		{20, Case{Name: "mutex, 10 million operations over 100 locks", Ops: o.scale(10 * million), Locks: 100, Clients: 30, Unknown: 0.01}},
		{40, Case{Name: "mutex, 10 million operations on one lock", Ops: o.scale(10 * million), Locks: 1, Clients: 30, Unknown: 0.01}},
		{30, Case{Name: "read-write", Model: sweep.Model{Shape: sweep.RW}, Ops: o.scale(2 * million), Locks: 100, Clients: 30, Unknown: 0.01}},
		{30, Case{Name: "semaphore", Model: sweep.Model{Shape: sweep.Semaphore, Permits: 4}, Ops: o.scale(2 * million), Locks: 100, Clients: 30, Unknown: 0.01}},
		{30, Case{Name: "reentrant", Model: sweep.Model{Reentrant: true}, Ops: o.scale(2 * million), Locks: 100, Clients: 30, Unknown: 0.01}},
		{30, Case{Name: "fenced", Model: sweep.Model{Fenced: true}, Ops: o.scale(2 * million), Locks: 100, Clients: 30, Unknown: 0.01}},
	} {
		if ctx.Err() != nil {
			return rows, ctx.Err()
		}
		o.say("measuring %s", part.c.Name)
		ns, cold, n, err := measure(o, part.c)
		if err != nil {
			return rows, err
		}
		rows = append(rows, Row{
			What: part.c.Name, Goal: fmt.Sprintf("≤ %.0f ns an operation", part.goal),
			Reached: fmt.Sprintf("%.1f ns", ns), Met: ns <= part.goal,
			Detail: fmt.Sprintf("one core; cold %.1f ns; %s operations", cold, thousands(float64(n))),
		})
	}
	return rows, nil
}

// measure returns the warm and the cold cost of an operation.
func measure(o Options, c Case) (warm, cold float64, ops int, err error) {
	c.Seed = o.Seed
	all := c.Histories()
	for _, h := range all {
		ops += h.Len()
	}
	var engine sweep.Checker
	var got sweep.Verdict
	runtime.GC()
	first, rest := best(now, 5, func() { got = judged(&engine, c.Model, all) })
	return perOp(rest, ops), perOp(first, ops), ops, expect(c, got)
}

// unknowns asks what unknown outcomes cost.
func unknowns(_ context.Context, o Options) ([]Row, error) {
	o.say("measuring few and many unknown outcomes")
	few := Case{Name: "1 % unknown", Ops: o.scale(2_000_000), Locks: 100, Clients: 30, Unknown: 0.01}
	many := few
	many.Name, many.Unknown = "17 % unknown", 0.17
	a, _, _, errA := measure(o, few)
	b, _, _, errB := measure(o, many)
	if err := errors.Join(errA, errB); err != nil {
		return nil, err
	}
	return []Row{{
		What: "an operation, 1 % against 17 % unknown", Goal: "≤ 1.3 ×", Met: b/a <= 1.3,
		Reached: fmt.Sprintf("%.2f ×", b/a), Detail: fmt.Sprintf("%.1f ns against %.1f ns", a, b),
	}}, nil
}

// memory asks what the checker needs beyond the history, and whether it allocates when
// it is used again.
func memory(_ context.Context, o Options) ([]Row, error) {
	o.say("measuring memory")
	c := Case{Name: "memory", Ops: o.scale(10_000_000), Locks: 1, Clients: 30, Unknown: 0.01, Seed: o.Seed}
	all := c.Histories()
	ops := all[0].Len()
	var engine sweep.Checker
	var before, after, warm runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	judged(&engine, c.Model, all)
	runtime.GC()
	runtime.ReadMemStats(&after)
	judged(&engine, c.Model, all)
	runtime.ReadMemStats(&warm)
	runtime.KeepAlive(all)
	// What is kept after the first use is what the checker needs: it keeps its buffers.
	bytes := float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)) / float64(ops)
	allocations := warm.Mallocs - after.Mallocs
	runtime.KeepAlive(&engine)
	return []Row{
		{What: "memory beyond the history, one lock", Goal: "≤ 64 B an operation", Met: bytes <= 64,
			Reached: fmt.Sprintf("%.0f B", bytes), Detail: fmt.Sprintf("%s operations; %.0f B an operation were allocated on the way", thousands(float64(ops)), float64(after.TotalAlloc-before.TotalAlloc)/float64(ops))},
		{What: "allocations when used again", Goal: "0", Met: allocations == 0, Reached: fmt.Sprint(allocations)},
	}, nil
}
