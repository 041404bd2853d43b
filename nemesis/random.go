package nemesis

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/internal/seed"
)

// RandomFaults is the name of the step that stands for steps drawn from the seed, different in each
// episode. A scenario writes it as `faults: random`.
const RandomFaults = "random"

// random describes how such steps are drawn.
type random struct {
	steps int   // in an episode
	apart Range // between the starts of two steps
	lasts Range // how long each is in effect
	// choices are the faults to draw from, each as often as it weighs. clocks are those that shift the
	// clocks of clients; none if they are not drawn.
	choices, clocks []choice
}

// choice is a fault and those of its steps that may be drawn. The steps share the fault's weight.
type choice struct {
	fault Entry
	steps []Step
}

// clientClocks is the key that enables clocks of clients.
const clientClocks = "client-clocks"

// RandomKeys are the keys of `faults: {random: {...}}`.
var RandomKeys = []Key{
	{Name: "steps", Takes: TakesNumber, Default: strconv.Itoa(randomSteps), About: "how many steps an episode has, from 1 to 100"},
	{Name: "apart", Takes: TakesRange, Default: randomApart.String(), About: "from the start of one step to that of the next"},
	{Name: "for", Takes: TakesRange, Default: randomLasts.String(), About: "how long each is in effect"},
	{Name: clientClocks, Takes: "on|off", Default: "on where a client is a module", About: "whether faults of client clocks are drawn, too"},
	{Name: "power", Takes: "on|off", Default: "off", About: "whether steps of kill can be losses of power"},
	{Name: "weights", Takes: TakesText, Default: "all alike", About: "the relative frequency of each fault, such as \"kill 2, pause 1\"; other faults are not drawn"},
}

// The default bounds. Faults overlap now and then, and none lasts so long that a paused holder
// outlives a usual lease.
var (
	randomSteps = 5
	randomApart = Range{From: 500 * time.Millisecond, To: 2 * time.Second}
	randomLasts = Range{From: 300 * time.Millisecond, To: 2 * time.Second}
)

// newRandom parses the options of the step.
func newRandom(s Step) (random, error) {
	r := random{steps: randomSteps, apart: randomApart, lasts: randomLasts}
	weights := map[string]int{}
	for _, e := range All() {
		if len(e.Draw)+len(e.DrawClocks) > 0 {
			weights[e.Name] = 1
		}
	}
	clocks, power := false, false
	for _, key := range slices.Sorted(maps.Keys(s.Options)) {
		value := s.Options[key]
		var err error
		switch key {
		case "steps":
			if r.steps, err = strconv.Atoi(value); err != nil || r.steps < 1 || r.steps > 100 {
				err = fmt.Errorf("steps: %q is not a number from 1 to 100", value)
			}
		case "apart":
			r.apart, err = parseRange(key, value)
		case "for":
			r.lasts, err = parseRange(key, value)
		case clientClocks:
			if clocks = value == "on"; !clocks && value != "off" {
				err = fmt.Errorf("%s: %q is neither on nor off", key, value)
			}
		case "power":
			if power = value == "on"; !power && value != "off" {
				err = fmt.Errorf("%s: %q is neither on nor off", key, value)
			}
		case "weights":
			err = weigh(weights, value)
		default:
			err = fmt.Errorf("random has no key %q; it has %s", key, strings.Join(KeyNames(RandomKeys), ", "))
		}
		if err != nil {
			return r, err
		}
	}
	r.choices = weighed(weights, func(e Entry) []Step {
		if power {
			return slices.Concat(e.Draw, e.DrawPower)
		}
		return e.Draw
	})
	if clocks {
		r.clocks = weighed(weights, func(e Entry) []Step { return e.DrawClocks })
	}
	if len(r.choices)+len(r.clocks) == 0 {
		return r, errors.New("weights: all are 0, so there is nothing to draw from")
	}
	return r, nil
}

// CheckRandom returns an error if the options of a random step are invalid.
func CheckRandom(s Step) error {
	_, err := newRandom(s)
	return err
}

// weigh parses "kill 2, pause 0". Faults that are not named get weight 0.
func weigh(weights map[string]int, text string) error {
	known := slices.Sorted(maps.Keys(weights))
	for name := range weights {
		weights[name] = 0
	}
	for part := range strings.SplitSeq(text, ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), " ")
		if !slices.Contains(known, name) {
			return fmt.Errorf("weights: %q cannot be drawn; there are %s", name, strings.Join(known, ", "))
		}
		n, err := strconv.Atoi(strings.TrimSpace(weight))
		if err != nil || n < 0 || n > 1000 {
			return fmt.Errorf("weights: %s weighs %q, which is not a number from 0 to 1000", name, weight)
		}
		weights[name] = n
	}
	return nil
}

func parseRange(key, text string) (Range, error) {
	from, to, isRange := strings.Cut(text, "..")
	if !isRange {
		to = from
	}
	a, err1 := time.ParseDuration(from)
	b, err2 := time.ParseDuration(to)
	if errors.Join(err1, err2) != nil || a <= 0 || b < a {
		return Range{}, fmt.Errorf("%s: %q is not a duration above zero or a range of durations, such as 300ms..2s", key, text)
	}
	if b > DurationMax {
		return Range{}, fmt.Errorf("%s: %q is too long: at most %v", key, text, DurationMax)
	}
	return Range{From: a, To: b}, nil
}

// WithClientClocks adapts the steps to a run in which a client has its own clock: random steps may
// shift it, too, unless the scenario says otherwise.
func WithClientClocks(steps []Step) []Step {
	out := slices.Clone(steps)
	for i, s := range out {
		if s.Fault == RandomFaults {
			out[i].Options = map[string]string{clientClocks: "on"}
			maps.Copy(out[i].Options, s.Options)
		}
	}
	return out
}

// weighed returns the faults that have steps to draw, by name, each as often as it weighs.
func weighed(weights map[string]int, steps func(Entry) []Step) []choice {
	var all []choice
	for _, e := range All() {
		if c := (choice{e, steps(e)}); len(c.steps) > 0 {
			all = append(all, slices.Repeat([]choice{c}, weights[e.Name])...)
		}
	}
	slices.SortStableFunc(all, func(a, b choice) int { return strings.Compare(a.fault.Name, b.fault.Name) })
	return all
}

// episode draws the steps of one episode.
//
// A client's clock replaces a drawn step with a probability that follows from its weight, drawn
// from a separate source. So the other steps are the same with and without clocks of clients.
func (r random) episode(runSeed uint64, n int) []Step {
	name := fmt.Sprintf("plan/%d/random", n)
	rng, instead := seed.Rand(runSeed, name), seed.Rand(runSeed, name+"/"+clientClocks)
	var steps []Step
	var at time.Duration
	for range r.steps {
		var fault Entry
		var step Step
		if len(r.choices) > 0 {
			fault, step = one(rng, r.choices)
		}
		if len(r.clocks) > 0 && instead.IntN(len(r.choices)+len(r.clocks)) < len(r.clocks) {
			fault, step = one(instead, r.clocks)
		}
		step.Fault = fault.Name
		at += within(rng, r.apart)
		lasts := within(rng, r.lasts)
		if step.When == "" {
			step.At = &Length{From: at, To: at}
		}
		if !fault.Instant {
			step.For = &Length{From: lasts, To: lasts}
		}
		steps = append(steps, step)
	}
	return steps
}

// one draws a fault and one of its steps.
func one(rng *rand.Rand, all []choice) (Entry, Step) {
	c := all[rng.IntN(len(all))]
	return c.fault, c.steps[rng.IntN(len(c.steps))]
}

// within draws whole milliseconds, which are readable.
func within(rng *rand.Rand, r Range) time.Duration {
	return draw(rng, &Length{From: r.From, To: r.To}).Round(time.Millisecond)
}
