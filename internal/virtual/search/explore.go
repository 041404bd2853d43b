// Package search looks for violations in the simulation. [Exploration.Run] varies a scenario
// by seeds until one of them shows a violation, [Exploration.Shrink] makes the violation
// smaller, and [Replay] runs a trial again and compares the bytes.
package search

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"

	"lockbench/checker"
	"lockbench/internal/claim"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/seed"
	"lockbench/internal/trial"
	"lockbench/internal/virtual/child"
	"lockbench/internal/world"
	"lockbench/nemesis"
	"lockbench/scenarios"
)

// Exploration is a search through seeds in the simulation. Each seed draws its own variation
// of a scenario and runs in its own process.
type Exploration struct {
	// Job is the scenario with one lock in the simulation.
	Job      *run.Job
	From, To uint64 // inclusive
	// All continues after the first violation.
	All      bool
	Parallel int // how many processes; 0: one for each processor
	// Tell, if not nil, receives the progress, at most once for each seed.
	Tell func(Explored)
}

// Explored is the progress and finally the result of a search.
type Explored struct {
	Explore  int    `json:"explore"` // the schema, 1
	Scenario string `json:"scenario"`
	Lock     string `json:"lock"`
	From     uint64 `json:"from"`
	To       uint64 `json:"to"`
	Expected string `json:"expected"`

	Seeds int `json:"seeds"` // how many seeds the search has
	Tried int `json:"tried"`
	// Interrupted reports that the search was stopped before its end.
	Interrupted bool `json:"interrupted,omitempty"`
	// Ended reports that the search ended at its first violation, and left out the seeds after it on purpose.
	Ended    bool `json:"ended_at_first,omitempty"`
	Distinct int  `json:"distinct"` // different histories
	Bitten   int  `json:"bitten"`   // runs in which a fault took effect
	Violated int  `json:"violated"`
	Unknown  int  `json:"unknown"`
	// Reasons are why seeds are unknown, the most frequent reason first.
	Reasons []Reason `json:"reasons,omitempty"`
	// Classes counts violations by class.
	Classes map[string]int `json:"classes,omitempty"`
	// Broken are seeds whose run failed. They never count as valid.
	Broken   []BrokenSeed `json:"broken,omitempty"`
	Found    []FoundSeed  `json:"found,omitempty"` // the first foundMax
	ElapsedS float64      `json:"elapsed_s"`
}

// BrokenSeed is a seed whose run failed in the harness.
type BrokenSeed struct {
	Seed  uint64 `json:"seed"`
	Error string `json:"error"`
}

// FoundSeed is a seed that showed a violation.
type FoundSeed struct {
	Seed  uint64 `json:"seed"`
	Rule  string `json:"rule"`
	Class string `json:"class"`
	Text  string `json:"text"`
	// Checks is the verdict of each checker.
	Checks map[string]scenarios.Judgement `json:"checks,omitempty"`

	input   trial.Input
	outcome *outcome
}

// Reason is why some seeds are unknown.
type Reason struct {
	Why   string `json:"why"`   // of the first seed; the others differ only in numbers
	Seeds int    `json:"seeds"` // how many there are
	First uint64 `json:"first"`
}

// numbers matches the numbers in a text, with fractions and thousands separators.
var numbers = regexp.MustCompile(`\d+([.,]\d+)*`)

// addReason counts a reason. Two reasons are equal if they differ only in numbers.
func addReason(all *[]Reason, r Reason) {
	kind := func(why string) string { return numbers.ReplaceAllString(why, "0") }
	at := slices.IndexFunc(*all, func(have Reason) bool { return kind(have.Why) == kind(r.Why) })
	if at < 0 {
		*all = append(*all, r)
	} else {
		have := &(*all)[at]
		if r.First < have.First {
			have.Why, have.First = r.Why, r.First
		}
		have.Seeds += r.Seeds
	}
	slices.SortStableFunc(*all, func(a, b Reason) int { return cmp.Or(b.Seeds-a.Seeds, cmp.Compare(a.First, b.First)) })
}

// foundMax limits how many violations a search keeps.
const foundMax = 1000

// ExploredFile is the file with the result of a search.
const ExploredFile = "explored.json"

// Write writes the result of a search.
func (e *Explored) Write(dir string) error {
	text, err := json.MarshalIndent(e, "", " ")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ExploredFile), append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the result of the search: %w", err)
	}
	return nil
}

func (x Exploration) lock() scenarios.LockUse { return x.Job.Scenario.Locks[0] }

// Expectation returns the scenario's expectation for the lock.
func (x Exploration) Expectation() scenarios.Expectation {
	return x.Job.Scenario.Expectation(x.lock().Name)
}

// Left returns how many seeds the search has.
func (x Exploration) Left() int { return int(min(x.To-x.From, math.MaxInt-1)) + 1 }

// seeds yields the seeds, in order.
func (x Exploration) seeds(yield func(uint64) bool) {
	for s := x.From; ; s++ {
		if !yield(s) || s == x.To {
			return
		}
	}
}

// Run searches. Without All it ends at the first violation: it finishes the seeds that are
// running and returns the lowest that shows one, so that the result is reproducible. When ctx
// ends, it returns the seeds that were tried by then.
func (x Exploration) Run(ctx context.Context) (*Explored, error) {
	dir, err := claim.NewDir("explore")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Remove() }()
	started := time.Now()
	out := &Explored{
		Explore: 1, Scenario: x.Job.Scenario.Name, Lock: x.lock().Name, From: x.From, To: x.To,
		Expected: x.Expectation().String(), Seeds: x.Left(), Classes: map[string]int{},
	}
	parallel := x.Parallel
	if parallel <= 0 {
		parallel = runtime.NumCPU()
	}
	sums := map[string]bool{}
	var mu sync.Mutex
	var unsupported error
	cut := false // a seed was given up
	run.Each(ctx, x.seeds, parallel, func(ctx context.Context, s uint64) (more bool) {
		in := x.vary(s)
		shown, err := x.try(ctx, in, filepath.Join(dir.Path, fmt.Sprintf("%d.jsonl", s)))
		mu.Lock()
		defer mu.Unlock()
		switch {
		case errors.As(err, new(world.Unsupported)):
			unsupported = err
			return false
		case ctx.Err() != nil:
			cut = true
			return false
		}
		out.add(s, in, shown, err, sums)
		out.ElapsedS = time.Since(started).Seconds()
		if x.Tell != nil {
			x.Tell(*out)
		}
		return x.All || out.Violated == 0
	})
	slices.SortFunc(out.Found, func(a, b FoundSeed) int { return int(int64(a.Seed) - int64(b.Seed)) })
	slices.SortFunc(out.Broken, func(a, b BrokenSeed) int { return int(int64(a.Seed) - int64(b.Seed)) })
	out.ElapsedS = time.Since(started).Seconds()
	out.Ended = !x.All && out.Violated > 0 && !cut
	out.Interrupted = ctx.Err() != nil && !out.Complete()
	return out, unsupported
}

// try runs a trial, judges its history and removes it.
func (x Exploration) try(ctx context.Context, in trial.Input, history string) (out *outcome, err error) {
	defer func() {
		_ = os.Remove(history)
		if p := recover(); p != nil {
			// Only this seed fails, as if its process had died.
			err = fmt.Errorf("judging seed %d panicked: %v", in.Seed, p)
		}
	}()
	sum, err := again(ctx, x.Job.World.Describe().Enclosure, in, history)
	if err != nil {
		return nil, err
	}
	return judge(history, sum)
}

// again runs the trial of an input in its own process. It returns the checksum of the history.
func again(ctx context.Context, command []string, in trial.Input, history string) (sum string, err error) {
	return child.Process{Command: command, Instructions: child.Instructions{Input: in, History: history}}.Run(ctx, nil)
}

// add counts a seed.
func (e *Explored) add(s uint64, in trial.Input, shown *outcome, err error, sums map[string]bool) {
	e.Tried++
	if err != nil {
		e.Broken = append(e.Broken, BrokenSeed{s, err.Error()})
		return
	}
	if !sums[shown.Sum] {
		sums[shown.Sum] = true
		e.Distinct++
	}
	if shown.Bites > 0 {
		e.Bitten++
	}
	switch shown.Verdict {
	case scenarios.Unknown:
		e.Unknown++
		addReason(&e.Reasons, Reason{Why: shown.Why, Seeds: 1, First: s})
	case scenarios.Violated:
		e.Violated++
		e.Classes[shown.Class]++
		if len(e.Found) < foundMax {
			e.Found = append(e.Found, FoundSeed{s, shown.Finding.Rule, shown.Class, shown.Finding.Text, shown.Checks, in, shown})
		}
	}
}

// Counts returns how many violations there were of each class, the worst class first, and that class.
func (e *Explored) Counts() (counts []string, worst string) {
	for class := checker.DoubleGrant; class > 0; class-- {
		if n := e.Classes[class.String()]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, class))
			worst = cmp.Or(worst, class.String())
		}
	}
	return counts, worst
}

// Complete reports whether all seeds were tried that the search has or needs.
func (e *Explored) Complete() bool { return e.Ended || e.Tried >= e.Seeds }

// ExitCode compares the result with the expectation. An incomplete search is undecided whatever it has found, because the
// other seeds may show a worse class.
func (e *Explored) ExitCode(want scenarios.Expectation) int {
	got := scenarios.Judgement{Verdict: scenarios.Valid}
	switch {
	case len(e.Broken) > 0:
		return report.ExitHarness
	case !e.Complete():
		return report.ExitUnknown
	case e.Violated > 0:
		got.Verdict = scenarios.Violated
		_, got.Class = e.Counts()
	case e.Tried == 0 || e.Unknown == e.Tried:
		return report.ExitUnknown
	}
	o := scenarios.Observed{Judgement: got, Violating: e.Violated, Episodes: e.Tried, RateHigh: 1}
	if len(e.Found) > 0 {
		o.Checks = e.Found[0].Checks
	}
	// A rate applies to the episodes of the scenario, and each seed varies them.
	want.Rate = nil
	if as, _ := want.Holds(o); as {
		return report.ExitExpected
	}
	return report.ExitUnexpected
}

// vary draws a seed's variation of the scenario: one episode with most of its steps, fewer clients and keys, other holds
// and pauses, and another network.
func (x Exploration) vary(s uint64) trial.Input {
	in := trial.NewInput(x.Job.Scenario, x.lock(), s)
	rng := seed.Rand(s, "explore")
	in.Episodes, in.Point = 1, "" // a variation need not reach the point of the scenario
	w := in.Workload
	in.Lock.Clients, in.Lock.Hold, in.Lock.TTL, in.Lock.Wait = 0, nil, nil, nil
	w.Clients = between(rng, min(2, w.Clients), w.Clients)
	w.Keys = between(rng, 1, w.Keys)
	from, to := draws(rng, w.Hold), draws(rng, w.Hold)
	w.Hold = nemesis.Range{From: min(from, to), To: max(from, to)}
	in.Workload = w
	factor := []float64{0.3, 1, 1, 3}[rng.IntN(4)]
	in.Latency = world.Latency{
		Base:   time.Duration(factor * float64(world.DefaultLatency.Base)),
		Spread: time.Duration(factor * float64(world.DefaultLatency.Spread)),
	}
	var kept []nemesis.Step
	for _, step := range in.Faults {
		if rng.IntN(8) > 0 {
			kept = append(kept, step)
		}
	}
	if len(kept) > 0 {
		in.Faults = kept
	}
	// Slow clients do less between two faults and find as much with a fraction of the work.
	slower := time.Duration([]int{1, 3, 6, 10}[rng.IntN(4)])
	in.Workload.Think = nemesis.Range{From: w.Think.From * slower, To: w.Think.To * slower}
	return in
}

func between(rng *rand.Rand, least, most int) int { return least + rng.IntN(most-least+1) }

func draws(rng *rand.Rand, r nemesis.Range) time.Duration {
	return r.From + time.Duration(rng.Int64N(int64(r.To-r.From)+1))
}
