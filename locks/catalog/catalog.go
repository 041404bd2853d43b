// Package catalog is the list of the locks that lockbench knows by name. It is a
// package of its own because every lock imports the contract in package locks.
//
// To add a lock, write its package and add an entry to [All].
package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"lockbench/internal/service/mariadb"
	"lockbench/internal/service/operator"
	"lockbench/internal/service/postgres"
	"lockbench/internal/service/redis"
	"lockbench/internal/service/zookeeper"
	"lockbench/locks"
	"lockbench/locks/mutants"
)

// Lock is an entry of the catalog. All fills in what follows from the rest of an entry.
type Lock struct {
	locks.Card
	About string // one line
	// Group is the heading under which tables show the lock, if it is not that of its family.
	Group      string
	Service    string           // the lock service that it uses; empty: it needs none
	Topologies []locks.Topology // of the service on which it runs; by default those of its service
	// InHarness means that all clients must be opened from one Opener, in the
	// process of the harness.
	InHarness bool
	// Broken means that it is wrong by design: every scenario expects it to be violated, and a
	// run that does not find it shows nothing.
	Broken bool
	// Woken means that a release wakes waiters, which send nothing until then.
	Woken bool
	// Messaged means that a release wakes waiters, which may also ask by themselves.
	Messaged bool
	// Queues means that its servers keep a queue of waiters.
	Queues bool
	// Confirms means that a grant waits until replicas have confirmed it.
	Confirms bool
	// WritesTime means that it writes its client's wall clock where other clients read it.
	WritesTime bool
	// StandIn is set if each client needs a process of its own: the lock that replaces
	// this one where all clients are goroutines of one process.
	StandIn string
	// Plain marks the plain lock of a service on its topologies.
	Plain bool
	// OnlyWaits means that it cannot try once: each acquire waits.
	OnlyWaits bool
	// Wait is how long an acquire waits where the scenario gives no wait, for a lock that OnlyWaits. Zero: the scenario
	// or the user must give one.
	Wait time.Duration
	// Excused are the rules of the conformance suite that the lock breaks by design, and why.
	Excused map[string]string
	// Like is the lock whose expectations apply to this one in scenarios that do not name it. Without
	// it, and unless the lock is Broken or Wrong, a scenario expects it to be valid.
	Like string
	// Library is set for a stock library.
	Library *Library
	// Port is the Go port of the library's lock, which runs where the library cannot.
	Port string
	// Wrong is set for a mutant. It runs under its name, and lists leave it out unless they are
	// asked for mutants.
	Wrong *mutants.Wrong
	// options are the lock's own. The options of every lock (ttl, hold, ...) belong to the run.
	options []Option
	// open makes the lock for one run; nil if another program opens it.
	open func(values) locks.Opener
	// check, if set, compares the values of options with each other.
	check func(lock string, v values) error
}

// Options returns the lock's own options in alphabetical order.
func (l Lock) Options() []Option {
	return slices.SortedFunc(slices.Values(l.options), func(a, b Option) int { return strings.Compare(a.Name, b.Name) })
}

// CannotTry reports whether the lock cannot try once with some options: each acquire waits.
func (l Lock) CannotTry(given map[string]string) bool {
	return l.OnlyWaits || slices.ContainsFunc(l.options, func(o Option) bool {
		return slices.Contains(o.onlyWaits, cmp.Or(given[o.Name], o.Default))
	})
}

// Lease returns the length of the lease of requests without a ttl, by the option for it, or 0 if the lock has no such option.
func (l Lock) Lease(given map[string]string) time.Duration {
	for _, o := range l.options {
		if o.isLease {
			return values{o.Name: cmp.Or(given[o.Name], o.Default)}.duration(o.Name)
		}
	}
	return 0
}

// Calls returns the values of the option call: the calls of the library by which a client acquires the lock.
func (l Lock) Calls() []string {
	for _, o := range l.options {
		if o.Name == "call" {
			return o.words
		}
	}
	return nil
}

// LeaseOption returns the name of the option for the lease of requests without a ttl, or "".
func (l Lock) LeaseOption() string {
	for _, o := range l.options {
		if o.isLease {
			return o.Name
		}
	}
	return ""
}

// Conform returns the options with which the conformance suite opens the lock.
func (l Lock) Conform() map[string]string {
	set := map[string]string{}
	for _, o := range l.options {
		if o.conform != "" {
			set[o.Name] = o.conform
		}
	}
	return set
}

// New makes the lock for one run. Options that are not given have their default. An error that is
// [locks.ErrUnsupported] means that the options are right and another program opens the lock.
func (l Lock) New(given map[string]string) (locks.Opener, error) {
	v := values{}
	maps.Copy(v, given)
	var known []string
	for _, o := range l.Options() {
		known = append(known, o.Name)
		text, ok := v[o.Name]
		switch {
		case !ok:
			v[o.Name] = o.Default
		case text != o.Default && !o.takes(text):
			return nil, fmt.Errorf("option %s of %s: %q is not %s", o.Name, l.Name, text, o.want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%s has no option %q; %s", l.Name, name, DidYouMean(name, known))
		}
	}
	if l.check != nil {
		if err := l.check(l.Name, v); err != nil {
			return nil, err
		}
	}
	if l.open == nil {
		if l.Library.Real {
			about := l.Name + " is a program, whose time cannot be simulated; use --world local or docker"
			if l.Port != "" {
				about += ", or its Go port " + l.Port
			}
			return nil, unsupported(about)
		}
		return nil, unsupported(l.Name + " is a stock library, which " + LibraryProgram + " serves and not this process")
	}
	return l.open(v), nil
}

// Names returns the names of the locks in the order of All.
func Names() []string {
	var names []string
	for _, l := range All() {
		names = append(names, l.Name)
	}
	return names
}

// All returns the locks, controls first.
func All() []Lock {
	all := slices.Concat(controlLocks(), redisLocks(), redissonPorts(), databaseLocks(), zookeeperLocks(),
		goLibraries(), redissonLibraryLocks(), javaLibraries(), rustLibraries(), npmLibraries(), pypiLibraries())
	for i := range all {
		all[i].fill(all[:i])
	}
	return all
}

// fill fills in what follows from the rest of an entry, and from the entries before it.
func (l *Lock) fill(before []Lock) {
	if l.Service == "" && !l.Control() {
		l.Service = redis.Name
	}
	database := l.Service == postgres.Name || l.Service == mariadb.Name
	if l.Topologies == nil {
		like := slices.IndexFunc(before, func(other Lock) bool { return other.Name == l.Like && other.Service == l.Service })
		switch {
		case like >= 0:
			l.Topologies = before[like].Topologies
		case database:
			l.Topologies = []locks.Topology{locks.Single, locks.Replicated, operator.Managed}
		case l.Service == zookeeper.Name:
			l.Topologies = []locks.Topology{locks.Single, zookeeper.Quorum}
		default:
			l.Topologies = anyMaster
		}
	}
	if l.Family == "" {
		l.Family = locks.SingleStore
		if l.Topologies[0] == locks.Independent {
			l.Family = locks.Majority
		}
	}
	if database {
		l.Group = "In databases"
		*l = l.excused("each client has a connection of its own, and a database takes 300", "one-of-1000")
	}
	if l.Library != nil && l.Library.Guests != nil {
		l.Library.Real = true
	}
}

// messaged marks a lock whose releases wake waiters, which may also ask by themselves.
func (l Lock) messaged() Lock {
	l.Messaged = true
	return l
}

// excused returns the lock, excused from rules of the conformance suite.
func (l Lock) excused(why string, rules ...string) Lock {
	excused := maps.Clone(l.Excused)
	if excused == nil {
		excused = map[string]string{}
	}
	for _, rule := range rules {
		excused[rule] = why
	}
	l.Excused = excused
	return l
}

// JoinsEverywhere reports whether a lock joins each scenario that it can take part in. Scenarios
// list the locks on Redis that show something there. Stock libraries and locks on other
// services are not listed, and a scenario holds only their expectations.
func (l Lock) JoinsEverywhere() bool {
	return l.Library != nil || l.Service != "" && l.Service != redis.Name
}

// Find returns the lock with a name, also a mutant.
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
// of one process. An error that is [locks.ErrUnsupported] means that the lock has no such opener.
func Open(name string, options map[string]string) (locks.Opener, error) {
	l, ok := Find(name)
	if !ok {
		return nil, NotFound(name)
	}
	if l.StandIn != "" {
		return nil, unsupported(name + " needs processes, and here clients are goroutines; " + l.StandIn + " stands for it")
	}
	return l.New(options)
}

// unsupported is the reason why this process cannot open a lock.
type unsupported string

func (e unsupported) Error() string { return string(e) }

func (unsupported) Is(target error) bool { return target == locks.ErrUnsupported }

// NotFound is the error for a name that Find does not know, with the known names and the nearest one.
func NotFound(name string) error {
	return fmt.Errorf("no lock is named %q; %s", name, DidYouMean(name, Names()))
}
