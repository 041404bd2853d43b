package main

import (
	"slices"
	"strings"

	"lockbench/internal/questions"
	"lockbench/internal/service"
	services "lockbench/internal/service/catalog"
	"lockbench/locks"
	"lockbench/locks/catalog"
)

// family is a group of locks that run on similar servers. Pictures and tables compare locks within a family.
type family struct {
	name  string // in file names
	title string
	takes func(catalog.Lock) bool
}

// families returns the families. Each lock on servers belongs to one of them.
func families() []family {
	return []family{
		{"redis", "One Redis, Sentinel or Cluster", func(l catalog.Lock) bool {
			return onRedis(l) && l.Family == locks.SingleStore && !ofRedisson(l)
		}},
		{"redisson", "Redisson on one Redis, Sentinel or Cluster, and the Go ports of its locks", func(l catalog.Lock) bool {
			return onRedis(l) && l.Family == locks.SingleStore && ofRedisson(l)
		}},
		{"majority", "Several independent Redis masters", func(l catalog.Lock) bool { return l.Family == locks.Majority }},
		{"quorum", "Servers that agree before they grant: etcd, ZooKeeper, NATS, Kubernetes", func(l catalog.Lock) bool {
			return l.Family == locks.SingleStore && !onRedis(l) && hasQuorum(l.Service)
		}},
		{"database", "Databases: PostgreSQL, MariaDB, FerretDB", func(l catalog.Lock) bool {
			return l.Family == locks.SingleStore && !onRedis(l) && !hasQuorum(l.Service)
		}},
	}
}

// onRedis tells whether a lock runs on Redis, which is the first service.
func onRedis(l catalog.Lock) bool { return l.Service == services.All()[0].Name }

// ofRedisson tells whether a lock is one of Redisson's, which have a Go port, or such a port.
func ofRedisson(l catalog.Lock) bool { return l.Port != "" || isPort(l.Name) }

// hasQuorum tells whether the members of a service can elect a leader that commits nothing without a majority.
func hasQuorum(name string) bool {
	s, ok := services.Find(name)
	return ok && slices.ContainsFunc(s.Topologies, func(t service.Topology) bool { return t.Name == "quorum" })
}

// columns returns the locks of a family that were measured, and the names of the libraries that were not. A Go port stands next to
// its library. A lock with options has a column if it was measured for most of the questions.
func (f family) columns(cells []cell) (shown, missing []string) {
	answers := map[string]int{}
	for _, c := range cells {
		if c.World == measuredIn && c.Verdict != noPart && slices.ContainsFunc(questions.All(), func(q questions.Question) bool { return q.Scenario == c.Scenario }) {
			answers[c.Lock]++
		}
	}
	measured := map[string][]string{} // by the name without options
	for lock, n := range answers {
		if name, _, options := strings.Cut(lock, "/"); !options || n > len(questions.All())/2 {
			measured[name] = append(measured[name], lock)
		}
	}
	for _, l := range catalog.All() {
		if !f.takes(l) || isPortOf(l.Name) {
			continue
		}
		for _, name := range []string{l.Name, l.Port} {
			slices.Sort(measured[name])
			shown = append(shown, measured[name]...)
		}
		if l.Library != nil && len(measured[l.Name]) == 0 {
			missing = append(missing, l.Name)
		}
	}
	return shown, missing
}

// isPortOf tells whether a lock is the Go port of a library's lock.
func isPortOf(name string) bool {
	return slices.ContainsFunc(catalog.All(), func(l catalog.Lock) bool { return l.Port == name })
}
