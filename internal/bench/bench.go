// Package bench measures how fast histories are judged, and says what it was to be.
//
// Each [Row] has a goal. Where a goal is a ratio, both sides are measured in the same
// run, on the same history: the other side is porcupine in its best form, one search
// for each lock, in a process of its own, since it can take all memory there is. What
// it cannot do within its limits counts as the limit, and is said.
//
// Times are the best of several runs, memory already there ("warm"), because that is
// what repeats. What the first run costs ("cold") is told beside it. In ratios they are
// times of the day, for both sides; elsewhere the time that was computed, where the
// system tells it.
package bench

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"
)

// Row is one line of the table.
type Row struct {
	What    string  `json:"what"`
	Goal    string  `json:"goal,omitempty"` // none: told without one
	Reached string  `json:"reached"`
	Met     bool    `json:"met"`
	Value   float64 `json:"value"`
	Detail  string  `json:"detail,omitempty"`
}

// Options are what a run may be told.
type Options struct {
	Quick bool // a tenth of everything, for a look or for CI
	Seed  uint64
	// Porcupine runs the other side on a case, in a process of its own.
	Porcupine func(ctx context.Context, c Case) (Measured, error)
	Say       func(string) // progress; may be nil
}

func (o Options) say(format string, args ...any) {
	if o.Say != nil {
		o.Say(fmt.Sprintf(format, args...))
	}
}

// scale is how many of n operations are used.
func (o Options) scale(n int) int {
	if o.Quick {
		return n / 10
	}
	return n
}

// Checker measures everything that the checker promises.
func Checker(ctx context.Context, o Options) ([]Row, error) {
	var rows []Row
	for _, part := range []func(context.Context, Options) ([]Row, error){ratios, speeds, unknowns, memory, reading} {
		if ctx.Err() != nil {
			return rows, ctx.Err()
		}
		more, err := part(ctx, o)
		if err != nil {
			return rows, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// Machine says what the numbers were measured on.
func Machine() string {
	return fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
}

// Print writes the table in markdown, which is as readable on a screen as in a page.
func Print(w io.Writer, rows []Row) error {
	if _, err := fmt.Fprintf(w, "| | goal | reached | |\n| --- | --- | --- | --- |\n"); err != nil {
		return err
	}
	for _, r := range rows {
		mark := ""
		if r.Goal != "" && !r.Met {
			mark = "**short** "
		}
		if _, err := fmt.Fprintf(w, "| %s | %s | %s%s | %s |\n", r.What, r.Goal, mark, r.Reached, r.Detail); err != nil {
			return err
		}
	}
	return nil
}

// best runs something a few times and returns the first time and the best of all.
func best(clock func() time.Duration, runs int, run func()) (cold, warm time.Duration) {
	for i := range runs {
		from := clock()
		run()
		took := clock() - from
		if i == 0 {
			cold, warm = took, took
		}
		warm = min(warm, took)
	}
	return cold, warm
}

// daytime is the clock on the wall.
func daytime() time.Duration { return time.Since(began) }

func perOp(d time.Duration, ops int) float64 { return float64(d.Nanoseconds()) / float64(ops) }
