package checker

import "slices"

// Check is one check of a history.
type Check struct {
	Name  string
	About string // one line for `lockbench list checkers` and docs/verdicts.md
	// judge is a pure function of the ledger and of said, the results of the earlier checks in the
	// table. It returns findings and evidence as positions, which [Judge] converts to indexes.
	judge func(l *ledger, said Report) Result
}

// The names of the checks.
const (
	Exclusion    = "exclusion"
	Results      = "results"
	Resource     = "resource"
	Fencing      = "fencing"
	Liveness     = "liveness"
	Fairness     = "fairness"
	Lease        = "lease"
	Rate         = "rate"
	Linearizable = "linearizable"
	Harness      = "harness"
)

// Checks returns all checks in the order in which they run and are reported. A new check needs
// its own file, a line here, and a line for each of its rules below.
func Checks() []Check {
	return []Check{
		{Exclusion, "no client is granted a lock while another one works under it", exclusion},
		{Results, "every answer of the lock is true: released, renewed, not held, taken", results},
		{Resource, "no update of the guarded counters is lost, and no stale write reaches them", resource},
		{Fencing, "fencing tokens grow with every grant", fencing},
		{Liveness, "a client that asks for a lock that no client can hold is granted it, when all faults are healed or the servers can grant it", liveness},
		{Fairness, "a lock that claims to be fair serves clients in the order of its queue", fairness},
		{Lease, "servers keep grants for as long as clients asked, and hand them to no other client before", lease},
		{Rate, "clients that wait do not flood the servers with commands", rate},
		{Linearizable, "a second opinion: porcupine finds an order of operations that explains every answer", linearizable},
		{Harness, "the run did what it promised: enough grants, every fault took effect and healed, and the point of the scenario happened", harness},
	}
}

// Rule is one kind of finding.
type Rule struct {
	Name    string
	Check   string  // the check that finds it
	Classes []Class // the classes that its findings can have; none if there is no class
	// Exclusion means that findings of the rule show two clients that held at once. Several such
	// findings count as one broken promise.
	Exclusion bool
	About     string
}

// Rules returns all rules, in the order of their checks.
func Rules() []Rule {
	held := []Class{DoubleGrant, Overstay, Undetermined}
	return []Rule{
		{"two-holders", Exclusion, held, true, "A client was granted the lock while another client worked under it."},
		{"reader-and-writer", Exclusion, held, true, "A reader and a writer of different owners worked at the same time."},

		{ruleEvicted, Results, nil, false, "The lock answered \"not held\" to a client within its lease and before its release. Or it answered so to a release, and a later answer shows that the client did hold, or another client was granted the lock during that release, within the lease."},
		{"released-without-holding", Results, nil, false, "A release or a renewal was answered with ok, though its session cannot have held without a break until then."},
		{"released-twice", Results, nil, false, "Two releases of one session were answered with ok."},
		{ruleGrantedDead, Results, nil, false, "A grant came when its lease had been over for 500 ms or more: by the end that the library reported, unless a fault stopped the client or changed its clock; or by the ttl of a single attempt, if no fault concerned the client."},
		{"refused-though-free", Results, nil, false, "A client was refused because the lock was held, and no client can have held it."},

		{"lost-update", Resource, []Class{StaleWrite}, true, "A write undid another one: the guarded counter did not grow. It is a stale write if the writer had been replaced by a later holder, and has no class otherwise."},
		{"stale-write", Resource, []Class{StaleWrite}, true, "A write reached the resource after a write of a client that was granted the lock later, or had a higher token."},

		{"token-fell", Fencing, nil, false, "A grant had a lower fencing token than an earlier grant of the same lock. A grant whose answer came when its own lease may have ended counts as earlier than a grant of a client that held alone from before this answer until after it. A later release or renewal with ok, within the lease, must prove that."},
		{"token-repeated", Fencing, nil, false, "Two grants of one lock had the same fencing token."},

		{"no-progress", Liveness, nil, false, "After all faults were healed no client could hold the lock, but at least 5 attempts over at least 1 s were refused and none was granted."},
		{ruleUnavailable, Liveness, nil, false, "No client was granted a lock for longer than its lease and 3 s more, although at least 5 attempts of clients that no fault concerned were refused, no client could hold it by a grant, and the servers could grant it: no fault concerned them, or those that a fault concerned left a majority of the independent masters."},
		{"lost-wake-up", Liveness, nil, false, "A client went on waiting for at least 1 s, and most of a lease, for a lock that no client can have held."},
		{"residue", Liveness, nil, false, "When every client was gone, the servers still kept state of the lock for longer than any lease."},

		{"overtaken", Fairness, nil, false, "A client was seen in the queue of a fair lock, and a client that asked after that was served first."},

		{"lease-short", Lease, nil, false, "A server keeps a grant for less time than its client counts on."},
		{"lease-long", Lease, nil, false, "A server keeps a grant for longer than any client asked for."},
		{"handed-over-early", Lease, nil, false, "The lock of a dead client was granted to another client before the lease of the dead client can have ended."},

		{"flood", Rate, nil, false, "A client sent more than 300 commands a second and more than 200 for each operation."},

		{"not-linearizable", Linearizable, nil, true, "No order of the operations explains every answer."},
	}
}

// ruleNamed returns the rule with a name.
func ruleNamed(name string) (Rule, bool) {
	all := Rules()
	i := slices.IndexFunc(all, func(r Rule) bool { return r.Name == name })
	if i < 0 {
		return Rule{}, false
	}
	return all[i], true
}
