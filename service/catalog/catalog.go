// Package catalog is the list of the lock services that lockbench can start.
//
// To add one, write its package under service and add it to [All].
package catalog

import (
	"slices"

	"lockbench/service"
	"lockbench/service/redis"
)

// All are the services. The first is meant where a scenario names none.
func All() []service.Service {
	return []service.Service{redis.Service{}}
}

// Find returns the service of a name.
func Find(name string) (service.Service, bool) {
	all := All()
	i := slices.IndexFunc(all, func(s service.Service) bool { return s.Name() == name })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}
