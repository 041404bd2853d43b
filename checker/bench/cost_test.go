package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
)

// The limits of a case: ten times the history, no more than so many times the time,
// which n log n stays below; and a million events within so much memory.
const (
	growthGoal = 15
	memoryGoal = 4 << 30
	// worthTelling is what a checker must take before its growth means anything.
	worthTelling = 2 * time.Millisecond
)

// The steps of a measurement: reading the lines, and judging them.
const (
	stepRead  = "reading"
	stepJudge = "judging"
)

// steps are all steps in their order.
var steps = []string{stepRead, stepJudge}

// costRequest is what the child reads.
type costRequest struct {
	Case   string
	Events int
	Copies int           // so many of it, one after the other; figures are for one
	Steps  []string      // those to take
	Once   bool          // and not several times for the best
	Limit  time.Duration // of a step
	Memory uint64
}

// costStep is a line that the child writes for each step.
type costStep struct {
	Step   string
	Took   time.Duration
	Memory uint64 // the most that was in use so far
	GaveUp string // time, memory: Took is the limit of time
}

func (s costStep) String() string {
	switch s.GaveUp {
	case "":
		return round(s.Took).String()
	case "memory":
		return "out of memory"
	}
	return "over " + round(s.Took).String()
}

// serveCost is the child: it makes a history, and takes the steps one after the other.
func serveCost(in io.Reader, out io.Writer) error {
	var r costRequest
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return fmt.Errorf("read the case: %w", err)
	}
	cases := costs()
	found := slices.IndexFunc(cases, func(c Cost) bool { return c.name == r.Case })
	if found < 0 {
		return fmt.Errorf("no case is called %q", r.Case)
	}
	lines, err := cases[found].history(r.Events)
	if err != nil {
		return err
	}
	all := make([]*history.History, r.Copies)
	read := func() {
		for i := range all {
			if all[i], err = history.Read(bytes.NewReader(lines)); err != nil {
				return
			}
		}
	}
	taken := make(chan costStep)
	var at atomic.Int64 // the step that is being taken
	var since atomic.Int64
	since.Store(int64(now()))
	go func() {
		defer close(taken)
		for i, step := range r.Steps {
			run := read
			if step == stepJudge {
				run = func() {
					for _, h := range all {
						checker.Judge(h, checker.Options{})
					}
				}
			}
			if step != stepRead && all[0] == nil {
				read()
			}
			if err != nil {
				return
			}
			at.Store(int64(i))
			since.Store(int64(now()))
			taken <- costStep{Step: step, Took: fastest(run, r.Once) / time.Duration(r.Copies)}
		}
	}()
	answers := json.NewEncoder(out)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	most := uint64(0)
	for {
		gaveUp := ""
		select {
		case step, ok := <-taken:
			if !ok {
				return err
			}
			step.Memory = max(most, memoryInUse())
			if err := answers.Encode(step); err != nil {
				return err
			}
		case <-tick.C:
			most = max(most, memoryInUse())
			switch {
			case most > r.Memory:
				gaveUp = "memory"
			case now()-time.Duration(since.Load()) > r.Limit:
				gaveUp = "time"
			}
		}
		if gaveUp != "" {
			// The step goes on in the background; this process is about to end.
			return answers.Encode(costStep{Step: r.Steps[at.Load()], Took: r.Limit, Memory: most, GaveUp: gaveUp})
		}
	}
}

// fastest is what one run takes in the best of some blocks. A block has as many runs as
// make it long enough for the clock, which is exact to a few milliseconds where a process
// has several threads, and for the collector of garbage to come by. What is long by
// itself is run once.
func fastest(run func(), once bool) time.Duration {
	const blocks, block, long = 3, 50 * time.Millisecond, time.Second
	var least time.Duration
	for i := range blocks {
		runtime.GC()
		runs, from := 0, now()
		var sum time.Duration
		for runs == 0 || sum < block && !once {
			run()
			runs++
			sum = now() - from
		}
		if each := sum / time.Duration(runs); i == 0 || each < least {
			least = each
		}
		if once || least > long {
			break
		}
	}
	return least
}

// took is what each step of a case has taken, by its name.
type took map[string]costStep

// costOf measures a case in a process of its own. A step that comes to the limit ends
// that process; the steps after it are taken in another one. What is judged by all
// checkers is not tried where one of them came to its limit.
func costOf(ctx context.Context, o Options, c Cost, events, copies int, steps []string, once bool) (took, error) {
	all := took{}
	for left := steps; len(left) > 0; {
		if gaveUp := all.worst(); left[0] == stepJudge && gaveUp.GaveUp != "" {
			gaveUp.Step = stepJudge
			all[stepJudge] = gaveUp
			break
		}
		done, err := costInChild(ctx, costRequest{c.name, events, copies, left, once, o.Limit, memoryGoal})
		if err != nil {
			return nil, fmt.Errorf("measure %s with %d events: %w", c.name, events, err)
		}
		for _, s := range done {
			all[s.Step] = s
		}
		left = left[len(done):]
	}
	return all, nil
}

// worst is a step that gave up, if any did.
func (t took) worst() costStep {
	for _, s := range t {
		if s.GaveUp != "" {
			return s
		}
	}
	return costStep{}
}

// costInChild takes steps until one comes to a limit, which is the last one then.
func costInChild(ctx context.Context, r costRequest) ([]costStep, error) {
	asked, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	cmd := child(ctx, "cost")
	cmd.Stdin = bytes.NewReader(asked)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return nil, err
	}
	var done []costStep
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var s costStep
		if err := d.Decode(&s); err != nil {
			return nil, err
		}
		done = append(done, s)
	}
	if len(done) == 0 || len(done) < len(r.Steps) && done[len(done)-1].GaveUp == "" {
		return nil, fmt.Errorf("only %d of %d steps were taken", len(done), len(r.Steps))
	}
	return done, nil
}
