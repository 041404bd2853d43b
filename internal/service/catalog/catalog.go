// Package catalog is the list of the lock services that lockbench can start.
//
// To add one, write its package under service and add it to the entries.
package catalog

import (
	"slices"

	"lockbench/internal/service"
	"lockbench/internal/service/etcd"
	"lockbench/internal/service/kubernetes"
	"lockbench/internal/service/mariadb"
	"lockbench/internal/service/mongo"
	"lockbench/internal/service/nats"
	"lockbench/internal/service/postgres"
	"lockbench/internal/service/redis"
	"lockbench/internal/service/zookeeper"
	"lockbench/internal/virtual/sim"
	"lockbench/internal/virtual/simredis"
)

// entry is a service with its model for the simulation, which is nil if the simulation does not have the service.
type entry struct {
	*service.Service
	model sim.Model
}

// entries are all services. Scenarios that name no service use the first one.
var entries = []entry{
	{redis.Service, simredis.Model{}},
	{etcd.Service, nil},
	{postgres.Service, nil},
	{mariadb.Service, nil},
	{zookeeper.Service, nil},
	{nats.Service, nil},
	{mongo.Service, nil},
	{kubernetes.Service, nil},
}

// All returns the services in the order of the entries.
func All() []*service.Service {
	var all []*service.Service
	for _, e := range entries {
		all = append(all, e.Service)
	}
	return all
}

// Models returns the models of the simulation by the names of their services.
func Models() sim.Models {
	models := sim.Models{}
	for _, e := range entries {
		if e.model != nil {
			models[e.Name] = e.model
		}
	}
	return models
}

// Find returns the service with a name.
func Find(name string) (*service.Service, bool) {
	all := All()
	i := slices.IndexFunc(all, func(s *service.Service) bool { return s.Name == name })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}
