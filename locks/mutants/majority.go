package mutants

import (
	"context"
	"maps"
	"time"

	"lockbench/locks"
	"lockbench/locks/redlock"
)

// majorityLocks are the mutants on several masters: redlock with one wrong step.
func majorityLocks() []Mutant {
	on := func(name, mistake string, w Wrong, o redlock.Options) Mutant {
		w.Original = "redlock"
		return Mutant{
			Card:    locks.Card{Name: name, Family: locks.Majority, Claims: locks.Claims{Bounded: true}},
			Mistake: mistake, Topologies: independent, Wrong: w, Open: redlock.New(o),
		}
	}
	ofThree := on("majority-of-three", "asks three masters out of five, and each client others",
		Wrong{Bug: "W-19", Scenario: "steady", Class: "double-grant"}, redlock.Options{})
	ofThree.Open = onThree
	ofAll := on("majority-of-all", "gives up if one master does not answer, and leaves what it took",
		Wrong{Bug: "W-29", Known: "redlock-py 1.0.8, whose lock() raises", Scenario: "dead-minority", Class: "unavailable"}, redlock.Options{})
	ofAll.Open = refused(redlock.New(wantsAll()))
	return []Mutant{
		on("majority-of-two", "takes two masters of five for a majority",
			Wrong{Bug: "W-16", Scenario: "steady", Class: "double-grant"},
			redlock.Options{Quorum: func(n, _ int) int { return n / 2 }}),
		on("majority-of-answers", "takes the majority of those that answered for one of all",
			Wrong{Bug: "W-17", Scenario: "partition-master", Class: "double-grant"},
			redlock.Options{Quorum: func(_, answered int) int { return answered/2 + 1 }}),
		on("majority-no-clean-up", "leaves what a failed try has taken to its lease",
			Wrong{Bug: "W-18", Scenario: "steady", Class: "no-progress"},
			skipping(func(op redlock.Op, _ int) bool { return op == redlock.CleanUp })),
		on("majority-first-freed", "releases the lock on the first master alone",
			Wrong{Bug: "R-27", Known: "Redisson's MultiLock, by reading", Scenario: "lost-answer", Class: "no-progress"},
			skipping(func(op redlock.Op, i int) bool { return op == redlock.Free && i > 0 })),
		on("majority-no-validity", "ignores how long the granting took, and counts the whole lease from then on",
			Wrong{Bug: "C-16", Known: "node-redlock #274, #276; Redisson's RedLock (R-31)", Scenario: "slow-grant", Class: "double-grant"},
			redlock.Options{NoValidity: true, NodeTimeout: 10 * time.Second}),
		on("majority-sent-again", "sends again what a master did not answer, and believes the second answer",
			Wrong{Bug: "C-17", Known: "go-redis by default, below any majority lock", Scenario: "lost-answer", Class: "evicted"},
			redlock.Options{Ask: func(ctx context.Context, _ redlock.Op, _ int, step func() (bool, error)) (did bool, err error) {
				for range 3 { // as a client library does by default
					if did, err = step(); err == nil || ctx.Err() != nil {
						return did, err
					}
				}
				return did, err
			}}),
		ofThree,
		ofAll,
	}
}

// refused opens the lock, and reports an acquire without a result as a refusal.
func refused(open locks.Opener) locks.Opener {
	return around(open, func(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
		lease, err := l.Acquire(ctx, r)
		if err != nil && ctx.Err() == nil {
			return nil, locks.ErrTaken
		}
		return lease, err
	})
}

// wantsAll is redlock that wants an answer of every master. It does not release what it took on the others.
func wantsAll() redlock.Options {
	o := skipping(func(op redlock.Op, _ int) bool { return op == redlock.CleanUp })
	o.Quorum = func(n, answered int) int {
		if answered < n {
			return n + 1
		}
		return n/2 + 1
	}
	return o
}

// skipping is redlock that leaves out some steps and counts them as done.
func skipping(skips func(op redlock.Op, i int) bool) redlock.Options {
	return redlock.Options{Ask: func(_ context.Context, op redlock.Op, i int, step func() (bool, error)) (bool, error) {
		if skips(op, i) {
			return true, nil
		}
		return step()
	}}
}

// onThree opens redlock on three of the masters, for each client on others.
func onThree(ctx context.Context, c locks.Client) (locks.Locker, error) {
	all, some := c.Store.Nodes(), []locks.Node(nil)
	for i := range min(3, len(all)) {
		some = append(some, all[(c.ID+2*i)%len(all)])
	}
	c.Store.Endpoints = maps.Clone(c.Store.Endpoints)
	c.Store.Endpoints[c.Store.Service] = some
	return redlock.New(redlock.Options{})(ctx, c)
}
