package mutants

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks"
	"lockbench/locks/goredis"
	"lockbench/locks/internal/plain"
)

// majority is a lock on several masters, as package redlock has it, made of rules. A wrong lock
// changes one of them.
type majority struct {
	// enough says whether so many grants, out of so many answers of n masters, are a majority.
	enough func(grants, answers, n int) bool
	// end is until when the holder believes in a lease for which was asked at start.
	end func(start time.Time, ttl time.Duration) time.Time
	// unlooked says that a grant counts however long it took.
	unlooked bool
	// masters are those that are asked.
	masters func(all []*redis.Client) []*redis.Client
	// claim and disown are done on one master.
	claim  func(ctx context.Context, c *redis.Client, key, token string, ttl time.Duration) (bool, error)
	disown func(ctx context.Context, c *redis.Client, key, token string) (bool, error)
	// freed are the masters that a release asks.
	freed func(all []*redis.Client) []*redis.Client
	// cleanUp gives back what a failed try has taken.
	cleanUp bool
	limit   time.Duration // for one master's answer; 0: 100 ms
}

// rightMajority is without a mistake.
func rightMajority() majority {
	everywhere := func(all []*redis.Client) []*redis.Client { return all }
	return majority{
		enough: func(grants, _, n int) bool { return grants > n/2 },
		end: func(start time.Time, ttl time.Duration) time.Time {
			return start.Add(ttl - ttl/100 - 2*time.Millisecond)
		},
		masters: everywhere,
		claim: func(ctx context.Context, c *redis.Client, key, token string, ttl time.Duration) (bool, error) {
			return goredis.Claim(ctx, c, key, token, ttl)
		},
		disown: func(ctx context.Context, c *redis.Client, key, token string) (bool, error) {
			return goredis.Disown(ctx, c, key, token)
		},
		freed: everywhere, cleanUp: true,
	}
}

type majorityClient struct {
	majority
	nodes  []*redis.Client
	tokens *plain.Tokens
}

func openMajority(change func(*majority)) func() locks.Opener {
	return func() locks.Opener {
		return func(_ context.Context, c locks.Client) (locks.Locker, error) {
			if c.Store.Topology != locks.Independent {
				return nil, fmt.Errorf("%w: topology %q; a majority needs independent masters", locks.ErrUnsupported, c.Store.Topology)
			}
			m := &majorityClient{majority: rightMajority(), tokens: plain.NewTokens(c)}
			change(&m.majority)
			for _, n := range c.Store.Nodes() {
				m.nodes = append(m.nodes, goredis.ConnectNode(c.Store, n))
			}
			return m, nil
		}
	}
}

// said is what the masters answered.
type said struct {
	yes, answers int
	errs         []error
}

// ask takes one step on masters at once.
func (m *majorityClient) ask(ctx context.Context, nodes []*redis.Client, step func(context.Context, *redis.Client) (bool, error)) said {
	limit := m.limit
	if limit == 0 {
		limit = 100 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	yes, errs := make([]bool, len(nodes)), make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { yes[i], errs[i] = step(ctx, n) })
	}
	wg.Wait()
	var s said
	for i := range nodes {
		switch {
		case errs[i] != nil:
			s.errs = append(s.errs, errs[i])
		case yes[i]:
			s.yes++
			s.answers++
		default:
			s.answers++
		}
	}
	return s
}

// Acquire tries once.
func (m *majorityClient) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	key, err := plain.Key(r)
	if err != nil {
		return nil, err
	}
	ttl, err := plain.TTL(r.TTL)
	if err != nil {
		return nil, err
	}
	l := &majorityLease{client: m, key: key, token: m.tokens.Next()}
	start := time.Now()
	claims := m.ask(ctx, m.masters(m.nodes), func(ctx context.Context, c *redis.Client) (bool, error) {
		return m.claim(ctx, c, key, l.token, ttl)
	})
	l.End = plain.NewEnd(m.end(start, ttl))
	if m.enough(claims.yes, claims.answers, len(m.nodes)) && (m.unlooked || time.Now().Before(l.Until())) {
		return l, nil
	}
	var frees said
	if m.cleanUp {
		frees = m.free(ctx, l, m.nodes)
	}
	if err := errors.Join(append(claims.errs, frees.errs...)...); err != nil {
		return l, fmt.Errorf("acquire %q: %w", key, err)
	}
	return nil, locks.ErrTaken
}

func (m *majorityClient) free(ctx context.Context, l *majorityLease, nodes []*redis.Client) said {
	return m.ask(context.WithoutCancel(ctx), nodes, func(ctx context.Context, c *redis.Client) (bool, error) {
		return m.disown(ctx, c, l.key, l.token)
	})
}

// Close closes the connections.
func (m *majorityClient) Close() error {
	var errs []error
	for _, n := range m.nodes {
		errs = append(errs, n.Close())
	}
	return errors.Join(errs...)
}

type majorityLease struct {
	*plain.End
	client     *majorityClient
	key, token string
}

var (
	_ locks.Lease   = (*majorityLease)(nil)
	_ locks.Bounded = (*majorityLease)(nil)
)

// Release frees the lock, and is believed if enough masters were asked.
func (l *majorityLease) Release(ctx context.Context) error {
	nodes := l.client.freed(l.client.nodes)
	frees := l.client.free(ctx, l, nodes)
	switch {
	case frees.yes > len(nodes)/2, len(nodes) < len(l.client.nodes) && len(frees.errs) == 0:
		return nil
	case frees.answers-frees.yes > len(nodes)/2:
		return locks.ErrNotHeld
	}
	return fmt.Errorf("release %q: %d did: %w", l.key, frees.yes, errors.Join(frees.errs...))
}

// majorityLocks are the mutants on several masters.
func majorityLocks() []Mutant {
	on := func(name, mistake string, w Wrong, change func(*majority)) Mutant {
		w.Original = "redlock"
		return Mutant{
			Card:    locks.Card{Name: name, Family: locks.Majority, Claims: locks.Claims{Bounded: true}},
			Mistake: mistake, Topologies: independent, Wrong: w, Open: openMajority(change),
		}
	}
	enough := func(is func(grants, answers, n int) bool) func(*majority) {
		return func(m *majority) { m.enough = is }
	}
	return []Mutant{
		on("majority-of-two", "takes two masters of five for a majority",
			Wrong{Bug: "W-16", Scenario: "steady", Class: "double-grant"},
			enough(func(grants, _, n int) bool { return grants >= n/2 })),
		on("majority-of-answers", "takes the majority of those that answered for one of all",
			Wrong{Bug: "W-17", Scenario: "partition-minority", Class: "double-grant"},
			enough(func(grants, answers, _ int) bool { return grants > answers/2 })),
		on("majority-no-clean-up", "leaves what a failed try has taken to its lease",
			Wrong{Bug: "W-18", Scenario: "steady", Class: "no-progress"},
			func(m *majority) { m.cleanUp = false }),
		on("majority-first-freed", "gives the lock back on the first master alone",
			Wrong{Bug: "R-27", Known: "Redisson's MultiLock, by reading", Scenario: "lost-answer", Class: "no-progress"},
			func(m *majority) {
				m.freed = func(all []*redis.Client) []*redis.Client { return all[:1] }
			}),
		on("majority-no-validity", "does not look how long the granting took, and believes in the whole lease from then on",
			Wrong{Bug: "C-16", Known: "node-redlock #274, #276; Redisson's RedLock (R-31)", Scenario: "slow-grant", Class: "double-grant"},
			func(m *majority) {
				m.unlooked, m.limit = true, 10*time.Second
				m.end = func(_ time.Time, ttl time.Duration) time.Time { return time.Now().Add(ttl) }
			}),
		on("majority-sent-again", "sends again what a master did not answer, and believes what it says to the second",
			Wrong{Bug: "C-17", Known: "go-redis by default, below any majority lock", Scenario: "lost-majority", Class: "evicted"},
			func(m *majority) {
				claim, disown := m.claim, m.disown
				m.claim = func(ctx context.Context, c *redis.Client, key, token string, ttl time.Duration) (bool, error) {
					return again(ctx, func() (bool, error) { return claim(ctx, c, key, token, ttl) })
				}
				m.disown = func(ctx context.Context, c *redis.Client, key, token string) (bool, error) {
					return again(ctx, func() (bool, error) { return disown(ctx, c, key, token) })
				}
			}),
		on("majority-of-three", "asks three masters out of five, and each client others",
			Wrong{Bug: "W-19", Scenario: "steady", Class: "double-grant"},
			nil).asking(),
	}
}

// again takes a step up to three times, as a client library does by default.
func again(ctx context.Context, step func() (bool, error)) (did bool, err error) {
	for range 3 {
		if did, err = step(); err == nil || ctx.Err() != nil {
			return did, err
		}
	}
	return did, err
}

// asking is a majority lock whose clients each ask masters of their own: two of three of those
// are enough.
func (m Mutant) asking() Mutant {
	m.Open = func() locks.Opener {
		return func(ctx context.Context, c locks.Client) (locks.Locker, error) {
			return openMajority(func(m *majority) {
				m.masters = func(all []*redis.Client) []*redis.Client {
					var some []*redis.Client
					for i := range min(3, len(all)) {
						some = append(some, all[(c.ID+2*i)%len(all)])
					}
					return some
				}
				m.enough = func(grants, _, _ int) bool { return grants >= 2 }
			})()(ctx, c)
		}
	}
	return m
}
