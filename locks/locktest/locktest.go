// Package locktest is one suite that any lock can be put through.
//
// A [Rule] is something that a lock promises. It returns nil, or an error that
// explains the broken promise in words, so that a test and a command line can use
// the same suite. Nothing in here knows of package testing:
//
//	for _, r := range locktest.Run(ctx, locktest.Subject{Card: card, Open: open}) {
//		fmt.Println(r.Rule.Name, r.Err)
//	}
//
// A rule runs only for a lock that claims what the rule is about. What is claimed
// stands in the [Subject]; what a lock answers with locks.ErrUnsupported it did
// not claim. Where something is known to be otherwise on purpose, Subject.Excused
// says so, and why.
//
// No rule asserts a tight time. Where something must happen in the end there is
// [Late], far above what it takes; where something must not happen early, the time is
// the lock's own.
package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockbench/locks"
)

// Late is how much later than it could a thing may happen before it counts as not
// happening.
const Late = 10 * time.Second

// residueLate is the same of what a lock throws away by the way. A busy client may miss
// some of that, and then it ends by itself.
const residueLate = 3 * Late

// ruleLimit bounds one rule, so that a lock that never answers ends as a broken rule.
const ruleLimit = 90 * time.Second

// Subject is the lock under test.
type Subject struct {
	// Open opens the client of a number. Each number is asked for once, and what
	// was opened is closed by the suite.
	Open func(ctx context.Context, client int) (locks.Locker, error)
	// OpenThrough is Open with the client's way to open connections changed by through, so that
	// the suite can reach into them. Nil: rules that need it are left out.
	OpenThrough func(ctx context.Context, client int, through func(Dial) Dial) (locks.Locker, error)
	// Card says what the lock claims and as what it is judged. A tie among the servers of
	// a majority may refuse everybody.
	locks.Card
	// Quiet says that waiters are woken and do not poll.
	Quiet bool
	// Prefix is what the names of all keys begin with.
	Prefix string
	// NoTTL says that the lock keeps no leases and is asked for none. Nor is one whose holds
	// end with a connection.
	NoTTL bool
	// OnlyWaits says that the lock cannot be asked to try: who asks waits, and is never refused.
	// Rules that want a refusal by the way want no grant then, and those about being refused are left out.
	OnlyWaits bool
	// Excused says why rules, by name, are not to be run.
	Excused map[string]string
	// Server lets the suite look behind the lock; nil: rules that need it are left out.
	Server Server
}

// Server is what the suite may ask of the servers themselves.
type Server interface {
	// Commands is how many commands the lock's clients have sent so far.
	Commands(ctx context.Context) (int, error)
	// Keys are all keys on all servers.
	Keys(ctx context.Context) ([]string, error)
	// Forget deletes them.
	Forget(ctx context.Context) error
}

// Rule is one promise.
type Rule struct {
	Name  string
	About string
	run   func(ctx context.Context, b *bench) error
}

// Exclusion says whether two may hold the lock at once if the rule is broken.
func (r Rule) Exclusion() bool {
	return slices.Contains([]string{"exclude", "one-of-1000", "in-turn", "expiry", "stranger"}, r.Name)
}

// Result is how a lock stands to a rule.
type Result struct {
	Rule Rule
	// Err explains the broken rule; nil if it was kept, left out or not decided.
	Err error
	// Undecided is what kept the rule from being decided: an answer that is neither yes
	// nor no, as a machine that is too busy gives.
	Undecided error
	// NA says why the rule was left out.
	NA   string
	Took time.Duration
}

// Rules are all of them, in the order in which they are run.
func Rules() []Rule {
	var all []Rule
	for _, group := range [][]Rule{basicRules, leaseRules, waitRules, reentryRules, featureRules, misuseRules, cancelRules} {
		all = append(all, group...)
	}
	return all
}

// Run puts the lock through all rules. It ends early only with ctx.
func Run(ctx context.Context, s Subject) []Result {
	var results []Result
	clients := 0
	for i, rule := range Rules() {
		if ctx.Err() != nil {
			break
		}
		if why, ok := s.Excused[rule.Name]; ok {
			results = append(results, Result{Rule: rule, NA: why})
			continue
		}
		b := &bench{Subject: s, key: fmt.Sprintf("%s%s-%d", s.Prefix, rule.Name, i), next: &clients}
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
		results = append(results, r)
	}
	return results
}

// Check is Run for who wants one error: that of all rules that were not kept.
func Check(ctx context.Context, s Subject) error {
	var errs []error
	for _, r := range Run(ctx, s) {
		if err := errors.Join(r.Err, r.Undecided); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.Rule.Name, err))
		}
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// notClaimed ends a rule that is not about this lock.
type notClaimed string

func (n notClaimed) Error() string { return string(n) }
