package search

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/trial"
	"lockbench/nemesis"
	"lockbench/scenarios"
)

// shrinkRunsMax limits the candidates for one violation.
const shrinkRunsMax = 150

// Shrunk is a shrunk violation.
type Shrunk struct {
	Runs   int // number of candidates
	Calls  int // calls of clients in the smallest run
	Faults int
	// Same is how many repetitions of the smallest run gave the same history.
	Same int
	// Interrupted reports that the shrinking was stopped, so that the run is the smallest by then and was not repeated.
	Interrupted    bool
	Dir            string // the results folder
	Counterexample *report.Counterexample
}

// shrinker shrinks a trial while it breaks the same rule with the same class.
type shrinker struct {
	x    Exploration
	try  func(ctx context.Context, in trial.Input, history string) (*outcome, error)
	dir  string // for histories
	runs int
	best trial.Input
	seen *outcome // result of best
	rule string
}

// Shrink shrinks the run of a violation: fewer faults, fewer clients, fewer operations, shorter times. It runs each
// candidate and keeps it if it breaks the same rule with the same class. It writes the smallest into a results folder. When
// ctx ends, it writes the smallest by then, which is the run of the violation itself if ctx has ended before.
func (x Exploration) Shrink(ctx context.Context, found FoundSeed, out, temp string, tell func(string)) (*Shrunk, error) {
	s := &shrinker{x: x, try: x.try, dir: temp, best: found.input, seen: found.outcome, rule: found.Rule}
	drawn, err := concrete(found.input)
	if err != nil {
		return nil, err
	}
	s.adopt(ctx, drawn)
	for before := -1; before != s.size() && s.runs < shrinkRunsMax && ctx.Err() == nil; {
		before = s.size()
		s.dropFaults(ctx)
		s.dropClients(ctx)
		s.narrow(ctx)
		s.shorten(ctx)
		tell(strings.Join([]string{
			report.Plural(s.seen.Calls, "call"), report.Plural(len(s.best.Faults), "fault"), report.Plural(s.clients(), "client") + " after " + report.Plural(s.runs, "run"),
		}, ", "))
	}
	s.cut(ctx) // last, because the cut depends on the times of events
	return s.finish(ctx, out)
}

// size orders candidates by a weighted length.
func (s *shrinker) size() int { return s.seen.Calls + 20*len(s.best.Faults) + 5*s.clients() }

func (s *shrinker) clients() int {
	if n := len(s.reduction().Clients); n > 0 {
		return n
	}
	return s.best.Workload.Clients
}

// adopt runs a candidate. If it shows the same violation, it becomes the best.
func (s *shrinker) adopt(ctx context.Context, in trial.Input) bool {
	if s.runs >= shrinkRunsMax || ctx.Err() != nil {
		return false
	}
	s.runs++
	shown, err := s.try(ctx, in, filepath.Join(s.dir, fmt.Sprintf("shrink-%d.jsonl", s.runs)))
	if err != nil || shown.Verdict != scenarios.Violated || shown.Class != s.seen.Class || shown.Finding.Rule != s.rule {
		return false
	}
	s.best, s.seen = in, shown
	return true
}

// fewer is adopt for candidates that must not have more calls than the best.
func (s *shrinker) fewer(ctx context.Context, in trial.Input) bool {
	calls := s.seen.Calls
	return s.adopt(ctx, in) && s.seen.Calls <= calls
}

// concrete returns the input with all random values drawn, so that it can be changed step by step.
func concrete(in trial.Input) (trial.Input, error) {
	plan, err := nemesis.Draw(in.Seed, in.Episodes, in.Faults)
	if err != nil {
		return in, err
	}
	var faults []nemesis.Step
	for _, p := range plan.Episode(1) {
		step := p.Step
		for _, d := range []struct {
			drawn *time.Duration
			into  **nemesis.Length
		}{{p.At, &step.At}, {p.Hold, &step.Hold}, {p.For, &step.For}} {
			if d.drawn != nil {
				*d.into = &nemesis.Length{From: *d.drawn, To: *d.drawn, Leases: (*d.into).Leases}
			}
		}
		faults = append(faults, step)
	}
	in.Faults = faults
	in.Reduction = &trial.Reduction{Warm: trial.WarmGrants}
	return in, nil
}

// with returns a changed copy of the best.
func (s *shrinker) with(change func(*trial.Input)) trial.Input {
	in := s.best
	in.Faults = slices.Clone(in.Faults)
	in.Reduction = s.reduction().Clone()
	change(&in)
	return in
}

// reduction returns the reduction of the best. A whole trial has an empty one.
func (s *shrinker) reduction() trial.Reduction {
	if r := s.best.Reduction; r != nil {
		return *r
	}
	return trial.Reduction{Warm: trial.WarmGrants}
}

// dropFaults removes halves of the plan, then single steps.
func (s *shrinker) dropFaults(ctx context.Context) {
	for size := len(s.best.Faults) / 2; size >= 1; size /= 2 {
		for at := 0; at+size <= len(s.best.Faults) && len(s.best.Faults) > size; {
			if !s.adopt(ctx, s.with(func(in *trial.Input) { in.Faults = slices.Delete(in.Faults, at, at+size) })) {
				at += size
			}
		}
	}
}

// dropClients removes the clients that are not part of the finding, first all at once, then one by one, and then keys.
func (s *shrinker) dropClients(ctx context.Context) {
	all := make([]int, s.best.Workload.Clients)
	for i := range all {
		all[i] = i
	}
	if some := s.reduction().Clients; len(some) > 0 {
		all = some
	}
	var concerned []int
	for _, who := range s.seen.Involved {
		concerned = append(concerned, who.Client)
	}
	slices.Sort(concerned)
	concerned = slices.Compact(concerned)
	if len(concerned) > 0 && len(concerned) < len(all) &&
		s.adopt(ctx, s.with(func(in *trial.Input) { in.Reduction.Clients = concerned })) {
		all = concerned
	}
	for size := max(1, s.clients()/2); size >= 1; size /= 2 {
		for at := 0; at+size <= len(all) && s.clients() > size; {
			left := slices.Delete(slices.Clone(all), at, at+size)
			if s.adopt(ctx, s.with(func(in *trial.Input) { in.Reduction.Clients = left })) {
				all = left
			} else {
				at += size
			}
		}
	}
	if s.best.Workload.Keys > 1 {
		s.adopt(ctx, s.with(func(in *trial.Input) { in.Workload.Keys = 1 }))
	}
	if s.reduction().Warm > 0 {
		s.adopt(ctx, s.with(func(in *trial.Input) { in.Reduction.Warm = 0 }))
	}
}

// narrow limits each remaining client to one turn that begins at its request in the finding.
func (s *shrinker) narrow(ctx context.Context) {
	for _, early := range []time.Duration{0, time.Millisecond, 50 * time.Millisecond, time.Second} {
		if s.adopt(ctx, s.with(func(in *trial.Input) {
			for _, who := range s.seen.Involved {
				in.Reduction.Turns[who.Client] = 1
				if from := who.Asked - early; from > 20*time.Millisecond {
					in.Reduction.From[who.Client] = from
				}
			}
		})) {
			break
		}
	}
	// If both at once lose the violation, it tries one client at a time.
	for _, who := range s.seen.Involved {
		if _, done := s.reduction().Turns[who.Client]; !done {
			s.adopt(ctx, s.with(func(in *trial.Input) { in.Reduction.Turns[who.Client] = 1 }))
		}
		if _, done := s.reduction().From[who.Client]; !done && who.Asked > 20*time.Millisecond {
			s.adopt(ctx, s.with(func(in *trial.Input) { in.Reduction.From[who.Client] = who.Asked - time.Millisecond }))
		}
	}
	// The other remaining clients may do less, too.
	for _, id := range s.reduction().Clients {
		if _, done := s.reduction().Turns[id]; !done {
			for _, turns := range []int{0, 1, 5} {
				if s.adopt(ctx, s.with(func(in *trial.Input) { in.Reduction.Turns[id] = turns })) {
					break
				}
			}
		}
	}
	s.meet(ctx)
}

// meet moves the last grant closer to an event that shows that the other client still holds.
func (s *shrinker) meet(ctx context.Context) {
	if len(s.seen.Involved) < 2 {
		return
	}
	last := s.seen.Involved[0]
	for _, who := range s.seen.Involved {
		if who.At > last.At {
			last = who
		}
	}
	from, late := s.reduction().From[last.Client]
	if !late {
		return
	}
	for _, m := range s.seen.After {
		if wait := m.At - last.At - 2*time.Millisecond; m.Client != last.Client && wait > 0 {
			if s.fewer(ctx, s.with(func(in *trial.Input) { in.Reduction.From[last.Client] = from + wait })) {
				return
			}
		}
	}
}

// cut ends the history at the event that shows the violation, and the run soon after.
func (s *shrinker) cut(ctx context.Context) {
	for _, m := range s.seen.After {
		if s.reduction().Events > 0 && m.Event+1 >= s.reduction().Events {
			return
		}
		if s.adopt(ctx, s.with(func(in *trial.Input) { in.Reduction.Events, in.Reduction.Cut = m.Event+1, m.At+time.Millisecond })) {
			return
		}
	}
}

// shorten halves the times of the plan and of late beginnings, and rounds them.
func (s *shrinker) shorten(ctx context.Context) {
	for i := range s.best.Faults {
		for _, pick := range []func(*nemesis.Step) **nemesis.Length{
			func(f *nemesis.Step) **nemesis.Length { return &f.At },
			func(f *nemesis.Step) **nemesis.Length { return &f.Hold },
			func(f *nemesis.Step) **nemesis.Length { return &f.For },
		} {
			for _, smaller := range []func(time.Duration) time.Duration{
				func(d time.Duration) time.Duration { return (d / 2).Round(time.Millisecond) },
				func(d time.Duration) time.Duration { return (d * 4 / 5).Round(time.Millisecond) },
				func(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) },
			} {
				for {
					r := *pick(&s.best.Faults[i])
					if r == nil || r.From < 10*time.Millisecond || smaller(r.From) == r.From || smaller(r.From) <= 0 {
						break
					}
					d := smaller(r.From)
					if !s.fewer(ctx, s.with(func(in *trial.Input) { *pick(&in.Faults[i]) = &nemesis.Length{From: d, To: d, Leases: r.Leases} })) {
						break
					}
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.reduction().From)) {
		for s.reduction().From[id] > 50*time.Millisecond {
			d := (s.reduction().From[id] * 9 / 10).Round(time.Millisecond)
			if !s.fewer(ctx, s.with(func(in *trial.Input) { in.Reduction.From[id] = d })) {
				break
			}
		}
	}
}

// repetitions is how often the smallest run is repeated.
const repetitions = 3

// finish repeats the smallest run and writes a results folder, also if ctx ends meanwhile.
func (s *shrinker) finish(ctx context.Context, out string) (*Shrunk, error) {
	result := &Shrunk{Runs: s.runs, Calls: s.seen.Calls, Faults: len(s.best.Faults)}
	for i := range repetitions {
		again, err := s.try(ctx, s.best, filepath.Join(s.dir, fmt.Sprintf("same-%d.jsonl", i)))
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return nil, err
		}
		if again.Sum == s.seen.Sum {
			result.Same++
		}
	}
	result.Interrupted = ctx.Err() != nil
	ctx = context.WithoutCancel(ctx) // the violation is not lost
	job, err := s.x.Job.Only(ctx, s.best)
	if err != nil {
		return nil, err
	}
	job.Options.Folder, job.Options.Out = s.best.Scenario+"-explored", out
	result.Dir, result.Counterexample, err = keep(ctx, job)
	return result, err
}

// keep runs the job of a violation. It returns the results folder and the counterexample.
func keep(ctx context.Context, job *run.Job) (dir string, story *report.Counterexample, err error) {
	done, err := job.Run(ctx, nil)
	if err != nil {
		return "", nil, err
	}
	l := done.Result.Locks[0]
	if l.Error != "" {
		return "", nil, errors.New(l.Error)
	}
	return done.Bundle.Dir, l.Counterexample, done.LinkError
}
