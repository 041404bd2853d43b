package bench

import (
	"fmt"
	"time"

	"lockbench/checker"
)

// Case is a kind of history with many events of one kind. The cost to judge it must grow like sorting.
type Case struct {
	name    string
	what    string
	verdict checker.Verdict // the expected verdict
	make    func(s *script, n int)
}

// history generates the lines of about n events. Cases with few events use n for another size.
func (c Case) history(n int) ([]byte, error) {
	var s script
	c.make(&s, n)
	return s.lines()
}

const (
	clients = 30
	// crowdMax is how many clients wait in the queue of a lock at once, and how often an owner enters.
	// A run has some 16 clients.
	crowdMax = 100
	ttl      = 5 * time.Second
	hour     = time.Hour
)

func id(i int) string { return fmt.Sprint("s", i) }

// cases has all cases.
func cases() []Case {
	return []Case{
		{name: "run", what: "a good run of many keys, with many recovery periods", make: goodRun},
		{name: "one-key", what: "one key and one recovery period, in which all clients wait", make: oneKey},
		{name: "stretches", what: "many recovery periods, in which servers are asked for the lease", make: stretches},
		{name: "renewals", what: "one session, many renewals", make: renewals},
		{name: "checks", what: "one session, many failed checks", make: failedChecks},
		{name: "asked", what: "one session, many checks, and as many questions to a server for its lease", make: asked},
		{name: "refusals", what: "one session, many refused renewals and releases", make: refusedRenewals},
		{name: "sleepers", what: "as many holders at once that sleep past their leases", verdict: checker.Violated, make: sleepers},
		{name: "holders", what: "as many holders at once where one may hold, all of which write", verdict: checker.Violated, make: holders},
		{name: "undone", what: "writers under a holder that writes first and holds to the end", verdict: checker.Violated, make: undone},
		{name: "waiters", what: "as many waiters at once", make: waiters},
		{name: "queued", what: "a hundred at once in a fair queue, each seen there", make: queued},
		{name: "undetermined", what: "waiters that do not say until when their leases run, as many at once", verdict: checker.Unknown, make: undetermined},
		{name: "keys", what: "one acquire of very many keys", make: manyKeys},
		{name: "locks", what: "very many keys without leases, each held once", make: manyLocks},
		{name: "nested", what: "an owner with sessions nested a hundred deep, all of one token", make: nested},
		{name: "expired", what: "an owner whose lease runs out each time before it releases", make: expired},
		{name: "pauses", what: "many pauses of clients whose libraries renew, all planned", make: pauses},
		{name: "deaths", what: "many deaths of readers whose leases run on", make: deaths},
		{name: "readers", what: "readers that come and go, and writers that are refused strictly", make: readers},
		{name: "crowd", what: "as many readers at once, and writers that are refused strictly", make: crowd},
		{name: "doubted", what: "readers whose grants and releases are unknown, and writers that are refused strictly", make: doubted},
		{name: "unknown", what: "strict refusals during acquires of unknown outcome", make: unknownAcquires},
		{name: "writes", what: "writes of unknown outcome that were applied", make: unknownWrites},
		{name: "looks", what: "many looks at what one lock guarded", make: looks},
		{name: "counted", what: "many clients whose commands are counted", make: counted},
		{name: "left", what: "much that servers keep and that ends by itself", make: left},
	}
}
