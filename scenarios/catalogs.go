package scenarios

import (
	"slices"

	"lockbench/checker"
	"lockbench/internal/service"
	services "lockbench/internal/service/catalog"
	"lockbench/locks/catalog"
	"lockbench/nemesis"
	"lockbench/workloads"
)

// roles returns the roles that nodes of any service can have.
func roles() []nemesis.Role { return nemesis.RolesOf(services.All()) }

func lockName(l catalog.Lock) string         { return l.Name }
func optionName(o catalog.Option) string     { return o.Name }
func faultName(f nemesis.Entry) string       { return f.Name }
func roleName(r nemesis.Role) string         { return r.Name }
func workName(w workloads.Entry) string      { return w.Name }
func serviceName(s *service.Service) string  { return s.Name }
func topologyName(t service.Topology) string { return string(t.Name) }
func checkerName(c checker.Check) string     { return c.Name }
func pointName(p checker.Point) Point        { return Point(p.Name) }
func useName(u LockUse) string               { return u.Name }
func plain[T ~string](word T) string         { return string(word) }

// find returns the entry of a list with a name.
func find[E any](list []E, nameOf func(E) string, name string) (e E, ok bool) {
	i := slices.IndexFunc(list, func(e E) bool { return nameOf(e) == name })
	if i < 0 {
		return e, false
	}
	return list[i], true
}

// names returns the names of the entries of a list, in order.
func names[E any, T ~string](list []E, nameOf func(E) T) []T {
	all := make([]T, len(list))
	for i, e := range list {
		all[i] = nameOf(e)
	}
	return all
}

// sorted returns the names in alphabetical order.
func sorted[E any](list []E, nameOf func(E) string) []string {
	all := names(list, nameOf)
	slices.Sort(all)
	return all
}
