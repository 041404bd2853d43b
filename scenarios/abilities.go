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
		if why := s.unfit(u, lock); why != "" {
			list = append(list, breach{
				at:   []string{fmt.Sprintf("locks/%d", i), "locks"},
				text: fmt.Sprintf("%s cannot take part: %s", u.Name, why),
				hint: s.fitting(u, lock.Family),
			})
		}
	}
	return list
}

// Takes reports whether a lock can take part. For an external guest that is known only when it runs.
func (s *Scenario) Takes(u LockUse) bool {
	_, known := workloads.Find(s.Workload.Name)
	lock, found := u.Entry()
	return !known || !found || s.unfit(u, lock) == ""
}

// unfit returns the reason why a lock with the settings of u cannot take part, or "". A lock with a ttl that it cannot have
// is fit: its row of the result reports the ttl.
func (s *Scenario) unfit(u LockUse, l catalog.Lock) string {
	role, _ := s.RoleOf(u, l.Card, l.Service)
	switch {
	case role.Refused != nil:
		return role.Refused.Error() + ", and this lock does not offer that"
	case !slices.Contains(l.Topologies, role.On):
		return fmt.Sprintf("the scenario puts it on %s, and it runs on %s", role.On, strings.Join(names(l.Topologies, plain), ", "))
	}
	return ""
}

// fitting returns a hint with the locks of a family that could take part.
func (s *Scenario) fitting(u LockUse, family locks.Family) string {
	var can []string
	for _, l := range catalog.All() {
		if l.Family == family && s.unfit(u, l) == "" {
			can = append(can, l.Name)
		}
	}
	if len(can) == 0 {
		return ""
	}
	return "of its family these can: " + strings.Join(can, ", ")
}
