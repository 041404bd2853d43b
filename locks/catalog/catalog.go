// Package catalog is the list of the locks that lockbench knows by name. It is a
// package of its own because every lock imports the contract in package locks.
//
// To add a lock, write its package and add an entry to [All].
package catalog

import (
	"lockbench/locks"
	"lockbench/locks/control"
	"lockbench/locks/naive"
	"lockbench/locks/setnx"
)

// Family says on which kind of lock service a lock runs.
type Family string

// The families.
const (
	Control     Family = "control"      // needs no server
	SingleStore Family = "single-store" // one master at a time
	Majority    Family = "majority"     // several independent masters
)

// Lock is an entry of the catalog.
type Lock struct {
	Name       string
	About      string // one line, for people who choose
	Family     Family
	Claims     locks.Claims
	Model      []string // the words of a history's header: what it is to be judged as
	Topologies []locks.Topology
	Options    []Option // the lock's own; those of every lock (ttl, hold, ...) are the run's
	// InHarness says that all clients must be opened from one Opener, in the
	// process of the harness.
	InHarness bool
	// Woken says that waiters are told of a release and send nothing until then.
	Woken bool
	// New makes the lock for one run. Options that are not given have their default.
	New func(options map[string]string) (locks.Opener, error)
}

// All returns the locks, controls first.
func All() []Lock {
	return append([]Lock{
		{
			Name:       "no-lock",
			About:      "grants everything to everybody; a run that does not catch it proves nothing",
			Family:     Control,
			Claims:     locks.Claims{Reentrant: true, Shared: true, Several: true, Waits: true},
			Model:      mutex,
			Topologies: serverless,
			New:        without("no-lock", func() locks.Opener { return control.OpenNoLock }),
		},
		{
			Name:       "in-process",
			About:      "a mutex in the memory of the harness; must always pass",
			Family:     Control,
			Claims:     locks.Claims{Strict: true},
			Model:      mutex,
			Topologies: serverless,
			InHarness:  true,
			New:        without("in-process", func() locks.Opener { return control.NewTable().Open }),
		},
		{
			Name:       "flock",
			About:      "flock(2) on a file, held by the client's process; must always pass",
			Family:     Control,
			Claims:     locks.Claims{Strict: true},
			Model:      mutex,
			Topologies: serverless,
			New:        without("flock", func() locks.Opener { return control.OpenFlock }),
		},
		{
			Name:       "setnx-expire",
			About:      "SETNX, then EXPIRE; a client that dies in between locks for ever",
			Family:     SingleStore,
			Claims:     locks.Claims{Bounded: true},
			Model:      mutex,
			Topologies: oneMaster,
			New:        without("setnx-expire", naive.NewSetnxExpire),
		},
		{
			Name:       "set-del",
			About:      "SET NX EX, released by DEL whoever holds; a late holder deletes another's lock",
			Family:     SingleStore,
			Claims:     locks.Claims{Bounded: true},
			Model:      mutex,
			Topologies: oneMaster,
			New:        without("set-del", naive.NewSetDel),
		},
		{
			Name:       "get-del",
			About:      "SET NX PX with a token, released by GET and then DEL; late in between, it deletes another's lock",
			Family:     SingleStore,
			Claims:     locks.Claims{Bounded: true},
			Model:      mutex,
			Topologies: oneMaster,
			Options:    getDelOptions,
			New:        newGetDel,
		},
		{
			Name:       "getset-time",
			About:      "SETNX and GETSET of the lease's end by the clients' clocks; breaks when they differ",
			Family:     SingleStore,
			Claims:     locks.Claims{Bounded: true},
			Model:      mutex,
			Topologies: oneMaster,
			New:        without("getset-time", naive.NewGetsetTime),
		},
		{
			Name:       "set-nx",
			About:      "SET NX PX with an owner's token, renewed and released by script; the base line",
			Family:     SingleStore,
			Claims:     locks.Claims{Bounded: true},
			Model:      mutex,
			Topologies: anyMaster,
			New:        without("set-nx", setnx.New),
		},
		{
			Name:       "set-nx-fenced",
			About:      "set-nx whose grants are counted in the same script, so that stale writes can be refused",
			Family:     SingleStore,
			Claims:     locks.Claims{Bounded: true, Fenced: true},
			Model:      []string{"mutex", "fenced"},
			Topologies: anyMaster,
			New:        without("set-nx-fenced", setnx.NewFenced),
		},
		{
			Name:       "redlock",
			About:      "SET NX PX on a majority of independent masters, believed for what is left of the ttl",
			Family:     Majority,
			Claims:     locks.Claims{Bounded: true},
			Model:      mutex,
			Topologies: []locks.Topology{locks.Independent},
			Options:    redlockOptions,
			New:        newRedlock,
		},
	}, redissonLocks()...)
}

var (
	mutex      = []string{"mutex"}
	serverless = []locks.Topology{locks.None}
	oneMaster  = []locks.Topology{locks.Single, locks.Replicated, locks.Sentinel}
)

// Find returns the lock of a name.
func Find(name string) (Lock, bool) {
	for _, l := range All() {
		if l.Name == name {
			return l, true
		}
	}
	return Lock{}, false
}

// NotFound is the error for a name that Find does not know: what is known, and
// which of it was probably meant.
func NotFound(name string) error {
	var known []string
	for _, l := range All() {
		known = append(known, l.Name)
	}
	return unknown("lock", name, known)
}
