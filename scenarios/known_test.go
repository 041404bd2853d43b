package scenarios

import (
	"fmt"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/nemesis"
	"lockbench/service"
	"lockbench/service/redis"
	"lockbench/workloads"
)

// known is a small world of names, like that of the catalogs. Its locks can do everything.
func known() Catalogs {
	lock := func(family locks.Family, name string) catalog.Lock {
		return catalog.Lock{
			Card:       locks.Card{Name: name, Family: family, Claims: locks.Claims{Reentrant: true, Shared: true, Several: true, Waits: true}},
			Service:    redis.Name,
			Topologies: []locks.Topology{locks.None, locks.Single, locks.Replicated, redis.Sentinel, redis.Cluster, locks.Independent},
			New:        func(map[string]string) (locks.Opener, error) { return nil, nil },
		}
	}
	redlock := lock(locks.Majority, "redlock")
	for _, name := range []string{"nodes", "drift", "validity", "node-timeout"} {
		redlock.Options = append(redlock.Options, catalog.Option{Name: name})
	}
	redlock.New = func(options map[string]string) (locks.Opener, error) {
		if v := options["validity"]; v != "" && v != "on" && v != "off" {
			return nil, fmt.Errorf("option validity of redlock: %q is neither on nor off", v)
		}
		return nil, nil
	}
	c := Catalogs{
		Locks: []catalog.Lock{lock(locks.Control, "no-lock"), lock(locks.Control, "in-process"), lock(locks.Control, "flock")},
		Faults: []nemesis.Entry{
			{Name: "kill", Keys: []nemesis.Key{{Name: "data"}, {Name: "early"}}},
			{Name: "pause"},
			{Name: "isolate", Keys: []nemesis.Key{{Name: "with", Takes: nemesis.TakesRole}, {Name: "way"}}},
			{Name: "lag", Link: true, Keys: []nemesis.Key{{Name: "by"}}},
			{Name: "cut", Link: true},
		},
		Workloads: []workloads.Entry{{Name: "counter"}, {Name: "queue"}},
		Checkers:  checker.Checks(),
		Services:  []service.Service{redis.Service{}},
	}
	for _, name := range []string{"setnx-expire", "set-del", "get-del", "getset-time", "set-nx", "set-nx-fenced"} {
		c.Locks = append(c.Locks, lock(locks.SingleStore, name))
	}
	c.Locks = append(c.Locks, redlock)
	for i := range c.Faults {
		c.Faults[i].New = func(nemesis.Step) (nemesis.Fault, error) { return nil, nil }
	}
	c.Faults[slices.IndexFunc(c.Faults, func(f nemesis.Entry) bool { return f.Name == "lag" })].New = checkLag
	for _, name := range []string{"master", "replicas", "a replica", "minority", "majority", "holder", "clients", "half the clients"} {
		c.Roles = append(c.Roles, nemesis.Role{Name: name})
	}
	return c
}

func checkLag(s nemesis.Step) (nemesis.Fault, error) {
	if _, err := time.ParseDuration(s.Options["by"]); err != nil {
		return nil, fmt.Errorf("by: %q is no duration above zero, such as 60s", s.Options["by"])
	}
	return nil, nil
}
