package scenarios

import (
	"fmt"
	"math"
	"slices"
	"time"

	"lockbench/locks"
	"lockbench/nemesis"
)

// breach is a broken rule between several values.
type breach struct {
	// at are the paths of the values. The error has the place of the first one that is in the file.
	at         []string
	text, hint string
}

// placed returns a broken rule as an error, at the first of its values that is in the file.
func (s *Scenario) placed(b breach) *Error {
	e := &Error{File: s.file, Text: b.text, Hint: b.hint}
	for _, path := range b.at {
		if at, ok := s.where[path]; ok {
			e.Line, e.Column = at.line, at.column
			break
		}
	}
	return e
}

// Check checks the rules between values again after flags changed some. [Read] has checked the file.
func (s *Scenario) Check() error {
	var errs []*Error
	for _, b := range s.breaches() {
		errs = append(errs, &Error{File: s.Name, Text: b.text, Hint: b.hint})
	}
	return joined(errs)
}

// breaches returns the broken rules. The other rules need numbers that are in range.
func (s *Scenario) breaches() []breach {
	if list := s.numbers(); len(list) > 0 {
		return list
	}
	return slices.Concat(s.leases(), s.restarts(), s.points(), s.abilities())
}

// numbers checks the range of each number, because flags can set any.
func (s *Scenario) numbers() []breach {
	w := s.Workload
	return slices.Concat(
		outside("workload/clients", w.Clients, 1, math.MaxInt),
		outside("workload/keys", w.Keys, 1, KeysMax),
		outside("episodes", s.Episodes, 1, EpisodesMax),
		outside("topology/majority/independent", s.mastersMin(), 1, math.MaxInt),
		outside("workload/ttl", w.TTL, 0, nemesis.DurationMax),
		outside("workload/wait", w.Wait, 0, nemesis.DurationMax),
		outside("workload/hold", w.Hold.From, 0, nemesis.DurationMax),
		outside("workload/hold", w.Hold.To, 0, nemesis.DurationMax),
		outside("workload/think", w.Think.From, time.Millisecond, nemesis.DurationMax),
		outside("workload/think", w.Think.To, time.Millisecond, nemesis.DurationMax),
		outside("quiet", s.Quiet, 0, nemesis.DurationMax),
		outside("limit", s.Limit, time.Millisecond, RunMax))
}

// outside returns a breach if a number is not in its range.
func outside[T int | time.Duration](key string, n, least, most T) []breach {
	if err := inRange(n, least, most); err != nil {
		return []breach{{at: []string{key}, text: key + ": " + err.Error()}}
	}
	return nil
}

// mastersMin is the least number of independent masters of any service.
func (s *Scenario) mastersMin() int {
	least := DefaultMasters
	for _, on := range s.Servers {
		least = min(least, on.Topology.Masters)
	}
	return least
}

// leases checks that clients release within their leases, also when a step makes them hold longer. Otherwise the scenario
// itself would cause an overstay of every lock.
func (s *Scenario) leases() []breach {
	var list []breach
	check := func(w Workload, of, at string) {
		fits := func(hold nemesis.Length, what, key string) {
			if w.TTL > 0 && hold.To >= w.TTL { // a ttl of 0 is renewed for as long as it is held
				list = append(list, breach{
					at:   []string{at, key, "workload/ttl", "workload"},
					text: fmt.Sprintf("%s of up to %v does not fit into the ttl of %v%s", what, hold.To, w.TTL, of),
					hint: "clients must release within their lease",
				})
			}
		}
		fits(nemesis.Length{From: w.Hold.From, To: w.Hold.To}, "a hold", "workload/hold")
		for i, step := range s.Faults {
			if step.Hold != nil {
				fits(step.Hold.Leased(w.TTL), fmt.Sprintf("the hold of step %d", i+1), fmt.Sprintf("faults/%d/hold", i))
			}
		}
	}
	check(s.Workload, "", "")
	for i, u := range s.Locks {
		if u.TTL != nil || u.Hold != nil {
			check(s.WorkFor(u), " of "+u.Name, fmt.Sprintf("locks/%d", i))
		}
	}
	return list
}

// restarts checks that an independent master that lost its data stays down until every lease that it granted has ended. If
// it returns sooner, it grants the same lock again, which is not a defect of the lock:
//
//	A holds by 1, 2, 3 of five; 3 returns empty; B gets 3, 4, 5 while A holds.
//
// A scenario with `early: true` shows that on purpose.
func (s *Scenario) restarts() []breach {
	var list []breach
	for i, step := range s.Faults {
		if step.Options["data"] != "lost" || step.Options["early"] == "true" {
			continue
		}
		for j, u := range s.Locks {
			if lock, _ := u.Entry(); !u.Own() && lock.Family != locks.Majority {
				continue // the family of a guest is known only when it runs; it may be a majority lock
			}
			if ttl := s.WorkFor(u).TTL; step.For == nil || ttl == 0 || step.For.Leased(ttl).From <= ttl {
				list = append(list, breach{
					at:   []string{fmt.Sprintf("faults/%d/for", i), fmt.Sprintf("faults/%d", i), fmt.Sprintf("locks/%d", j), "workload/ttl", "faults"},
					text: fmt.Sprintf("step %d restarts a master without its data while leases of %s last, and the master grants them again", i+1, u.Name),
					hint: "restart it later, or say `early: true` if that is what the scenario shows",
				})
				break // one lock is enough
			}
		}
	}
	return list
}
