// Package catalog is the list of the locks that lockbench knows by name. It is a
// package of its own because every lock imports the contract in package locks.
//
// To add a lock, write its package and add an entry to [All].
package catalog

import (
	"fmt"
	"slices"
	"sync"

	"lockbench/locks"
	"lockbench/locks/control"
	"lockbench/locks/mutants"
	"lockbench/locks/setnx"
	"lockbench/service/redis"
)

// Lock is an entry of the catalog.
type Lock struct {
	locks.Card
	About string // one line, for people who choose
	// Group is the heading under which tables show the lock beside others of its kind,
	// if it stands apart from the rest of its family.
	Group      string
	Service    string // the lock service that it is for; empty: it needs none
	Topologies []locks.Topology
	Options    []Option // the lock's own; those of every lock (ttl, hold, ...) are the run's
	// InHarness says that all clients must be opened from one Opener, in the
	// process of the harness.
	InHarness bool
	// Broken says that it is so by design: a run that does not catch it proves nothing, and
	// every scenario expects it to be violated.
	Broken bool
	// Woken says that waiters are told of a release and send nothing until then.
	Woken bool
	// WritesTime says that it writes its client's wall clock where others read it.
	WritesTime bool
	// StandIn is set if each client needs a process of its own: the lock that stands for
	// this one where all are goroutines of one.
	StandIn string
	// Plain marks the plain lock of a service on its topologies.
	Plain bool
	// OnlyWaits says that it cannot be asked to try: who asks waits.
	OnlyWaits bool
	// Excused are rules of the conformance suite that the lock breaks on purpose, and why.
	Excused map[string]string
	// Like is the lock of which a scenario expects the same, unless it names this one. Without
	// it, and unless the lock is Broken or Wrong, a scenario expects it to be valid.
	Like string
	// Library is set of a stock library.
	Library *Library
	// Wrong is set of a lock that is wrong on purpose. It runs under its name, and no list
	// offers it unasked.
	Wrong *mutants.Wrong
	// New makes the lock for one run. Options that are not given have their default.
	New func(options map[string]string) (locks.Opener, error)
}

// Names are those of the locks, in the order of All.
func Names() []string {
	var names []string
	for _, l := range All() {
		names = append(names, l.Name)
	}
	return names
}

// All returns the locks, controls first.
func All() []Lock {
	all := slices.Concat(someLocks(), redissonLocks(), databaseLocks(), zookeeperLocks(), libraryLocks(), redissonJarLocks(), newLibraries(), npmAndPyPI())
	for i := range all {
		if all[i].Service == "" && all[i].Family != locks.Control {
			all[i].Service = redis.Name
		}
	}
	return all
}

// JoinsEverywhere says whether a lock joins each scenario that it can take part in. Scenarios
// name those locks on Redis that tell something there; of stock libraries and of locks on other
// services they say no more than what to expect.
func (l Lock) JoinsEverywhere() bool {
	return l.Library != nil || l.Service != "" && l.Service != redis.Name
}

func someLocks() []Lock {
	return []Lock{
		{
			Card: locks.Card{
				Name: "no-lock", Family: locks.Control,
				Claims: locks.Claims{Reentrant: true, Shared: true, Several: true, Waits: true}, Model: []string{"mutex"},
			},
			About:      "grants everything to everybody; a run that does not catch it proves nothing",
			Broken:     true,
			Topologies: serverless,
			New:        without("no-lock", func() locks.Opener { return control.OpenNoLock }),
		},
		{
			Card:       locks.Card{Name: "in-process", Family: locks.Control, Claims: locks.Claims{Strict: true}},
			About:      "a mutex in the memory of the harness; must always pass",
			Topologies: serverless,
			InHarness:  true,
			New:        without("in-process", func() locks.Opener { return control.NewTable().Open }),
		},
		{
			Card:       locks.Card{Name: "flock", Family: locks.Control, Claims: locks.Claims{Strict: true}},
			About:      "flock(2) on a file, held by the client's process; must always pass",
			Topologies: serverless,
			StandIn:    "in-process",
			New:        without("flock", func() locks.Opener { return control.OpenFlock }),
		},
		{
			Card:       locks.Card{Name: "setnx-expire", Family: locks.SingleStore, Claims: locks.Claims{Bounded: true}},
			About:      "SETNX, then EXPIRE; a client that dies in between locks for ever",
			Topologies: oneMaster,
			New:        without("setnx-expire", mutants.SetnxExpire),
		},
		{
			Card:       locks.Card{Name: "set-del", Family: locks.SingleStore, Claims: locks.Claims{Bounded: true}},
			About:      "SET NX EX, released by DEL whoever holds; a late holder deletes another's lock",
			Topologies: oneMaster,
			New:        without("set-del", mutants.SetDel),
		},
		{
			Card:       locks.Card{Name: "get-del", Family: locks.SingleStore, Claims: locks.Claims{Bounded: true}},
			About:      "SET NX PX with a token, released by GET and then DEL; late in between, it deletes another's lock",
			Topologies: oneMaster,
			Options:    getDelOptions,
			New:        newGetDel,
		},
		{
			Card:       locks.Card{Name: "getset-time", Family: locks.SingleStore, Claims: locks.Claims{Bounded: true}},
			About:      "SETNX and GETSET of the lease's end by the clients' clocks; breaks when they differ",
			Topologies: oneMaster,
			WritesTime: true,
			New:        without("getset-time", mutants.GetsetTime),
		},
		{
			Card:       locks.Card{Name: "set-nx", Family: locks.SingleStore, Claims: locks.Claims{Bounded: true}},
			About:      "SET NX PX with an owner's token, renewed and released by script; the base line",
			Topologies: anyMaster,
			Plain:      true,
			New:        without("set-nx", setnx.New),
		},
		{
			Card: locks.Card{
				Name: "set-nx-fenced", Family: locks.SingleStore,
				Claims: locks.Claims{Bounded: true, Fenced: true},
			},
			About:      "set-nx whose grants are counted in the same script, so that stale writes can be refused",
			Topologies: anyMaster,
			New:        without("set-nx-fenced", setnx.NewFenced),
		},
		{
			Card:       locks.Card{Name: "redlock", Family: locks.Majority, Claims: locks.Claims{Bounded: true}},
			About:      "SET NX PX on a majority of independent masters, believed for what is left of the ttl",
			Topologies: []locks.Topology{locks.Independent},
			Plain:      true,
			Options:    redlockOptions,
			New:        newRedlock,
		},
	}
}

var (
	serverless = []locks.Topology{locks.None}
	oneMaster  = []locks.Topology{locks.Single, locks.Replicated, redis.Sentinel}
)

// Find returns the lock of a name, also one that is wrong on purpose.
func Find(name string) (Lock, bool) {
	l, ok := byName()[name]
	return l, ok
}

// byName holds all locks. It is made once, because readers of scenarios look up many names.
var byName = sync.OnceValue(func() map[string]Lock {
	locks := map[string]Lock{}
	for _, l := range slices.Concat(All(), Mutants()) {
		locks[l.Name] = l
	}
	return locks
})

// Open makes the opener of a lock by its name and options, for clients that are goroutines
// of one process. An error that is [locks.ErrUnsupported] says that the lock has none.
func Open(name string, options map[string]string) (locks.Opener, error) {
	l, ok := Find(name)
	if !ok {
		return nil, NotFound(name)
	}
	if l.StandIn != "" {
		return nil, needsProcesses{name, l.StandIn}
	}
	return l.New(options)
}

// needsProcesses is why a lock means nothing among goroutines.
type needsProcesses struct{ lock, standIn string }

func (e needsProcesses) Error() string {
	return fmt.Sprintf("%s needs processes, and here clients are goroutines; %s stands for it", e.lock, e.standIn)
}

func (needsProcesses) Is(target error) bool { return target == locks.ErrUnsupported }

// NotFound is the error for a name that Find does not know: what is known, and
// which of it was probably meant.
func NotFound(name string) error {
	var known []string
	for _, l := range All() {
		known = append(known, l.Name)
	}
	return unknown("lock", name, known)
}
