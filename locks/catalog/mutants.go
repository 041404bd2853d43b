package catalog

import (
	"lockbench/internal/service/redis"
	"lockbench/locks"
	"lockbench/locks/mutants"
)

// Mutants returns the locks that are wrong on purpose. [All] leaves them out, so that only
// lists of mutants offer them.
func Mutants() []Lock {
	var all []Lock
	for _, m := range mutants.All() {
		all = append(all, Lock{
			Card: m.Card, About: "wrong on purpose: " + m.Mistake, Group: "Wrong on purpose", Service: redis.Name,
			Topologies: m.Topologies, WritesTime: m.WritesTime, Wrong: &m.Wrong, open: func(values) locks.Opener { return m.Open },
		})
	}
	return all
}
