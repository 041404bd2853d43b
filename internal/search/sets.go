package search

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/trial"
	"lockbench/internal/world"
	"lockbench/nemesis"
	"lockbench/scenarios"
	"lockbench/service"
	"lockbench/workloads"
)

// SmallRun is the scenario of a search through sets of faults. Everything in it has a fixed length: a hold is longer than
// the pause of a client between two tries, so that the other client tries during each hold, and a fault is longer than
// the lease. A server that keeps its data has synced all of it.
const SmallRun = `lockbench: scenario/1
about: Two clients compete for one lock, with fixed times.
locks: [no-lock, set-nx, redlock]
topology: {single-store: single, majority: {independent: 5}}
redis: {appendonly: yes, appendfsync: always}
workload:
  counter: {clients: 2, keys: 1, ttl: 1s, hold: 450ms, think: 30ms}
episodes: 1
quiet: 1s
faults: none
`

// SetsFile is the file with the result of a search through sets of faults.
const SetsFile = "sets.json"

// Sets is a search through all sets of faults of a small run, in the order of their size. It draws nothing.
//
//	run without faults ── its points ──▶ every fault at every point ── the points after it ──▶ every second fault ...
type Sets struct {
	// Job is the small run with one lock in the simulation, without faults.
	Job *run.Job
	// Size is the largest number of faults in a set.
	Size int
	// Rounds is how often each client is granted the lock before the points end.
	Rounds int
	// Command starts a process that serves [ServeSets].
	Command  []string
	Parallel int // how many processes; 0: one for each processor
	Again    string
	// Tell, if not nil, receives the progress.
	Tell func(SetsFound)
}

// SetsFound is the progress and the result of a search through sets of faults.
type SetsFound struct {
	Sets   int     `json:"sets"` // the schema, 1
	Lock   string  `json:"lock"`
	Size   int     `json:"size"`
	Rounds int     `json:"rounds"`
	Again  string  `json:"again,omitempty"`
	Levels []Level `json:"levels"` // by the number of faults, from 0
	// NotApplied are the faults of the catalog that do not apply to the lock's servers, with the reasons.
	NotApplied []string `json:"not_applied,omitempty"`
	// Smallest are the violated sets without a violated part: the first of each kind.
	Smallest []Set `json:"smallest,omitempty"`
	// Interrupted reports that the search was stopped before its end.
	Interrupted bool    `json:"interrupted,omitempty"`
	ElapsedS    float64 `json:"elapsed_s"`
}

// Level counts the sets with one number of faults.
type Level struct {
	Faults   int  `json:"faults"`
	Sets     int  `json:"sets"` // how many there are
	Ran      int  `json:"ran"`
	Points   int  `json:"points"` // of the runs of the level before
	Violated int  `json:"violated"`
	Unknown  int  `json:"unknown"`
	NotRun   int  `json:"not_run"`
	Distinct int  `json:"distinct"` // different histories
	Complete bool `json:"complete"`
	// Shown counts the violated sets by what they show, and Kinds by what they show and by their faults without triggers.
	Shown map[string]int            `json:"shown,omitempty"`
	Kinds map[string]map[string]int `json:"kinds,omitempty"`
	// Reasons are why sets are unknown or did not run.
	Reasons []Reason `json:"reasons,omitempty"`
}

// Set is a set of faults and what it shows.
type Set struct {
	Faults []string `json:"faults"` // as in a scenario
	Rule   string   `json:"rule"`
	Class  string   `json:"class,omitempty"`
	Text   string   `json:"text"`
	Dir    string   `json:"dir,omitempty"` // the results folder

	input trial.Input
}

// Shows names what a set shows: its class, or its rule if that has none.
func (s Set) Shows() string { return shows(s.Class, s.Rule) }

// Kind is the faults without their triggers.
func (s Set) Kind() string {
	kinds := make([]string, len(s.Faults))
	for i, f := range s.Faults {
		kinds[i], _, _ = strings.Cut(f, ", when: ")
	}
	return strings.Join(kinds, " + ")
}

func shows(class, rule string) string {
	if class == "" || class == checker.Class(0).String() {
		return rule
	}
	return class
}

// point is a moment of one client at which a fault can start.
type point struct {
	Client int             `json:"client"`
	Event  workloads.Event `json:"event"`
	Nth    int             `json:"nth"`
}

// fault is an entry of the catalog: a step without its trigger.
type fault struct {
	text string // with NODE for each server
	// request reports that the fault starts when a request of the client has been carried out.
	request bool
}

// faults returns the catalog. Long is longer than a lease, and short is a few round trips.
func faults(long time.Duration) []fault {
	const short = 5 * time.Millisecond
	lasts := func(d time.Duration) string { return ", for: " + d.String() }
	return []fault{
		{"pause: holder" + lasts(long), false},
		{"pause: holder" + lasts(short), false},
		{"kill: holder", false},
		{"clock: holder, by: " + long.String() + lasts(long), false},
		{"clock: holder, by: -" + long.String() + lasts(long), false},
		{"kill: NODE" + lasts(50*time.Millisecond), false},
		{"kill: NODE, data: lost, early: true" + lasts(50*time.Millisecond), false},
		{"pause: NODE" + lasts(long), false},
		{"clock: NODE, by: " + long.String() + lasts(long), false},
		{"clock: NODE, by: -" + long.String() + lasts(long), false},
		{"promote: a replica", false},
		{"cut: holder <-> NODE" + lasts(long), false},
		{"drop-replies: NODE -> holder" + lasts(long), false},
		{"lose-reply: holder", true},
		{"hold-request: holder" + lasts(long), true},
		{"pause: holder" + lasts(long), true},
		{"kill: holder", true},
	}
}

// at returns the text of a step of a scenario.
func (f fault) at(p point, request int) string {
	text := f.text
	if p.Event == workloads.Waiting {
		text = strings.ReplaceAll(text, "holder", "a waiter")
	}
	text += fmt.Sprintf(", when: %s, client: client-%d, nth: %d", p.Event, p.Client, p.Nth)
	if request > 0 {
		text += fmt.Sprintf(", request: %d", request)
	}
	return text
}

// on reports whether the fault can start at an event.
func (f fault) on(e workloads.Event) bool {
	return !f.request || e == workloads.Acquiring || e == workloads.Releasing
}

// applicable returns the catalog for the lock's servers, with one fault for each server, and why others do not apply.
func (x Sets) applicable() (all []fault, not []string, err error) {
	in := x.input(x.Job.Scenario)
	sub, err := trial.NewSubject(in, nil)
	if err != nil {
		return nil, nil, err
	}
	sketch := x.Job.World.Sketch(sub.Spec)
	var nodes []string
	if sketch.Group != nil {
		for _, n := range sketch.Nodes() {
			if n.Role == service.Data {
				nodes = append(nodes, n.Name)
			}
		}
	}
	for _, f := range faults(in.Workload.TTL * 3 / 2) {
		texts := []string{f.text}
		if strings.Contains(f.text, "NODE") {
			texts = nil
			for _, n := range nodes {
				texts = append(texts, strings.ReplaceAll(f.text, "NODE", n))
			}
		}
		for _, text := range texts {
			one, event, request := fault{text, f.request}, workloads.Acquired, 0
			if f.request {
				event, request = workloads.Acquiring, 1
			}
			s, err := x.Job.Scenario.WithFaults([]string{one.at(point{Event: event, Nth: 1}, request)})
			if err != nil {
				return nil, nil, err
			}
			plan, err := nemesis.Draw(1, 1, s.Faults)
			if err != nil {
				return nil, nil, err
			}
			if why := plan.For(sketch)[0].NA; why != "" {
				not = append(not, text+": "+why)
			} else {
				all = append(all, one)
			}
		}
	}
	return all, not, nil
}

// input returns the input of a small run.
func (x Sets) input(s *scenarios.Scenario) trial.Input {
	in := trial.NewInput(s, x.Job.Scenario.Locks[0], 1)
	in.Reduction = &trial.Reduction{}
	return in
}

// tried is a set that has run, and the points at which a further fault can start.
type tried struct {
	faults []string
	points []point
}

// branch are the sets that add one fault to a set at one point. A fault in the middle of an operation is tried at each
// request of it, as many as there are.
type branch struct {
	before tried
	at     point
	fault  fault
}

// Run searches. When ctx ends, it returns the result so far.
func (x Sets) Run(ctx context.Context) (*SetsFound, error) {
	started := time.Now()
	all, not, err := x.applicable()
	if err != nil {
		return nil, err
	}
	out := &SetsFound{Sets: 1, Lock: x.Job.Scenario.Locks[0].Name, Size: x.Size, Rounds: x.Rounds, Again: x.Again, NotApplied: not}
	parallel := x.Parallel
	if parallel <= 0 {
		parallel = runtime.NumCPU()
	}
	pool := newPool(x.Command, parallel)
	defer pool.close()
	level := []tried{{}}
	for size := 0; size <= x.Size && ctx.Err() == nil; size++ {
		var branches []branch
		points := 0
		if size == 0 {
			branches = []branch{{}}
		}
		for _, t := range level {
			points += len(t.points)
			for _, p := range t.points {
				for _, f := range all {
					if f.on(p.Event) {
						branches = append(branches, branch{t, p, f})
					}
				}
			}
		}
		if level, err = x.level(ctx, pool, out, size, points, branches); err != nil {
			return nil, err
		}
		out.ElapsedS = time.Since(started).Seconds()
		if l := out.Levels[size]; size == 0 && l.Complete && l.Violated+l.Unknown+l.NotRun > 0 {
			return out, nil // the lock is wrong without faults, or cannot run
		}
	}
	out.Interrupted = ctx.Err() != nil
	return out, nil
}

// level runs all sets of one size. It returns the sets that showed nothing, in order, or an error if the simulation does
// not support the lock.
func (x Sets) level(ctx context.Context, pool *pool, out *SetsFound, size, points int, branches []branch) ([]tried, error) {
	results := make([][]ran, len(branches))
	var mu sync.Mutex
	done := 0
	out.Levels = append(out.Levels, Level{Faults: size, Points: points})
	started, before := time.Now(), out.ElapsedS
	type numbered struct {
		i int
		branch
	}
	each := func(yield func(numbered) bool) {
		for i, b := range branches {
			if !yield(numbered{i, b}) {
				return
			}
		}
	}
	run.Each(ctx, each, pool.size, func(ctx context.Context, b numbered) bool {
		sets := x.branch(ctx, pool, b.branch, size)
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil {
			return false
		}
		results[b.i] = sets
		done++
		if x.Tell != nil {
			l := &out.Levels[size]
			l.Ran += len(sets)
			for _, r := range sets {
				if r.outcome.Verdict == scenarios.Violated {
					l.Violated++
				}
			}
			l.Sets = l.Ran + len(branches) - done // at least
			out.ElapsedS = before + time.Since(started).Seconds()
			x.Tell(*out)
		}
		return true
	})
	l := Level{Faults: size, Points: points, Complete: done == len(branches), Shown: map[string]int{}, Kinds: map[string]map[string]int{}}
	sums := map[string]bool{}
	var next []tried
	var smallest []Set
	for _, sets := range results {
		for _, r := range sets {
			l.Sets++
			if errors.As(r.err, new(world.Unsupported)) {
				return nil, r.err
			}
			if r.err != nil {
				l.NotRun++
				addReason(&l.Reasons, Reason{Why: r.err.Error(), Seeds: 1})
				continue
			}
			l.Ran++
			sums[r.outcome.Sum] = true
			switch o := r.outcome; o.Verdict {
			case scenarios.Violated:
				l.Violated++
				s := Set{r.faults, o.Finding.Rule, o.Class, o.Finding.Text, "", r.input}
				l.Shown[s.Shows()]++
				if l.Kinds[s.Kind()] == nil {
					l.Kinds[s.Kind()] = map[string]int{}
				}
				l.Kinds[s.Kind()][s.Shows()]++
				same := func(have Set) bool { return have.Shows() == s.Shows() && have.Kind() == s.Kind() }
				if !slices.ContainsFunc(out.Smallest, same) && !slices.ContainsFunc(smallest, same) {
					smallest = append(smallest, s)
				}
			case scenarios.Unknown:
				l.Unknown++
				addReason(&l.Reasons, Reason{Why: o.Why, Seeds: 1})
			default:
				next = append(next, tried{r.faults, r.points})
			}
		}
	}
	l.Distinct = len(sums)
	out.Levels[size] = l
	out.Smallest = append(out.Smallest, smallest...)
	return next, nil
}

// ran is one set that was tried.
type ran struct {
	faults  []string
	input   trial.Input
	outcome *outcome
	points  []point
	err     error // why it did not run
}

// branch tries the sets of a branch.
func (x Sets) branch(ctx context.Context, pool *pool, b branch, size int) (sets []ran) {
	const requestsMax = 50
	for request := 0; request <= requestsMax && ctx.Err() == nil; request++ {
		if b.fault.request && request == 0 {
			continue
		}
		r := ran{faults: slices.Clone(b.before.faults)}
		scenario := x.Job.Scenario
		if size > 0 {
			r.faults = append(r.faults, b.fault.at(b.at, request))
			var err error
			if scenario, err = scenario.WithFaults(r.faults); err != nil {
				return append(sets, ran{faults: r.faults, err: err})
			}
		}
		r.input = x.input(scenario)
		answer, err := pool.try(ctx, setJob{Input: r.input, Rounds: x.Rounds, Faults: size})
		switch {
		case err != nil:
			r.err = err
		case answer.Unsupported != "":
			r.err = world.Unsupportedf("%s", answer.Unsupported)
		case answer.Error != "":
			r.err = errors.New(answer.Error)
		case answer.Missed != "":
			// The operation has fewer requests, or an earlier fault has removed the point.
			return sets
		}
		r.outcome, r.points = cmp.Or(answer.Outcome, &outcome{}), answer.Points
		sets = append(sets, r)
		if !b.fault.request || err != nil {
			break
		}
	}
	return sets
}

// Write writes the result of a search to a file.
func (f *SetsFound) Write(file string) error {
	text, err := json.MarshalIndent(f, "", " ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the result of the search: %w", err)
	}
	return nil
}

// Keep runs a set again as an ordinary run, with a results folder below out, and sets its Dir.
func (x Sets) Keep(ctx context.Context, s *Set, out string) (*report.Counterexample, error) {
	scenario, err := x.Job.Scenario.WithFaults(s.Faults)
	if err != nil {
		return nil, err
	}
	job, err := x.Job.Only(ctx, s.input)
	if err != nil {
		return nil, err
	}
	job.Scenario = scenario
	job.Options.Folder, job.Options.Out = "sets-"+report.FolderName(s.Shows()), out
	done, err := job.Run(ctx, nil)
	if err != nil {
		return nil, err
	}
	l := done.Result.Locks[0]
	if l.Error != "" {
		return nil, errors.New(l.Error)
	}
	s.Dir = done.Bundle.Dir
	return l.Counterexample, done.LinkError
}

// ExitCode returns the exit code of the search and the reason.
func (f *SetsFound) ExitCode() (code int, why string) {
	sets, notRun, unknown := 0, 0, 0
	whole := len(f.Levels) == f.Size+1
	for _, l := range f.Levels {
		sets, notRun, unknown, whole = sets+l.Sets, notRun+l.NotRun, unknown+l.Unknown, whole && l.Complete
	}
	switch {
	case f.Levels[0].NotRun > 0:
		return report.ExitHarness, "the small run failed: " + f.Levels[0].Reasons[0].Why
	case f.Levels[0].Violated > 0:
		return report.ExitUnexpected, "the lock is wrong without any fault"
	case !whole:
		return report.ExitUnknown, "interrupted, so larger sets were not all tried"
	case notRun+unknown > 0:
		return report.ExitUnknown, fmt.Sprintf("%d of %d sets did not run, and %d are unknown", notRun, sets, unknown)
	case len(f.Smallest) > 0:
		return report.ExitUnexpected, fmt.Sprintf("%s by %s", f.Smallest[0].Shows(), report.Plural(len(f.Smallest[0].Faults), "fault"))
	}
	return report.ExitExpected, fmt.Sprintf("none of %d sets of up to %s breaks the lock", sets, report.Plural(f.Size, "fault"))
}
