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

// RandomFaults is the name of the step that stands for steps drawn from the seed, others
// in each episode. A scenario writes it as `faults: random`.
const RandomFaults = "random"

// random is how such steps are drawn.
type random struct {
	steps   int            // in an episode
	apart   Range          // from the start of one to that of the next
	lasts   Range          // how long each is in effect
	weights map[string]int // by fault; 0: never
}

// RandomKeys are the keys that `faults: {random: {...}}` may have.
var RandomKeys = []Key{
	{Name: "steps", Takes: TakesNumber, Default: strconv.Itoa(randomSteps), About: "how many steps an episode has, from 1 to 100"},
	{Name: "apart", Takes: TakesRange, Default: randomApart.String(), About: "from the start of one step to that of the next"},
	{Name: "for", Takes: TakesRange, Default: randomLasts.String(), About: "how long each is in effect"},
	{Name: "weights", Takes: TakesText, Default: "all alike", About: "how often each fault is drawn, as \"kill 2, pause 1\"; others never"},
}

// The bounds of what is drawn where a scenario says nothing. Faults overlap now and then,
// and none lasts so long that a holder who was stopped outlives a usual lease.
var (
	randomSteps = 5
	randomApart = Range{500 * time.Millisecond, 2 * time.Second}
	randomLasts = Range{300 * time.Millisecond, 2 * time.Second}
)

// newRandom reads the options of the step.
func newRandom(s Step) (random, error) {
	r := random{steps: randomSteps, apart: randomApart, lasts: randomLasts, weights: map[string]int{}}
	for _, e := range drawable() {
		r.weights[e.Name] = 1
	}
	for _, key := range slices.Sorted(maps.Keys(s.Options)) {
		value := s.Options[key]
		var err error
		switch key {
		case "steps":
			if r.steps, err = strconv.Atoi(value); err != nil || r.steps < 1 || r.steps > 100 {
				err = fmt.Errorf("steps: %q is no number from 1 to 100", value)
			}
		case "apart":
			r.apart, err = parseRange(key, value)
		case "for":
			r.lasts, err = parseRange(key, value)
		case "weights":
			err = r.weigh(value)
		default:
			err = fmt.Errorf("random has no key %q; it has %s", key, strings.Join(KeyNames(RandomKeys), ", "))
		}
		if err != nil {
			return r, err
		}
	}
	if len(r.choices()) == 0 {
		return r, errors.New("weights: all are 0, so there is nothing to draw from")
	}
	return r, nil
}

// CheckRandom says what is wrong with the options of a random step.
func CheckRandom(s Step) error {
	_, err := newRandom(s)
	return err
}

// weigh reads "kill 2, pause 0": what is named weighs so much, the rest nothing.
func (r random) weigh(text string) error {
	known := slices.Sorted(maps.Keys(r.weights))
	for name := range r.weights {
		r.weights[name] = 0
	}
	for part := range strings.SplitSeq(text, ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), " ")
		if !slices.Contains(known, name) {
			return fmt.Errorf("weights: %q cannot be drawn; there are %s", name, strings.Join(known, ", "))
		}
		n, err := strconv.Atoi(strings.TrimSpace(weight))
		if err != nil || n < 0 || n > 1000 {
			return fmt.Errorf("weights: %s weighs %q, which is no number from 0 to 1000", name, weight)
		}
		r.weights[name] = n
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
		return Range{}, fmt.Errorf("%s: %q is no duration above zero and no range of them, such as 300ms..2s", key, text)
	}
	return Range{a, b}, nil
}

// drawable are the faults that chance may draw, by name.
func drawable() []Entry {
	all := slices.DeleteFunc(All(), func(e Entry) bool { return len(e.Draw) == 0 })
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// choices are the faults that chance may draw, each as often as it weighs. A fault's weight
// is shared by its steps, so that many kinds of kill do not make many kills.
func (r random) choices() []Entry {
	var all []Entry
	for _, e := range drawable() {
		for range r.weights[e.Name] {
			all = append(all, e)
		}
	}
	return all
}

// episode draws the steps of one episode.
func (r random) episode(runSeed uint64, n int) []Step {
	rng := seed.Rand(runSeed, fmt.Sprintf("plan/%d/random", n))
	choices := r.choices()
	var steps []Step
	var at time.Duration
	for range r.steps {
		fault := choices[rng.IntN(len(choices))]
		step := fault.Draw[rng.IntN(len(fault.Draw))]
		step.Fault = fault.Name
		at += within(rng, r.apart)
		lasts := within(rng, r.lasts)
		if step.When == "" {
			step.At = &Range{at, at}
		}
		if !fault.Instant {
			step.For = &Range{lasts, lasts}
		}
		steps = append(steps, step)
	}
	return steps
}

// within draws whole milliseconds: nobody can tell them apart, and a person reads them.
func within(rng *rand.Rand, r Range) time.Duration { return draw(rng, &r).Round(time.Millisecond) }
