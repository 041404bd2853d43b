package nemesis

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/seed"
	"lockbench/internal/world"
	"lockbench/workloads"
)

// Plan lists the faults for one lock's cluster. It is the same for every lock of a run, except for
// steps that do not apply.
type Plan []Planned

// Planned is a step of an episode with its random choices made. Its roles are resolved when it is
// injected.
type Planned struct {
	ID      int // from 1, through all episodes
	Episode int // from 1
	Step    Step
	Fault   Fault
	At      *time.Duration
	Hold    *time.Duration
	For     *time.Duration
	NA      string // why it does not apply to the lock; empty: it does
	// By is the moment of a client that triggered the step, once it has begun. Nil: no client did.
	By   *workloads.Moment
	seed uint64
}

// Draw makes the plan of a scenario's steps for a number of episodes.
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
			// The name depends on the step's content and not on its position, so that inserting
			// a step leaves the draws of the others unchanged.
			what := step.Fault + " " + step.Target
			same[what]++
			name := fmt.Sprintf("plan/%d/%s/%d", episode, what, same[what])
			drawn := func(key string, r *Length) *time.Duration { return draw(seed.Rand(runSeed, name+"/"+key), r) }
			plan = append(plan, Planned{
				ID: len(plan) + 1, Episode: episode, Step: step, Fault: fault,
				At: drawn("at", step.At), Hold: drawn("hold", step.Hold), For: drawn("for", step.For),
				seed: seed.Derive(runSeed, name+"/strike"),
			})
		}
	}
	return plan, nil
}

// Leased returns the plan of a lock with a lease, with durations for lengths in leases.
func (p Plan) Leased(lease time.Duration) Plan {
	out := make(Plan, len(p))
	for i, step := range p {
		out[i] = step.leased(lease)
	}
	return out
}

// For returns the plan with the steps marked that do not apply to the cluster.
func (p Plan) For(c world.Sketch) Plan {
	out := make(Plan, len(p))
	for i, step := range p {
		if err := cmp.Or(step.Fault.Available(c), step.Step.available(c)); err != nil && step.NA == "" {
			step.NA = err.Error()
		}
		out[i] = step
	}
	return out
}

// leased returns the step for a lock with a lease.
func (p Planned) leased(lease time.Duration) Planned {
	leased := p.Step.leased(lease)
	for _, one := range []struct {
		written *Length
		drawn   **time.Duration
	}{{p.Step.At, &p.At}, {p.Step.Hold, &p.Hold}, {p.Step.For, &p.For}} {
		if one.written != nil && one.written.Leases {
			*one.drawn = new(ofLease(**one.drawn, lease))
		}
	}
	if entry, known := Find(leased.Fault); known && !maps.Equal(p.Step.Options, leased.Options) {
		fault, err := entry.New(leased)
		if err != nil {
			p.NA = fmt.Sprintf("with a lease of %s: %v", lease, err)
		} else {
			p.Fault = fault
		}
	}
	p.Step = leased
	return p
}

// expand replaces each step that stands for drawn ones.
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

// Spares returns why a world could run a lock only without a fault that the steps name. A drawn
// fault is n/a instead, like a step that the servers do not support.
func Spares(steps []Step, c world.Sketch) error {
	if len(c.Nodes()) == 0 {
		return nil // a control is judged without faults, too
	}
	for _, step := range steps {
		entry, ok := Find(step.Fault)
		if !ok {
			continue
		}
		fault, err := entry.New(step)
		if err != nil {
			continue // Draw reports it
		}
		if err := fault.Available(c); errors.As(err, new(world.Unsupported)) {
			return world.Unsupportedf("%s: %w", fault, err)
		}
	}
	return nil
}

// Prepare adds the requirements of the plan's faults to the spec.
func (p Plan) Prepare(s *world.Spec) {
	for _, step := range p {
		if step.Fault.Prepare != nil {
			step.Fault.Prepare(s)
		}
	}
}

// Spared returns the plan with every step marked n/a for a reason.
func (p Plan) Spared(why string) Plan {
	out := make(Plan, len(p))
	for i, step := range p {
		step.NA = why
		out[i] = step
	}
	return out
}

// Episode returns the steps of one episode.
func (p Plan) Episode(n int) Plan {
	return slices.DeleteFunc(slices.Clone(p), func(step Planned) bool { return step.Episode != n })
}

// Concerns reports whether any step applies.
func (p Plan) Concerns() bool {
	return slices.ContainsFunc(p, func(step Planned) bool { return step.NA == "" })
}

// Counts reports whether a step names a moment by its number in the run, so that the run begins without a warm-up.
func (p Plan) Counts() bool {
	return slices.ContainsFunc(p, func(step Planned) bool { return step.Step.Nth > 0 })
}

// Longest returns the longest time for which a step is in effect.
func (p Plan) Longest() time.Duration {
	var longest time.Duration
	for _, step := range p {
		if step.For != nil {
			longest = max(longest, *step.For)
		}
	}
	return longest
}

// String returns the step in words: when, what, how long.
func (p Planned) String() string {
	var b strings.Builder
	switch {
	case p.At != nil && p.Step.When != "":
		fmt.Fprintf(&b, "from %s on, when %s ", p.Step.At.drawn(*p.At), p.Step.moment())
	case p.At != nil:
		fmt.Fprintf(&b, "at %s ", p.Step.At.drawn(*p.At))
	case p.Step.When != "":
		fmt.Fprintf(&b, "when %s ", p.Step.moment())
	}
	b.WriteString(p.Fault.String())
	if p.Hold != nil {
		fmt.Fprintf(&b, " (held for %s%s)", p.Step.Hold.drawn(*p.Hold), p.Step.goesOn())
	}
	if p.For != nil {
		fmt.Fprintf(&b, " for %s", p.Step.For.drawn(*p.For))
	}
	return b.String()
}

func draw(rng *rand.Rand, r *Length) *time.Duration {
	if r == nil {
		return nil
	}
	d := r.From
	if r.To > r.From {
		d += time.Duration(rng.Int64N(int64(r.To - r.From + 1)))
	}
	return &d
}

// moment returns the step's trigger in words.
func (s Step) moment() string {
	event := string(s.When)
	if s.Mode != nil {
		event += " " + s.Mode.String()
	}
	if s.Client != "" {
		event += " by " + s.Client
	}
	if s.Nth > 0 {
		event += fmt.Sprintf(", time %d", s.Nth)
	}
	if s.Request == 0 {
		return event
	}
	return fmt.Sprintf("%s, %d of its requests done,", event, s.Request)
}

// goesOn returns in words for how long the hold of the step goes on.
func (s Step) goesOn() string {
	if s.Until == "" {
		return ""
	}
	return " and until " + string(s.Until)
}

// wanted returns the moments of clients that start the step.
func (s Step) wanted() wanted {
	w := wanted{event: s.When, mode: s.Mode, nth: s.Nth}
	if s.Client != "" {
		w.client = new(history.ParseParty(s.Client).Number)
	}
	return w
}

// available returns why the step cannot start in a cluster.
func (s Step) available(c world.Sketch) error {
	if s.Request == 0 && s.When != Renewed {
		return nil
	}
	if len(c.Nodes()) == 0 {
		return errors.New("no servers")
	}
	if s.When == Renewed && c.Abilities().TTL == nil {
		return errors.New("this world does not tell how long its servers keep a lock")
	}
	if s.Request == 0 {
		return nil
	}
	return c.Requests
}

// Describe returns the step in words, with its ranges not drawn yet.
func (s Step) Describe(f Fault) string {
	var b strings.Builder
	switch {
	case s.At != nil && s.When != "":
		fmt.Fprintf(&b, "from %s on, when %s ", s.At, s.moment())
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
		fmt.Fprintf(&b, ", held for %s%s", s.Hold, s.goesOn())
	}
	return b.String()
}
