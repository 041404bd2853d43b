package sweep_test

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"lockbench/checker/internal/models"
	oracles "lockbench/checker/internal/oracle"
	"lockbench/checker/internal/sweep"
)

// TestMain makes the garbage collector run less often, because the tests create millions of short-lived histories.
func TestMain(m *testing.M) {
	if verifying() {
		debug.SetGCPercent(1000)
	}
	os.Exit(m.Run())
}

// together is the number of histories that porcupine checks at once.
const together = 100

// comparison compares package sweep with porcupine in one worker.
//
// Valid histories are collected and passed to porcupine as one history of many locks, with a partition for each. If porcupine
// accepts it, it accepts each of them. Otherwise each is checked alone. This saves most of the cost, because starting a
// search costs more than the search. Violated histories are checked alone, because porcupine does not tell which
// partition it rejects.
type comparison struct {
	m        sweep.Model
	report   func(o *sweep.Ops, why string)
	oracle   oracle
	waiting  []*sweep.Ops // histories that are valid for package sweep; those after n are reused memory
	n        int
	verdicts [3]int
}

func newComparison(m sweep.Model, report func(*sweep.Ops, string)) *comparison {
	return &comparison{m: m, report: report, oracle: newOracle(m)}
}

// compare judges a history. If porcupine disagrees, now or at the next flush, it reports the shrunk history.
func (c *comparison) compare(o *sweep.Ops) {
	got := sweep.Check(c.m, o)
	c.verdicts[got.Verdict()]++
	if got.Verdict() != sweep.Valid {
		if c.disagree(o, got) != "" {
			c.tell(o)
		}
		return
	}
	if c.n == len(c.waiting) {
		c.waiting = append(c.waiting, &sweep.Ops{})
	}
	copyTo(c.waiting[c.n], o)
	if c.n++; c.n == together {
		c.flush()
	}
}

// flush passes the collected histories to porcupine.
func (c *comparison) flush() {
	waiting := c.waiting[:c.n]
	if c.n = 0; len(waiting) == 0 || c.oracle.ask(waiting...) == porcupine.Ok {
		return
	}
	for _, o := range waiting {
		if c.disagree(o, sweep.Check(c.m, o)) != "" {
			c.tell(o) // one is enough, because they mostly have the same cause
			return
		}
	}
	c.report(waiting[0], fmt.Sprintf("porcupine does not take %d histories together of which it takes each alone; this is the first", len(waiting)))
}

// tell reports a shrunk history.
func (c *comparison) tell(o *sweep.Ops) {
	why := func(o *sweep.Ops) string { return c.disagree(o, sweep.Check(c.m, o)) }
	o = shrink(o, func(o *sweep.Ops) bool { return why(o) != "" })
	c.report(o, why(o))
}

// disagree describes how porcupine disagrees with package sweep, if it does.
func (c *comparison) disagree(o *sweep.Ops, got sweep.Result) string {
	if got.Verdict() == sweep.Undecided {
		return "the engine leaves it undecided: " + got.Why
	}
	found := c.oracle.ask(o)
	switch {
	case found == porcupine.Unknown:
		return "porcupine came to its limit of time"
	case (found == porcupine.Ok) == (got.Verdict() == sweep.Valid):
		return ""
	}
	return fmt.Sprintf("the engine says %s %v, and porcupine says %s", got.Verdict(), got.Findings, found)
}

// oracle is porcupine with the model of a lock, and reused memory for its input.
type oracle struct {
	model   porcupine.Model
	asked   *[][]porcupine.Operation
	calls   map[models.Call]any // calls as interface values, which are allocated once
	answers map[models.Outcome]any
}

func newOracle(m sweep.Model) oracle {
	a := oracle{oracles.Model(m), new([][]porcupine.Operation), map[models.Call]any{}, map[models.Outcome]any{}}
	asked := a.asked
	a.model.Partition = func([]porcupine.Operation) [][]porcupine.Operation { return *asked }
	return a
}

// ask reports whether all histories are linearizable. The time limit is only reached on a machine that stalls, because
// histories are small.
func (a oracle) ask(histories ...*sweep.Ops) porcupine.CheckResult {
	asked := (*a.asked)[:0]
	for _, o := range histories {
		var ops []porcupine.Operation
		if n := len(asked); n < cap(asked) {
			ops = asked[:n+1][n][:0]
		}
		for i := range o.All {
			// One that did not return is still under way when all is over, and its
			// outcome is unknown.
			ops = append(ops, porcupine.Operation{ClientId: int(o.All[i].Session), Call: int64(o.All[i].Call), Return: int64(o.All[i].Ret),
				Input: interned(a.calls, oracles.Call(o, i)), Output: interned(a.answers, oracles.Answer(o, i))})
		}
		asked = append(asked, ops)
	}
	*a.asked = asked
	found := porcupine.CheckOperationsTimeout(a.model, nil, 5*time.Minute)
	if found != porcupine.Ok {
		// Searches of other partitions may continue for a moment and read the input.
		*a.asked = nil
	}
	return found
}

func interned[K comparable](all map[K]any, key K) any {
	boxed, ok := all[key]
	if !ok {
		boxed = key
		all[key] = boxed
	}
	return boxed
}
