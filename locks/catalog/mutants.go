package catalog

import (
	"lockbench/locks/mutants"
	"lockbench/service/redis"
)

// Mutants are the locks that are wrong on purpose. They are no part of [All]: nobody is to
// meet one who has not asked for it.
func Mutants() []Lock {
	var all []Lock
	for _, m := range mutants.All() {
		all = append(all, Lock{
			Card: m.Card, About: "wrong on purpose: " + m.Mistake, Group: mutantGroup, Service: redis.Name,
			Topologies: m.Topologies, WritesTime: m.WritesTime, Wrong: &m.Wrong, New: without(m.Name, m.Open),
		})
	}
	return all
}

// mutantGroup is their heading in tables.
const mutantGroup = "Wrong on purpose"
