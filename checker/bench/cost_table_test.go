package bench

import (
	"context"
	"fmt"
	"time"
)

// measuredCost is the cost of a case for one length and for ten times that length.
type measuredCost struct {
	Cost
	small, large       took
	smallLen, largeLen int
}

// growth returns the factor by which a step takes longer for ten times the history, and whether the factor meets the goal. A step
// that takes hardly any time meets it.
func (m measuredCost) growth(step string) (ratio float64, ok bool) {
	small, large := m.small[step], m.large[step]
	ratio = large.Took.Seconds() / max(small.Took, time.Microsecond).Seconds()
	return ratio, large.GaveUp == "" && (ratio <= growthGoal || large.Took < worthTelling)
}

// costRows measures all cases in two lengths. It judges ten copies of the shorter history, so that both measurements use the same
// amount of memory. A history that fits into the caches of the processor would be judged faster.
func costRows(ctx context.Context, o Options) (rows []Row, err error) {
	cases, err := chosen()
	for _, c := range cases {
		m := measuredCost{Cost: c, smallLen: o.scale(10_000), largeLen: o.scale(100_000)}
		o.say("measuring the cost of %s", c.what)
		if m.small, err = costOf(ctx, o, c, m.smallLen, 10, steps, false); err != nil {
			return rows, err
		}
		if m.large, err = costOf(ctx, o, c, m.largeLen, 1, steps, false); err != nil {
			return rows, err
		}
		o.say("  %s, %s", m.large[stepJudge], m.small[stepJudge])
		for _, step := range steps {
			ratio, met := m.growth(step)
			least := ""
			if m.large[step].GaveUp != "" {
				least = "over "
			}
			rows = append(rows, Row{
				What: step + ", " + c.what, Goal: fmt.Sprintf("≤ %d × for 10 ×", growthGoal), Met: met,
				Reached: fmt.Sprintf("%s%.1f ×", least, ratio),
				Detail:  fmt.Sprintf("%s of %s events against %s of %s", m.large[step], thousands(float64(m.largeLen)), m.small[step], thousands(float64(m.smallLen))),
			})
		}
	}
	return rows, err
}

// millions reads and judges a million events of each case within the limits of time and memory.
func millions(ctx context.Context, o Options) (rows []Row, err error) {
	n := o.scale(1_000_000)
	cases, err := chosen()
	for _, c := range cases {
		o.say("measuring %s events of %s", thousands(float64(n)), c.what)
		all, err := costOf(ctx, o, c, n, 1, steps, true)
		if err != nil {
			return rows, err
		}
		judged, took := all[stepJudge], all[stepRead].Took+all[stepJudge].Took
		row := Row{
			What: fmt.Sprintf("%s events, %s", thousands(float64(n)), c.what), Goal: "≤ 30 s, ≤ 4 GiB", Met: judged.GaveUp == "" && took <= 30*time.Second,
			Reached: fmt.Sprintf("%s, %.2f GiB", round(took), float64(judged.Memory)/(1<<30)),
			Detail:  fmt.Sprintf("read in %s, judged in %s", all[stepRead], judged),
		}
		if judged.GaveUp != "" {
			row.Reached = "no verdict"
		}
		rows = append(rows, row)
	}
	return rows, err
}
