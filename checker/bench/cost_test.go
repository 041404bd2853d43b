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

// The limits of a case: the factor of the time for ten times the history, which n log n does not reach; and the memory for a
// million events.
const (
	growthGoal = 15
	memoryGoal = 4 << 30
	// worthTelling is the least time of a checker for which growth is computed.
	worthTelling = 2 * time.Millisecond
)

// The steps of a measurement: reading the lines and judging the history.
const (
	stepRead  = "reading"
	stepJudge = "judging"
)

// steps has all steps in their order.
var steps = []string{stepRead, stepJudge}

// costRequest is the input of the child.
type costRequest struct {
	Case   string
	Events int
	Copies int           // the number of copies to judge; figures are for one copy
	Steps  []string      // the steps to measure
	Once   bool          // measure once, instead of several times for the best
	Limit  time.Duration // of a step
	Memory uint64
}

// costStep is the line that the child writes for each step.
type costStep struct {
	Step   string
	Took   time.Duration
	Memory uint64 // the maximum so far
	GaveUp string // "time" or "memory"; Took is then the limit
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

// serveCost is the child: it generates a history and measures the steps one after the other.
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
	var at atomic.Int64 // the current step
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
			// The step continues in the background, but this process ends.
			return answers.Encode(costStep{Step: r.Steps[at.Load()], Took: r.Limit, Memory: most, GaveUp: gaveUp})
		}
	}
}

// fastest returns the time of one run in the best of several blocks. A block has enough runs for the resolution of the
// clock, which is a few milliseconds for a process with several threads, and for the garbage collector to run. Long runs
// are measured once.
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

// took has the cost of each step of a case by its name.
type took map[string]costStep

// costOf measures a case in a child process. A step that reaches a limit ends the process, and the next steps run in another one.
// The step with all checkers is skipped if one of them reached its limit.
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

// worst returns a step that reached a limit, if there is one.
func (t took) worst() costStep {
	for _, s := range t {
		if s.GaveUp != "" {
			return s
		}
	}
	return costStep{}
}

// costInChild measures steps until one reaches a limit.
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
