package scenarios

import (
	"maps"
	"slices"

	"lockbench/locks"
	"lockbench/nemesis"
)

// Known is everything that a scenario may name. Whoever owns the catalogs fills
// it in.
type Known struct {
	Locks     map[string]LockInfo
	Faults    map[string]FaultInfo
	Roles     []string            // master, a replica, holder, ...; the ends of links too
	Events    []nemesis.Event     // what `when` may say
	Workloads map[string][]string // the workload's own keys; those of every workload are known here
	Checkers  []string
	Classes   []string
	// Wants says with which key of a workload it cannot work, why, and what would help;
	// an empty key: with all. Nil: any workload works with anything.
	Wants func(w Workload) (key, why, hint string)
	// Fits says why a lock cannot do what a workload asks of it, or cannot run on those
	// servers, and what would help; empty: it can. Nil: every lock can do everything.
	Fits func(lock string, w Workload, t locks.Topology) (why, hint string)
}

// LockInfo is what a scenario may say of a lock.
type LockInfo struct {
	Family  string   // "control", "single-store" or "majority"
	Options []string // the lock's own; those that every lock takes are known here
	// Check says what is wrong with the lock's own options; nil: nothing can be. The
	// option that its error names before a colon is where it is shown.
	Check func(options map[string]string) error
}

// Majority is the family of locks that run on independent masters, Control that of
// locks which need no server.
const (
	Majority = "majority"
	Control  = "control"
)

// FaultInfo is what a scenario may say of a fault.
type FaultInfo struct {
	Target  TargetKind
	Options []string // the fault's own keys
	// RoleOptions are those of Options whose value is a role, as `with: half the clients`.
	RoleOptions []string
	// Check says what is wrong with a step beyond its words; nil: nothing can be. The
	// key that its error names before a colon ("by: ...") is where it is shown.
	Check func(nemesis.Step) error
}

// TargetKind is what a fault strikes.
type TargetKind uint8

// The kinds of targets.
const (
	Role TargetKind = iota // `kill: master`
	Link                   // `lag: master -> replicas`, or `<->` for both directions
)

func (k Known) lockNames() []string     { return sorted(k.Locks) }
func (k Known) faultNames() []string    { return sorted(k.Faults) }
func (k Known) workloadNames() []string { return sorted(k.Workloads) }

func (k Known) eventNames() []string {
	names := make([]string, len(k.Events))
	for i, e := range k.Events {
		names[i] = string(e)
	}
	return names
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
