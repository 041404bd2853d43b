// Package locktest is a conformance suite for locks.
//
// A [Rule] checks a promise of the contract in package locks. It returns nil, or an error that
// explains the broken promise, so that tests and the command line can use
// the same suite. The package does not depend on package testing:
//
//	for _, r := range locktest.Run(ctx, locktest.Subject{Card: card, Open: open}) {
//		fmt.Println(r.Rule.Name, r.Err)
//	}
//
// A rule runs only for a lock that claims the capability that the rule is about. The [Subject]
// has the claims; a lock that answers locks.ErrUnsupported does not claim the capability.
// Subject.Excused has the rules that a lock breaks by design, and why.
//
// No rule asserts a tight time. What must happen eventually has [Late], far more than it
// needs. What must not happen early has a time of the lock itself.
package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockbench/locks"
)

// Late is how long a rule waits for an event.
const Late = 10 * time.Second

// residueLate is Late for what a lock deletes in the background. A busy client may miss
// some of it, which then expires.
const residueLate = 3 * Late

// ruleLimit bounds one rule, so that a lock that never answers ends as a broken rule.
const ruleLimit = 90 * time.Second

// Subject is the lock under test.
type Subject struct {
	// Open opens the client with a number. The suite uses each number once, and closes the client.
	Open func(ctx context.Context, client int) (locks.Locker, error)
	// OpenThrough is Open with the client's way to open connections changed by through, so that
	// the suite can reach into them. Nil: rules that need it are left out.
	OpenThrough func(ctx context.Context, client int, through func(Dial) Dial) (locks.Locker, error)
	// Card has the claims of the lock. A lock on a majority may refuse all clients when they tie.
	locks.Card
	// Quiet means that waiters are woken and do not poll.
	Quiet bool
	// Prefix begins the names of all keys.
	Prefix string
	// NoTTL means that the lock has no leases, so requests have no ttl. Locks whose holds
	// end with a connection get none either.
	NoTTL bool
	// OnlyWaits means that the lock cannot try once: each acquire waits, and is never refused.
	// Rules that need a refusal check that there is no grant, and rules about refusals are left out.
	OnlyWaits bool
	// Excused has the rules that are not run, by name, and why.
	Excused map[string]string
	// Server gives access to the servers; nil: rules that need it are left out.
	Server Server
	// Decided receives each result as soon as its rule ends. It may be nil.
	Decided func(Result)
}

// Server gives the suite access to the servers, not through the lock.
type Server interface {
	// Commands returns how many commands the lock's clients have sent so far.
	Commands(ctx context.Context) (int, error)
	// Keys returns all keys on all servers.
	Keys(ctx context.Context) ([]string, error)
	// Forget deletes all keys.
	Forget(ctx context.Context) error
}

// Rule is one promise.
type Rule struct {
	Name  string
	About string
	run   func(ctx context.Context, b *bench) error
}

// Exclusion reports whether two clients may hold the lock at once if the rule is broken.
func (r Rule) Exclusion() bool {
	return slices.Contains([]string{"exclude", "one-of-1000", "in-turn", "expiry", "stranger"}, r.Name)
}

// Result is the result of a rule for a lock.
type Result struct {
	Rule Rule
	// Err explains the broken rule. It is nil if the rule was kept, left out or undecided.
	Err error
	// Undecided explains why the rule could not be decided: an indefinite answer, which a busy machine can cause.
	Undecided error
	// NA is the reason why the rule was left out.
	NA   string
	Took time.Duration
}

// Rules returns all rules in the order in which they run.
func Rules() []Rule {
	var all []Rule
	for _, group := range [][]Rule{basicRules, leaseRules, waitRules, reentryRules, featureRules, misuseRules, cancelRules} {
		all = append(all, group...)
	}
	return all
}

// Run checks all rules. It ends early only with ctx.
func Run(ctx context.Context, s Subject) []Result {
	var results []Result
	clients := 0
	for i, rule := range Rules() {
		if ctx.Err() != nil {
			break
		}
		r := Result{Rule: rule, NA: s.Excused[rule.Name]}
		if _, excused := s.Excused[rule.Name]; !excused {
			b := &bench{Subject: s, key: fmt.Sprintf("%s%s-%d", s.Prefix, rule.Name, i), next: &clients}
			r = b.result(ctx, rule)
		}
		results = append(results, r)
		if s.Decided != nil {
			s.Decided(r)
		}
	}
	return results
}

// result runs a rule.
func (b *bench) result(ctx context.Context, rule Rule) Result {
	start := time.Now()
	err := b.do(ctx, rule)
	r := Result{Rule: rule, Err: err, Took: time.Since(start)}
	var na notClaimed
	switch {
	case errors.As(err, &na):
		r.Err, r.NA = nil, string(na)
	case doubtOnly(err):
		r.Err, r.Undecided = nil, err
	}
	return r
}

// Check is Run with one error for all rules that were not kept.
func Check(ctx context.Context, s Subject) error {
	var errs []error
	for _, r := range Run(ctx, s) {
		if err := errors.Join(r.Err, r.Undecided); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.Rule.Name, err))
		}
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// notClaimed ends a rule about a capability that the lock does not claim.
type notClaimed string

func (n notClaimed) Error() string { return string(n) }
