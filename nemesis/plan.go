package nemesis

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"lockbench/internal/seed"
	"lockbench/internal/world"
	"lockbench/service"
)

// Plan is what will be done to one lock's cluster: the same for every lock of a
// run, but for the steps that cannot concern one of them.
type Plan []Planned

// Planned is one step of one episode with everything drawn that chance decides
// beforehand. What a role means is decided when it strikes.
type Planned struct {
	ID      int // from 1, through all episodes
	Episode int // from 1
	Step    Step
	Fault   Fault
	At      *time.Duration
	Hold    *time.Duration
	For     *time.Duration
	NA      string // why it cannot concern the lock; empty: it can
	seed    uint64
}

// Draw makes the plan of so many episodes of a scenario's steps.
func Draw(runSeed uint64, episodes int, steps []Step) (Plan, error) {
	var plan Plan
	for episode := 1; episode <= episodes; episode++ {
		same := make(map[string]int)
		concrete, err := expand(runSeed, episode, steps)
		if err != nil {
			return nil, err
		}
		for i, step := range concrete {
			entry, ok := Find(step.Fault)
			if !ok {
				return nil, fmt.Errorf("no fault is called %q", step.Fault)
			}
			fault, err := entry.New(step)
			if err != nil {
				return nil, fmt.Errorf("step %d, %s: %w", i+1, step.Fault, err)
			}
			// Named by what it does and not by its place, so that a step which is put
			// in above leaves the draws of the others as they were.
			what := step.Fault + " " + step.Target
			same[what]++
			name := fmt.Sprintf("plan/%d/%s/%d", episode, what, same[what])
			drawn := func(key string, r *Range) *time.Duration { return draw(seed.Rand(runSeed, name+"/"+key), r) }
			plan = append(plan, Planned{
				ID: len(plan) + 1, Episode: episode, Step: step, Fault: fault,
				At: drawn("at", step.At), Hold: drawn("hold", step.Hold), For: drawn("for", step.For),
				seed: seed.Derive(runSeed, name+"/strike"),
			})
		}
	}
	return plan, nil
}

// For is the plan with the steps marked that cannot concern the cluster.
func (p Plan) For(c world.Cluster) Plan {
	out := make(Plan, len(p))
	for i, step := range p {
		if err := errors.Join(step.Fault.Available(c), step.Step.available(c)); err != nil {
			step.NA, _, _ = strings.Cut(err.Error(), "\n") // one reason is enough
		}
		out[i] = step
	}
	return out
}

// expand puts drawn steps in the place of those that ask for it.
func expand(runSeed uint64, episode int, steps []Step) ([]Step, error) {
	var out []Step
	for _, step := range steps {
		if step.Fault != RandomFaults {
			out = append(out, step)
			continue
		}
		r, err := newRandom(step)
		if err != nil {
			return nil, fmt.Errorf("faults: random: %w", err)
		}
		out = append(out, r.episode(runSeed, episode)...)
	}
	return out, nil
}

// Spares says why a cluster could try a lock only without a fault that the steps name: its
// world cannot bring that about. What was drawn is not named, and n/a like a step for which
// the servers lack something.
func Spares(steps []Step, c world.Cluster) error {
	if len(c.Nodes()) == 0 {
		return nil // a control, which is judged whatever strikes
	}
	for _, step := range steps {
		entry, ok := Find(step.Fault)
		if !ok {
			continue
		}
		fault, err := entry.New(step)
		if err != nil {
			continue // Draw tells
		}
		if err := fault.Available(c); errors.Is(err, world.ErrUnsupportedHere) {
			return fmt.Errorf("%w: %s: %w", world.ErrUnsupportedHere, fault, err)
		}
	}
	return nil
}

// Prepare asks of the cluster what the plan's faults need of it.
func (p Plan) Prepare(s *world.Spec) {
	for _, step := range p {
		if f, ok := step.Fault.(Preparer); ok {
			f.Prepare(s)
		}
	}
}

// Spared is the plan with every step marked as not to be done, with the reason.
func (p Plan) Spared(why string) Plan {
	out := make(Plan, len(p))
	for i, step := range p {
		step.NA = why
		out[i] = step
	}
	return out
}

// Episode is the part of the plan that belongs to one episode.
func (p Plan) Episode(n int) Plan {
	var out Plan
	for _, step := range p {
		if step.Episode == n {
			out = append(out, step)
		}
	}
	return out
}

// Concerns says whether any step can take effect.
func (p Plan) Concerns() bool {
	for _, step := range p {
		if step.NA == "" {
			return true
		}
	}
	return false
}

// Longest is the longest time for which a step is in effect.
func (p Plan) Longest() time.Duration {
	var longest time.Duration
	for _, step := range p {
		if step.For != nil {
			longest = max(longest, *step.For)
		}
	}
	return longest
}

// String is the step as a person reads it: when, what, for how long.
func (p Planned) String() string {
	var b strings.Builder
	switch {
	case p.At != nil:
		fmt.Fprintf(&b, "at %s ", p.At.Round(time.Millisecond))
	case p.Step.When != "":
		fmt.Fprintf(&b, "when %s ", p.Step.moment())
	}
	b.WriteString(p.Fault.String())
	if p.Hold != nil {
		fmt.Fprintf(&b, " (held for %s)", p.Hold.Round(time.Millisecond))
	}
	if p.For != nil {
		fmt.Fprintf(&b, " for %s", p.For.Round(time.Millisecond))
	}
	return b.String()
}

func draw(rng *rand.Rand, r *Range) *time.Duration {
	if r == nil {
		return nil
	}
	d := r.From
	if r.To > r.From {
		d += time.Duration(rng.Int64N(int64(r.To - r.From + 1)))
	}
	return &d
}

// moment is the step's event in words.
func (s Step) moment() string {
	if s.Request == 0 {
		return string(s.When)
	}
	return fmt.Sprintf("%s, %d of its requests done,", s.When, s.Request)
}

// available says why the step cannot start in a cluster.
func (s Step) available(c world.Cluster) error {
	if s.Request == 0 && s.When != Renewed {
		return nil
	}
	if len(c.Nodes()) == 0 {
		return errors.New("no servers")
	}
	if _, ok := world.Ability[service.Keeper](c); !ok && s.When == Renewed {
		return errors.New("this world does not tell how long its servers keep a lock")
	}
	if s.Request == 0 {
		return nil
	}
	if _, ok := world.Ability[world.RequestHolder](c); !ok {
		return errors.New("this world cannot stop a client between two requests")
	}
	if servers, ok := world.Ability[service.Opaque](c); ok {
		return errors.New(servers.Opaque())
	}
	return nil
}

// Describe is the step as the scenario has it, with its ranges still open.
func (s Step) Describe(f Fault) string {
	var b strings.Builder
	switch {
	case s.At != nil:
		fmt.Fprintf(&b, "at %s ", s.At)
	case s.When != "":
		fmt.Fprintf(&b, "when %s ", s.moment())
	}
	b.WriteString(f.String())
	if s.For != nil {
		fmt.Fprintf(&b, " for %s", s.For)
	}
	if s.Hold != nil {
		fmt.Fprintf(&b, ", held for %s", s.Hold)
	}
	return b.String()
}
