package scenarios

import (
	"fmt"
	"math"
	"time"

	"lockbench/locks"
	"lockbench/locks/catalog"
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

// breaches returns the broken rules.
func (s *Scenario) breaches() []breach {
	list := append(s.numbers(), s.leases()...)
	list = append(list, s.restarts()...)
	return append(list, s.abilities()...)
}

// numbers checks the range of each number, because flags can set any.
func (s *Scenario) numbers() []breach {
	var list []breach
	for _, n := range []struct {
		name  string
		value int
		most  int
	}{
		{"workload/clients", s.Workload.Clients, math.MaxInt}, {"workload/keys", s.Workload.Keys, KeysMax},
		{"episodes", s.Episodes, EpisodesMax}, {"topology/majority/independent", s.mastersMin(), math.MaxInt},
	} {
		switch {
		case n.value < 1:
			list = append(list, breach{at: []string{n.name}, text: fmt.Sprintf("%s: %d is too few: at least 1", n.name, n.value)})
		case n.value > n.most:
			list = append(list, breach{at: []string{n.name}, text: fmt.Sprintf("%s: %d is too many: at most %d", n.name, n.value, n.most)})
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
		least time.Duration
		most  time.Duration
	}{
		{"workload/ttl", s.Workload.TTL, 0, DurationMax}, {"workload/wait", s.Workload.Wait, 0, DurationMax},
		{"workload/hold", s.Workload.Hold.From, 0, DurationMax}, {"workload/hold", s.Workload.Hold.To, 0, DurationMax},
		{"workload/think", s.Workload.Think.From, time.Millisecond, DurationMax}, {"workload/think", s.Workload.Think.To, time.Millisecond, DurationMax},
		{"quiet", s.Quiet, 0, DurationMax}, {"limit", s.Limit, 1, RunMax},
	} {
		switch {
		case d.value < d.least:
			list = append(list, breach{at: []string{d.name}, text: fmt.Sprintf("%s: %v is too little", d.name, d.value)})
		case d.value > d.most:
			list = append(list, breach{at: []string{d.name}, text: fmt.Sprintf("%s: %v is too long: at most %v", d.name, d.value, d.most)})
		}
	}
	return list
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
	check := func(w Workload, of string, at ...string) {
		if w.TTL == 0 { // renewed for as long as it is held
			return
		}
		if w.Hold.To >= w.TTL {
			list = append(list, breach{
				at:   append(at, "workload/hold", "workload/ttl", "workload"),
				text: fmt.Sprintf("a hold of up to %v does not fit into the ttl of %v%s", w.Hold.To, w.TTL, of),
				hint: "clients must release within their lease",
			})
		}
		for i, step := range s.Faults {
			if step.Hold != nil && step.Hold.To >= w.TTL {
				list = append(list, breach{
					at:   append(at, fmt.Sprintf("faults/%d/hold", i), "workload/ttl", "faults"),
					text: fmt.Sprintf("step %d asks for a hold of up to %v, which does not fit into the ttl of %v%s", i+1, step.Hold.To, w.TTL, of),
					hint: "clients must release within their lease",
				})
			}
		}
	}
	check(s.Workload, "")
	for i, u := range s.Locks {
		if u.TTL != nil || u.Hold != nil {
			w := s.WorkFor(u)
			check(w, " of "+u.Name, fmt.Sprintf("locks/%d", i))
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
			if lock, _ := catalog.Find(u.Use); !u.Own() && lock.Family != locks.Majority {
				continue // the family of a guest is known only when it runs; it may be a majority lock
			}
			w := s.WorkFor(u)
			if tooEarly := early(step.For, w.TTL); tooEarly != "" {
				list = append(list, breach{
					at: []string{fmt.Sprintf("faults/%d/for", i), fmt.Sprintf("faults/%d", i), fmt.Sprintf("locks/%d", j), "workload/ttl", "faults"},
					text: fmt.Sprintf("step %d restarts a master without its data %s: it grants again what %s still holds",
						i+1, tooEarly, u.Name),
					hint: "restart it later, or say `early: true` if that is what the scenario shows",
				})
				break // one lock is enough
			}
		}
	}
	return list
}

// early describes a restart before the end of a lease, or returns "" for a later one.
func early(away *nemesis.Range, ttl time.Duration) string {
	switch {
	case away == nil:
		return "whenever the episode ends (there is no `for`)"
	case ttl == 0:
		return fmt.Sprintf("after %v, while leases (ttl 0) last as long as they are held", away.From)
	case away.From <= ttl:
		return fmt.Sprintf("after %v, within the ttl of %v", away.From, ttl)
	}
	return ""
}
