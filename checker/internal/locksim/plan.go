// Package locksim simulates locks in virtual time, right ones and wrong ones, and
// writes down what their clients saw. It is a second judge of the checkers: a
// history of a right lock is clean whatever the network, the pauses and the deaths
// made of it, and a history of a wrong lock has a mistake in it that is known.
//
// It shares the format of histories with the checkers and nothing else. What a
// history proves is said once more in package proof, straight from the definitions.
//
//	Draw(rng, mistake)   a [Plan]: the lock, what each client does, and the faults
//	Plan.Run()           a [Trace]: the history, and how often the lock did wrong
//	proof.Prove(history) what the clients can prove of it
//	Shrink(plan, fails)  a smaller plan that fails as well
//
// All chance is in the plan. A plan without one of its steps is a plan, and what it
// gives is again a history of a right lock if the first one was: so it can be made small.
package locksim

import "time"

// Plan is all that a simulated history depends on.
type Plan struct {
	Lock    Lock
	Clients []Script
	Faults  []Fault
	Quiet   Quiet
	Lines   int // the history is cut after that many; 0: it is whole
}

// Lock says what the lock promises, and which mistake it makes.
type Lock struct {
	Model     []string
	Permits   int
	Owners    bool          // acquires name an owner
	Enters    bool          // an owner that holds is granted again
	Upgrades  bool          // also a reader that asks to write
	Fenced    bool          // grants carry tokens
	Strict    bool          // a refused try claims that another client held
	Fair      bool          // waiters are served in their order
	Watched   bool          // the library tells of losses
	Queue     bool          // waiters stand in a queue of the server; else the library asks again and again
	Until     bool          // grants say until when
	Renewed   time.Duration // the lease that the library keeps renewing; 0: leases are asked for
	Drift     time.Duration // for how much earlier than asked a client takes a lease to end
	Linger    time.Duration // for how long a lease is kept past its end
	OneOwner  bool          // all clients ask under the same name
	Shy       bool          // it refuses now and then though free, and claims nothing by it
	NoWaits   bool          // it cannot wait, and says so
	Unlinked  bool          // a client that dies gives up what it holds without a lease
	TokenStep int
	Mistake   Mistake
	// Careless clients work past their leases. Others stop in time, and those of a
	// right lock in a clean run stop by the truth.
	Careless bool
}

// Mistake is what a wrong lock does.
type Mistake string

// The mistakes. None is a right lock.
const (
	None            Mistake = ""
	GrantsBlindly   Mistake = "grants without looking"
	DeletesAny      Mistake = "deletes whatever is there"
	ReleasesNothing Mistake = "releases with ok what is not held"
	ReleasesTwice   Mistake = "releases with ok twice"
	RenewsNothing   Mistake = "renews with ok what is not held"
	RenewsAnew      Mistake = "renews what is over, and takes it from the next holder"
	RenewsNot       Mistake = "renews with ok and does not move the lease"
	TokenFalls      Mistake = "gives a token below an earlier one"
	TokenRepeats    Mistake = "gives a token twice"
	LeaseShort      Mistake = "keeps a lease for less than was asked"
	LeaseLong       Mistake = "keeps a lease for much longer than was asked"
	HandsOverEarly  Mistake = "gives up the lease of a client that died"
	RefusesFree     Mistake = "refuses though free"
	RefusesHeld     Mistake = "refuses and keeps what it refused"
	DeniesHolder    Mistake = "answers not-held to the holder"
	EvictsHolder    Mistake = "forgets the holder when the holder asks"
	InnerReleases   Mistake = "gives back all of an owner with an inner release"
	InnerShortens   Mistake = "gives all of an owner the lease of its inner session"
	WriterJoins     Mistake = "lets a writer in while readers hold"
	ReaderJoins     Mistake = "lets a reader in while a writer holds"
	PermitMore      Mistake = "gives a permit too many"
	Overtakes       Mistake = "serves the last of the queue first"
	Forgets         Mistake = "never serves some of the queue"
	NeverWakes      Mistake = "wakes waiters when a lease would have ended, not at a release"
	LosesAtCrash    Mistake = "loses its data in a crash"
	LibraryLetsGo   Mistake = "the library gives up a lock and tells of it late"
	LooksAtOneKey   Mistake = "looks at the first of several keys only"
	AcceptsOld      Mistake = "the guarded resource accepts old tokens"
)

// Mistakes lists them all.
func Mistakes() []Mistake {
	return []Mistake{
		GrantsBlindly, DeletesAny, ReleasesNothing, ReleasesTwice, RenewsNothing, RenewsAnew, RenewsNot,
		TokenFalls, TokenRepeats, LeaseShort, LeaseLong, HandsOverEarly, RefusesFree, RefusesHeld,
		DeniesHolder, EvictsHolder, InnerReleases, InnerShortens, WriterJoins, ReaderJoins, PermitMore,
		Overtakes, Forgets, NeverWakes, LosesAtCrash, LibraryLetsGo, LooksAtOneKey, AcceptsOld,
	}
}

// Script is what one client does, one step after the other.
type Script []Step

// Verb is what a step does.
type Verb uint8

// The verbs.
const (
	Acquire Verb = iota
	Release
	Renew
	Check
	Touch // read the counter and write one more; readers only read
	Alarm // the library says that the session is lost, though it knows nothing
	LetGo // the library gives up the session by itself, if that is the lock's mistake
)

// Step is one thing that a client does, and how the network treats it.
type Step struct {
	ID    int // of an acquire; others name it in Of
	Do    Verb
	Of    int
	After time.Duration // since the step before
	Aside bool          // under a process of its own; the script does not wait for it
	Keys  []string
	// Shared, Permits, TTL and Wait are those of the acquire; TTL also of a renewal.
	Shared  bool
	Permits int
	TTL     time.Duration
	Wait    time.Duration
	Fenced  bool          // a touch of the resource that looks at tokens
	Look    time.Duration // after the grant a probe asks the server how long it keeps it; 0: no probe
	Seen    time.Duration // after it is queued it is seen there; 0: not
	Fate    Fate
}

// Fate is what becomes of a request.
type Fate struct {
	There, Back         time.Duration
	LoseThere, LoseBack bool
	Patience            time.Duration // for how long the client waits for the answer
	Wrong               bool          // here the lock makes its mistake, if it can
}

// Fault is something that befalls a client or the servers.
type Fault struct {
	Kind     FaultKind
	Client   int // 0: all, for a cut
	From, To time.Duration
	Lag      time.Duration // between the fault and its event
}

// FaultKind is one of those that are simulated.
type FaultKind uint8

// The kinds of faults.
const (
	Pause FaultKind = iota
	Cut
	Crash
	Death
)

// Quiet is a stretch in which nothing is struck. It is over at Ends; no stretch if that is 0.
type Quiet struct{ Begins, Ends time.Duration }
