package sweep_test

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	oracles "lockbench/checker/internal/oracle"
	"lockbench/checker/models"
	"lockbench/checker/sweep"
)

// TestMain lets memory be collected less often where millions of histories are made and
// thrown away: it was a third of what they cost.
func TestMain(m *testing.M) {
	if verifying() {
		debug.SetGCPercent(1000)
	}
	os.Exit(m.Run())
}

// together is so many histories are put before porcupine at once.
const together = 100

// comparison is one worker's engine and porcupine.
//
// What the engine calls valid waits until there are some, and is put before porcupine as
// one history of many locks, each a partition. If it takes that, it has taken each of
// them; if not, each is put before it alone. Most of what a call to it costs is to start a
// search and not the search, and this is saved. What the engine calls violated is put
// before it alone, since of several porcupine says no more than that one of them is.
type comparison struct {
	m        sweep.Model
	report   func(o *sweep.Ops, why string)
	oracle   oracle
	waiting  []*sweep.Ops // valid, as the engine says; those past n are memory
	n        int
	verdicts [3]int
}

func newComparison(m sweep.Model, report func(*sweep.Ops, string)) *comparison {
	return &comparison{m: m, report: report, oracle: newOracle(m)}
}

// compare judges a history, and reports it, made small, if porcupine says otherwise:
// at once, or when it is flushed.
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

// flush puts what waits before porcupine.
func (c *comparison) flush() {
	waiting := c.waiting[:c.n]
	if c.n = 0; len(waiting) == 0 || c.oracle.ask(waiting...) == porcupine.Ok {
		return
	}
	for _, o := range waiting {
		if c.disagree(o, sweep.Check(c.m, o)) != "" {
			c.tell(o) // one is enough: they mostly have one reason
			return
		}
	}
	c.report(waiting[0], fmt.Sprintf("porcupine does not take %d histories together of which it takes each alone; this is the first", len(waiting)))
}

// tell reports a history that was made small.
func (c *comparison) tell(o *sweep.Ops) {
	why := func(o *sweep.Ops) string { return c.disagree(o, sweep.Check(c.m, o)) }
	o = shrink(o, func(o *sweep.Ops) bool { return why(o) != "" })
	c.report(o, why(o))
}

// disagree says how porcupine judges a history otherwise than the engine, if it does.
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

// oracle is porcupine with the model of a lock, and memory for its input.
type oracle struct {
	model   porcupine.Model
	asked   *[][]porcupine.Operation
	calls   map[models.Call]any // values, put into interfaces once
	answers map[models.Outcome]any
}

func newOracle(m sweep.Model) oracle {
	a := oracle{oracles.Model(m), new([][]porcupine.Operation), map[models.Call]any{}, map[models.Outcome]any{}}
	asked := a.asked
	a.model.Partition = func([]porcupine.Operation) [][]porcupine.Operation { return *asked }
	return a
}

// ask asks whether all of these are linearizable. Histories are so small that the limit
// of time is there for machines that stand still.
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
		// Searches of other partitions may go on for a moment, and read what was asked.
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
