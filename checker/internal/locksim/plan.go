// Package locksim tests the checkers with simulated locks. It simulates correct and incorrect locks in virtual time and
// records what their clients see. The history of a correct lock has no violation, whatever the delays, pauses and deaths. The
// mistake in the history of an incorrect lock is known.
//
// It shares only the format of histories with the checkers. Package proof derives from the definitions what a history
// proves.
//
//	Draw(rng, mistake)   a [Plan]: the lock, what each client does, and the faults
//	Plan.Run()           a [Trace]: the history, and the number of wrong actions of the lock
//	proof.Prove(history) the violations that the clients can prove
//	Shrink(plan, fails)  a smaller plan that also fails
//
// The plan contains all random decisions. Without one of its steps it is still a valid plan for the same lock, so
// plans can be shrunk.
package locksim

import "time"

// Plan determines a simulated history.
type Plan struct {
	Lock    Lock
	Clients []Script
	Faults  []Fault
	Quiet   Quiet
	Lines   int // the history is cut after this number of lines; 0: it is not cut
}

// Lock has the promises of the lock and its mistake.
type Lock struct {
	Model     []string
	Owners    bool          // acquires name an owner
	Enters    bool          // an owner that holds is granted the lock again
	Upgrades  bool          // a reader may also become a writer
	Fenced    bool          // grants carry tokens
	Strict    bool          // a refusal claims that another client holds
	Fair      bool          // waiters are served in their order
	Watched   bool          // the library sends notices of losses
	Queue     bool          // waiters are in a queue of the server; otherwise the library polls
	Until     bool          // grants have the end of the lease
	Renewed   time.Duration // the lease that the library renews; 0: clients request leases
	Drift     time.Duration // how much earlier than requested a client expects the end of a lease
	Linger    time.Duration // how long the server keeps a lease after its end
	OneOwner  bool          // all clients have the same owner name
	Shy       bool          // it sometimes refuses a free lock, and its refusals claim nothing
	NoWaits   bool          // it does not support waiting
	Unlinked  bool          // holds without a lease end with their client
	TokenStep int
	Mistake   Mistake
	// Careless clients work past their leases. Other clients stop in time. Clients of a correct lock in a run
	// without faults stop exactly when the server ends the hold.
	Careless bool
}

// Mistake is the mistake of an incorrect lock.
type Mistake string

// The mistakes. None means that the lock is correct.
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
	Overtakes       Mistake = "serves the last of the queue first"
	Forgets         Mistake = "never serves some of the queue"
	NeverWakes      Mistake = "wakes waiters when a lease would have ended, not at a release"
	LosesAtCrash    Mistake = "loses its data in a crash"
	LibraryLetsGo   Mistake = "the library gives up a lock and tells of it late"
	LooksAtOneKey   Mistake = "looks at the first of several keys only"
	AcceptsOld      Mistake = "the guarded resource accepts old tokens"
)

// Mistakes lists all mistakes.
func Mistakes() []Mistake {
	return []Mistake{
		GrantsBlindly, DeletesAny, ReleasesNothing, ReleasesTwice, RenewsNothing, RenewsAnew, RenewsNot,
		TokenFalls, TokenRepeats, LeaseShort, LeaseLong, HandsOverEarly, RefusesFree, RefusesHeld,
		DeniesHolder, EvictsHolder, InnerReleases, InnerShortens, WriterJoins, ReaderJoins,
		Overtakes, Forgets, NeverWakes, LosesAtCrash, LibraryLetsGo, LooksAtOneKey, AcceptsOld,
	}
}

// Script is the list of steps of one client.
type Script []Step

// Verb is the action of a step.
type Verb uint8

// The verbs.
const (
	Acquire Verb = iota
	Release
	Renew
	Check
	Touch // read the counter and write the value plus one; readers only read
	Alarm // the library reports a loss without a reason
	LetGo // the library releases the session by itself, if that is the mistake of the lock
)

// Step is one action of a client, with the fate of its request.
type Step struct {
	ID    int // the number of an acquire, to which Of of other steps refers
	Do    Verb
	Of    int
	After time.Duration // the time since the previous step
	Aside bool          // the step has its own process, and the script does not wait for it
	Keys  []string
	// Shared and Wait belong to an acquire, and TTL to an acquire or a renewal.
	Shared bool
	TTL    time.Duration
	Wait   time.Duration
	Fenced bool          // touch the resource that checks tokens
	Look   time.Duration // when after the grant a probe queries its remaining lease; 0: no probe
	Seen   time.Duration // when after queueing a probe sees it in the queue; 0: never
	Fate   Fate
}

// Fate determines when and whether a request and its answer arrive.
type Fate struct {
	There, Back         time.Duration
	LoseThere, LoseBack bool
	Patience            time.Duration // how long the client waits for the answer
	Wrong               bool          // the lock makes its mistake here if it can
}

// Fault is a fault of a client or of the servers.
type Fault struct {
	Kind     FaultKind
	Client   int // 0: all clients, for a cut
	From, To time.Duration
	Lag      time.Duration // between the fault and its event
}

// FaultKind is a kind of simulated faults.
type FaultKind uint8

// The kinds of faults.
const (
	Pause FaultKind = iota
	Cut
	Crash
	Death
)

// Quiet is the recovery period, in which there are no faults. If Ends is 0, there is no recovery period.
type Quiet struct{ Begins, Ends time.Duration }
