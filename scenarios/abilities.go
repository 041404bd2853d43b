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

// abilities checks that each lock supports the workload and runs on the servers that it gets. Refused calls would look
// like mutual exclusion. The capabilities of an external guest are known only when it runs.
func (s *Scenario) abilities() []breach {
	work, ok := workloads.Find(s.Workload.Name)
	if !ok {
		return nil
	}
	var list []breach
	if wants := (workloads.Setting{}); errors.As(work.Check(s.Workload.Params()), &wants) {
		list = append(list, breach{
			at:   []string{"workload/" + wants.Key, "workload"},
			text: fmt.Sprintf("the workload %s cannot work with this %s: %s", work.Name, wants.Key, wants.Text),
			hint: wants.Hint,
		})
	}
	for i, u := range s.Locks {
		lock, ok := u.Entry()
		if !ok {
			continue
		}
		if why := s.unfit(u, lock, work); why != "" {
			list = append(list, breach{
				at:   []string{fmt.Sprintf("locks/%d", i), "locks"},
				text: fmt.Sprintf("%s cannot take part: %s", u.Name, why),
				hint: s.fitting(u, lock.Family, work),
			})
		}
	}
	return list
}

// Takes reports whether a lock can take part. For an external guest that is known only when it runs.
func (s *Scenario) Takes(u LockUse) bool {
	work, ok := workloads.Find(s.Workload.Name)
	lock, found := u.Entry()
	if !ok || !found {
		return true
	}
	return s.unfit(u, lock, work) == ""
}

// unfit returns the reason why a lock with the settings of u cannot take part, or "".
func (s *Scenario) unfit(u LockUse, l catalog.Lock, work workloads.Entry) string {
	w, t := s.WorkFor(u), s.ServersFor(u, l.Service).Topology
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

// fitting returns a hint with the locks of a family that could take part.
func (s *Scenario) fitting(u LockUse, family locks.Family, work workloads.Entry) string {
	var can []string
	for _, l := range catalog.All() {
		if l.Family == family && s.unfit(u, l, work) == "" {
			can = append(can, l.Name)
		}
	}
	if len(can) == 0 {
		return ""
	}
	return "of its family these can: " + strings.Join(can, ", ")
}
