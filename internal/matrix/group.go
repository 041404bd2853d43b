package matrix

import (
	"strings"

	"lockbench/internal/report"
	"lockbench/locks"
)

// group is a kind of lock. Locks of one kind stand beside each other, for they are
// what a reader chooses between.
type group int

const (
	controls group = iota
	oneMaster
	redisson // of one master too, and a family of their own
	majority
	groupsN
)

// groupNames are their headings.
var groupNames = [groupsN]string{"controls", "one master", "one master, Redisson's", "several masters"}

// groupOf is the group of a lock. A lock that did not run says nothing of its servers,
// and is taken for one of a single master.
func groupOf(l *report.Lock) group {
	switch {
	case l.Control():
		return controls
	case l.Topology == locks.Independent:
		return majority
	case strings.HasPrefix(l.Lock, "redisson"):
		return redisson
	}
	return oneMaster
}
