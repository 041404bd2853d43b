package campaign

import (
	"cmp"

	"lockbench/internal/report"
	"lockbench/locks"
)

// group is a kind of lock. Locks of one kind stand beside each other, for they are
// what a reader chooses between.
type group struct {
	place int
	name  string // their heading
}

var (
	controls  = group{0, "controls"}
	oneMaster = group{1, "one master"}
	majority  = group{3, "several masters"}
)

// family is a group of one master that the catalog sets apart.
func family(name string) group { return group{2, oneMaster.name + ", " + name} }

func (g group) compare(with group) int {
	return cmp.Or(cmp.Compare(g.place, with.place), cmp.Compare(g.name, with.name))
}

// groupOf is the group of a lock. A lock that did not run says nothing of its servers,
// and is taken for one of a single master.
func (c *Campaign) groupOf(l *report.Lock) group {
	switch name := c.Groups[l.Lock]; {
	case l.Control():
		return controls
	case l.Topology == locks.Independent:
		return majority
	case name != "":
		return family(name)
	}
	return oneMaster
}
