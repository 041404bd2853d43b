package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/workloads"
)

// keysLookedAt limits the number of keys for the check of a workload, because a scenario may have `keys: 2000000000`.
const keysLookedAt = 100

// abilities checks that each lock supports the workload and runs on the servers that it gets. Refused calls would look
// like mutual exclusion. The capabilities of an external guest are known only when it runs.
func (s *Scenario) abilities() []breach {
	work, ok := workloads.Find(s.Workload.Name)
	if !ok {
		return nil
	}
	var list []breach
	few := s.Workload
	few.Keys = min(few.Keys, keysLookedAt)
	if wants := (workloads.Setting{}); errors.As(work.Check(few.Params()), &wants) {
		list = append(list, breach{
			at:   []string{"workload/" + wants.Key, "workload"},
			text: fmt.Sprintf("the workload %s cannot work with this %s: %s", work.Name, wants.Key, wants.Text),
			hint: wants.Hint,
		})
	}
	for i, u := range s.Locks {
		lock, ok := catalog.Find(u.Use)
		if !ok {
			continue
		}
		w, t := s.askedOf(u, lock)
		if why := unfit(lock, work, w, t); why != "" {
			list = append(list, breach{
				at:   []string{fmt.Sprintf("locks/%d", i), "locks"},
				text: fmt.Sprintf("%s cannot take part: %s", u.Name, why),
				hint: fitter(lock, work, w, t),
			})
		}
	}
	return list
}

// Takes reports whether a lock can take part. For an external guest that is known only when it runs.
func (s *Scenario) Takes(u LockUse) bool {
	work, ok := workloads.Find(s.Workload.Name)
	lock, found := catalog.Find(u.Use)
	if !ok || !found {
		return true
	}
	w, t := s.askedOf(u, lock)
	return unfit(lock, work, w, t) == ""
}

// askedOf returns the workload of a lock and its servers.
func (s *Scenario) askedOf(u LockUse, lock catalog.Lock) (Workload, Topology) {
	return s.WorkFor(u), s.ServersFor(u, lock.Service).Topology
}

// unfit returns the reason why a lock cannot take part, or "".
func unfit(l catalog.Lock, work workloads.Entry, w Workload, t Topology) string {
	p, on := workloads.Params{TTL: w.TTL, Wait: w.Wait}, t.SingleStore
	if l.Claims.Leaseless() {
		p.TTL = 0
	}
	switch l.Family {
	case locks.Majority:
		on = t.Majority
	case locks.Control:
		p.TTL, on = 0, locks.None
	}
	if err := work.Refuses(p, l.Claims); err != nil {
		return err.Error() + ", and this lock does not offer that"
	}
	if !slices.Contains(l.Topologies, on) {
		return fmt.Sprintf("the scenario puts it on %s, and it runs on %s", on, strings.Join(names(l.Topologies, plain), ", "))
	}
	return ""
}

// fitter returns a hint for a lock that cannot take part.
func fitter(lock catalog.Lock, work workloads.Entry, w Workload, t Topology) string {
	var hints, can []string
	// A ttl of 0 is more likely a mistake than the wrong lock.
	if leased := w; w.TTL == 0 {
		leased.TTL = DefaultTTL
		if unfit(lock, work, leased, t) == "" {
			hints = append(hints, fmt.Sprintf("give it a ttl above 0s, such as %v", leased.TTL))
		}
	}
	for _, l := range catalog.All() {
		if l.Family == lock.Family && unfit(l, work, w, t) == "" {
			can = append(can, l.Name)
		}
	}
	if len(can) > 0 {
		hints = append(hints, "of its family these can: "+strings.Join(can, ", "))
	}
	return strings.Join(hints, "; ")
}
