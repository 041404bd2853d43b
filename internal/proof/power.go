package proof

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Catch is what one scenario showed of a wrong lock, in trials of one episode each.
type Catch struct {
	Scenario string
	// Seen are trials that showed the class, out of Runs; TwinSeen are those of the right lock
	// that did: then it is the scenario that does it, and not the mistake.
	Seen, TwinSeen, Runs int
}

// Counts says whether the scenario shows the mistake.
func (c Catch) Counts() bool { return c.Seen > 0 && c.TwinSeen == 0 }

// Median is after how many episodes half of all tries have shown it, at the rate that was seen.
func (c Catch) Median() int {
	if c.Seen >= c.Runs {
		return 1
	}
	return max(1, int(math.Ceil(math.Log(0.5)/math.Log(1-float64(c.Seen)/float64(c.Runs)))))
}

// rare is a catch of which a run with the usual few episodes may see nothing.
func (c Catch) rare() bool { return 2*c.Seen < c.Runs }

// catches are those that count, the surest first.
func (p *Proof) catches() []Catch {
	all := slices.DeleteFunc(slices.Clone(p.Power), func(c Catch) bool { return !c.Counts() })
	slices.SortStableFunc(all, func(a, b Catch) int { return a.Median() - b.Median() })
	return all
}

// WritePower says which scenarios catch which wrong locks, which scenario catches nothing that
// no other does, and what one scenario alone catches. Proofs whose power was not measured are
// left out.
func WritePower(w io.Writer, proofs []*Proof) {
	tried, alone := map[string]int{}, map[string]int{}
	var lonely, never []string
	for _, p := range proofs {
		if len(p.Power) == 0 {
			continue
		}
		for _, c := range p.Power {
			tried[c.Scenario]++
		}
		all := p.catches()
		var words []string
		for _, c := range all {
			words = append(words, fmt.Sprintf("%s %d of %d, median %d", c.Scenario, c.Seen, c.Runs, c.Median()))
		}
		switch len(all) {
		case 0:
			never = append(never, p.Lock)
			words = []string{"no scenario"}
		case 1:
			alone[all[0].Scenario]++
			rarely := ""
			if all[0].rare() {
				rarely = ", rarely"
			}
			lonely = append(lonely, fmt.Sprintf("%s by %s%s", p.Lock, all[0].Scenario, rarely))
		}
		_, _ = fmt.Fprintf(w, "%s: %s\n", p.Lock, strings.Join(words, "; "))
	}
	var spare []string
	for s := range tried {
		if alone[s] == 0 {
			spare = append(spare, s)
		}
	}
	slices.Sort(spare)
	list := func(what string, all []string) {
		if len(all) > 0 {
			_, _ = fmt.Fprintf(w, "%s: %s\n", what, strings.Join(all, ", "))
		}
	}
	list("caught by one scenario alone", lonely)
	list("caught by no scenario", never)
	list("catches nothing that no other scenario does", spare)
}
