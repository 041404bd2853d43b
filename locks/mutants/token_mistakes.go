package mutants

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/locks"
	"lockbench/locks/goredis"
	"lockbench/locks/internal/plain"
)

// tokenLocks are the mutants of one key.
func tokenLocks() []Mutant {
	plainly := func(name, mistake string, w Wrong, change func(*token)) Mutant {
		if w.Original == "" {
			w.Original = "set-nx"
		}
		return Mutant{
			Card:    locks.Card{Name: name, Family: locks.SingleStore, Claims: locks.Claims{Bounded: true}},
			Mistake: mistake, Topologies: anyMaster, Wrong: w, Open: open(name, change),
		}
	}
	fenced := func(name, mistake string, w Wrong, change func(*token)) Mutant {
		w.Original = "set-nx-fenced"
		m := plainly(name, mistake, w, numbered(change))
		m.Claims.Fenced = true
		return m
	}
	return []Mutant{
		// Taking.
		plainly("exists-then-set", "checks that the key does not exist, and sets it in a second request",
			Wrong{Bug: "W-1", Scenario: "steady", Class: "double-grant"},
			claiming(func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
				if n, err := t.number(ctx, "exists", l.Key); err != nil || n > 0 {
					return false, err
				}
				return t.set(ctx, l.Key, l.Token, "px", ttl.Milliseconds())
			})),
		plainly("answer-ignored", "sets the key if absent, and does not look at the answer",
			Wrong{Bug: "W-2", Scenario: "steady", Class: "double-grant"},
			claiming(func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
				_, err := goredis.Claim(ctx, t.redis, l.Key, l.Token, ttl)
				return true, err
			})),
		plainly("name-of-its-own", "puts the client's number into the key, as a prefix for each pool does",
			Wrong{Bug: "W-3", Scenario: "steady", Class: "double-grant"},
			claiming(func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
				l.Key = "{" + l.Key + "}:" + strconv.Itoa(t.id)
				return goredis.Claim(ctx, t.redis, l.Key, l.Token, ttl)
			})),
		plainly("name-to-the-blank", "cuts the name at its first blank when it releases, as a line of text does",
			Wrong{Bug: "W-3", Scenario: "odd-names", Class: "no-progress"},
			freeing(func(ctx context.Context, t *token, l *plain.Lease) (bool, error) {
				name, _, _ := strings.Cut(l.Key, " ")
				_, err := goredis.Disown(ctx, t.redis, name, l.Token)
				return true, err
			})),
		plainly("impatient-thief", "deletes the key after its third refusal, as if the holder were dead",
			Wrong{Bug: "W-4", Scenario: "steady", Class: "double-grant"},
			claiming(func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
				granted, err := goredis.Claim(ctx, t.redis, l.Key, l.Token, ttl)
				if err != nil || granted {
					t.again(l.Key)
					return granted, err
				}
				if t.turn(l.Key) < 3 {
					return false, nil
				}
				if _, err := t.number(ctx, "del", l.Key); err != nil {
					return false, err
				}
				return goredis.Claim(ctx, t.redis, l.Key, l.Token, ttl)
			})),
		plainly("takeover-by-old-reading", "notes the end of another lease, and takes the lock at that time without a check",
			Wrong{Bug: "W-25", Known: "storj #557", Scenario: "late-request", Class: "double-grant"},
			func(t *token) {
				var ends sync.Map // the ends of others' leases, by key
				t.claim = func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
					if end, known := ends.Load(l.Key); known && !time.Now().Before(end.(time.Time)) {
						ends.Delete(l.Key)
						return t.set(ctx, l.Key, l.Token, "px", ttl.Milliseconds())
					}
					granted, err := goredis.Claim(ctx, t.redis, l.Key, l.Token, ttl)
					if err != nil || granted {
						return granted, err
					}
					left, err := t.number(ctx, "pttl", l.Key)
					if err == nil && left > 0 {
						ends.LoadOrStore(l.Key, time.Now().Add(time.Duration(left)*time.Millisecond))
					}
					return false, err
				}
			}),
		plainly("remembered-grant", "a client that held within the last lease counts itself as the holder, without a request",
			Wrong{Bug: "W-5", Scenario: "steady", Class: "double-grant"},
			claiming(func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
				if t.turn(l.Key) > 1 {
					return true, nil
				}
				granted, err := goredis.Claim(ctx, t.redis, l.Key, l.Token, ttl)
				if !granted {
					t.again(l.Key)
				}
				return granted, err
			})),
		plainly("del-when-refused", "cleans up after a refusal, by deleting the key",
			Wrong{Bug: "W-6", Scenario: "steady", Class: "double-grant"},
			claiming(func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
				granted, err := goredis.Claim(ctx, t.redis, l.Key, l.Token, ttl)
				if err == nil && !granted {
					_, err = t.number(ctx, "del", l.Key)
				}
				return granted, err
			})),
		plainly("refusal-renews", "a refused try extends the lease of the holder",
			Wrong{Bug: "W-7", Scenario: "kill-holder", Class: "no-progress"},
			claiming(func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
				granted, err := goredis.Claim(ctx, t.redis, l.Key, l.Token, ttl)
				if err == nil && !granted {
					_, err = t.number(ctx, "pexpire", l.Key, ttl.Milliseconds())
				}
				return granted, err
			})),
		plainly("clock-in-the-value", "writes the lease's end by the client's clock, and trusts the ends that others write",
			Wrong{Bug: "C-4", Known: "redis-py up to 2.10", Scenario: "client-clock", Class: "double-grant"}, getsetTime).writingTime(),

		// The lease.
		plainly("no-expiry", "sets the key without an expiry: a holder that dies locks for ever",
			Wrong{Bug: "C-1", Known: "redis-py before 3.0, ShedLock #65", Scenario: "kill-holder", Class: "no-progress"},
			claiming(func(ctx context.Context, t *token, l *plain.Lease, _ time.Duration) (bool, error) {
				return t.set(ctx, l.Key, l.Token, "nx")
			})),
		plainly("setnx-then-expire", "sets the key, and sets its expiry in a second request",
			Wrong{Bug: "C-1", Known: "redis-py before 3.0 (2139d817), ShedLock #65", Scenario: "kill-between-requests", Class: "no-progress"},
			setnxExpire),
		plainly("half-lease", "requests half of the lease that its holder counts on",
			Wrong{Bug: "W-8", Scenario: "steady", Class: "lease-short"},
			asking(func(ttl time.Duration) time.Duration { return ttl / 2 })),
		plainly("seconds-as-milliseconds", "uses the lease's seconds as milliseconds",
			Wrong{Bug: "W-9", Scenario: "steady", Class: "double-grant"},
			asking(func(ttl time.Duration) time.Duration { return ttl / 1000 })),
		plainly("lease-ignored", "requests half a second, whatever lease its caller wants",
			Wrong{Bug: "R-34", Known: "Redisson's FencedLock, by reading", Scenario: "steady", Class: "lease-short"},
			asking(func(time.Duration) time.Duration { return 500 * time.Millisecond })),
		plainly("thousandfold-lease", "converts the lease to milliseconds twice",
			Wrong{Bug: "R-29", Known: "Redisson's MultiLock since 3.25.1 (ef2f16b25), by reading", Scenario: "kill-holder", Class: "no-progress"},
			asking(func(ttl time.Duration) time.Duration { return 1000 * ttl })),
		plainly("minute-at-most", "requests a minute at most, whatever lease its caller wants",
			Wrong{Bug: "R-34", Scenario: "long-lease", Class: "double-grant"},
			asking(func(ttl time.Duration) time.Duration { return min(ttl, time.Minute) })),
		plainly("end-unknown", "reports a lease of an hour to its holder, whatever the server keeps",
			Wrong{Bug: "W-10", Scenario: "pause-client", Class: "double-grant"},
			func(t *token) {
				t.belief = func(time.Duration) time.Duration { return time.Hour }
			}),
		plainly("end-in-seconds", "keeps the end of the lease by the server's TIME and drops the fraction of the second",
			Wrong{Bug: "W-26", Scenario: "slow-grant", Class: "double-grant"},
			func(t *token) {
				t.claim = func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
					n, err := secondsTake.Run(ctx, t.redis, []string{l.Key}, l.Token, ttl.Milliseconds())
					return n == 1, err
				}
				t.Free = func(ctx context.Context, l *plain.Lease) (bool, error) {
					n, err := secondsFree.Run(ctx, t.redis, []string{l.Key}, l.Token)
					return n == 1, err
				}
			}),
		plainly("lease-from-answer", "counts its lease from the answer and not from the request",
			Wrong{Bug: "W-11", Scenario: "slow-grant", Class: "double-grant"},
			func(t *token) {
				t.belief = func(ttl time.Duration) time.Duration { return ttl }
			}),

		// Giving back.
		plainly("del-unasked", "releases by DEL, without a check of the owner",
			Wrong{Bug: "C-2", Known: "ShedLock before 6.7, #2583", Scenario: "late-request", Class: "double-grant"},
			freeing(del)),
		plainly("get-then-del", "checks that the key is its own, and deletes it in a second request",
			Wrong{Bug: "C-3", Known: "Spring Integration before 6.2.0, GH-8699", Scenario: "pause-between-requests", Class: "double-grant"},
			freeing(getThenDel)),
		plainly("release-by-prefix", "deletes all keys that begin with the name",
			Wrong{Bug: "W-12", Scenario: "odd-names", Class: "double-grant"},
			freeing(func(ctx context.Context, t *token, l *plain.Lease) (bool, error) {
				keys, err := goredis.Do(ctx, t.redis, "keys", l.Key+"*").StringSlice()
				if err != nil || len(keys) == 0 {
					return false, err
				}
				words := []any{"del"}
				for _, key := range keys {
					words = append(words, key)
				}
				n, err := t.number(ctx, words...)
				return n > 0, err
			})),
		plainly("release-now-and-then", "forgets one release in five of a key",
			Wrong{Bug: "W-12", Scenario: "steady", Class: "no-progress"},
			freeing(func(ctx context.Context, t *token, l *plain.Lease) (bool, error) {
				if t.turn(l.Key)%5 == 0 {
					return true, nil
				}
				return goredis.Disown(ctx, t.redis, l.Key, l.Token)
			})),
		plainly("release-of-another-key", "deletes a key that is not the one it has set",
			Wrong{Bug: "W-12", Scenario: "lost-answer", Class: "no-progress"},
			freeing(func(ctx context.Context, t *token, l *plain.Lease) (bool, error) {
				_, err := goredis.Disown(ctx, t.redis, "lock:"+l.Key, l.Token)
				return true, err
			})),
		plainly("release-always-ok", "reports success for the release of a lock that is not held any more",
			Wrong{Bug: "C-10", Known: "redsync v4.0.3 (5e3c32b)", Scenario: "pause-client", Class: "released-without-holding"},
			freeing(func(ctx context.Context, t *token, l *plain.Lease) (bool, error) {
				_, err := goredis.Disown(ctx, t.redis, l.Key, l.Token)
				return true, err
			})),
		plainly("release-never-ok", "reports \"not held\" for the release of a lock that it held",
			Wrong{Bug: "R-16", Known: "Redisson #562 to #6844", Scenario: "steady", Class: "evicted"},
			freeing(func(ctx context.Context, t *token, l *plain.Lease) (bool, error) {
				_, err := goredis.Disown(ctx, t.redis, l.Key, l.Token)
				return false, err
			})),

		// Unanswered requests.
		plainly("silence-is-yes", "counts an unanswered SET as a grant",
			Wrong{Bug: "W-13", Scenario: "lost-replies", Class: "double-grant", EpisodesMin: 10},
			func(t *token) {
				t.doubt = func(error) (bool, error) { return true, nil }
			}),
		plainly("silence-is-no", "counts an unanswered SET as a refusal",
			Wrong{Bug: "W-14", Scenario: "lost-answer", Class: "refused-though-free"},
			func(t *token) {
				t.patience = 0
				t.doubt = func(error) (bool, error) { return false, nil }
			}).strictly(),
		plainly("taken-but-kept", "reports \"taken\" for one of five grants",
			Wrong{Bug: "C-15", Known: "rueidislock before v1.0.70 (8294951)", Scenario: "steady", Class: "no-progress"},
			claiming(func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
				granted, err := goredis.Claim(ctx, t.redis, l.Key, l.Token, ttl)
				return granted && t.turn(l.Key)%5 != 0, err
			})),
		plainly("token-of-the-client", "has one token for each client, so that a late release deletes the client's next lock",
			Wrong{
				Bug: "R-35", Known: "Redisson #4178", Scenario: "own-late-request", Class: "double-grant",
			},
			func(t *token) {
				t.patience = 0 // it must be back before its release arrives
				t.claim = func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
					l.Token = strconv.Itoa(t.id)
					return goredis.Claim(ctx, t.redis, l.Key, l.Token, ttl)
				}
			}),
		plainly("token-of-the-last-try", "has one object for all threads of a client, and each try overwrites the holder's token",
			Wrong{Bug: "C-6", Known: "redis-py #384, #489", Scenario: "pool", Class: "evicted"},
			func(t *token) {
				var last sync.Map // the token of the last try, by key
				t.claim = func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
					last.Store(l.Key, l.Token)
					return goredis.Claim(ctx, t.redis, l.Key, l.Token, ttl)
				}
				t.Free = func(ctx context.Context, l *plain.Lease) (bool, error) {
					token, _ := last.Load(l.Key)
					return goredis.Disown(ctx, t.redis, l.Key, token.(string))
				}
			}),

		plainly("renewed-after-giving-up", "renews for ever a grant that comes after its caller has given up",
			Wrong{Bug: "R-10", Known: "Redisson #7272", Scenario: "late-acquire", Class: "no-progress"},
			claiming(claimLate)),

		// Renewals.
		plainly("renew-unasked", "renews the key without a check of the owner",
			Wrong{Bug: "W-24", Scenario: "renewals", Class: "released-without-holding"},
			renewing(func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
				n, err := t.number(ctx, "pexpire", l.Key, ttl.Milliseconds())
				return n == 1, err
			})),
		plainly("renew-recreates", "sets the key again if a renewal finds none",
			Wrong{
				Bug: "C-9", Known: "redsync WithSetNXOnExtend, redis-semaphore #175",
				Scenario: "renewals", Class: "released-without-holding",
			},
			renewing(func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
				held, err := goredis.Extend(ctx, t.redis, l.Key, l.Token, ttl)
				if err != nil || held {
					return held, err
				}
				return goredis.Claim(ctx, t.redis, l.Key, l.Token, ttl)
			})),
		plainly("renew-silence-is-yes", "reports a renewal that got no answer as done",
			Wrong{Bug: "W-13", Scenario: "renewals", Class: "double-grant"},
			renewing(func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
				held, err := goredis.Extend(ctx, t.redis, l.Key, l.Token, ttl)
				return held || err != nil, nil
			})),
		plainly("renew-silence-is-no", "reports a renewal that got no answer as \"not held\"",
			Wrong{Bug: "W-14", Scenario: "renewals", Class: "evicted"},
			renewing(func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
				held, err := goredis.Extend(ctx, t.redis, l.Key, l.Token, ttl)
				return held && err == nil, nil
			})),

		// Fencing.
		fenced("number-before-lock", "counts the grant before it is granted, in a request of its own",
			Wrong{Bug: "W-15", Scenario: "pause-acquire", Class: "token-fell"},
			func(t *token) {
				t.claim = func(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
					n, err := t.number(ctx, "incr", counter(l))
					if err != nil {
						return false, err
					}
					l.Number = uint64(n)
					return goredis.Claim(ctx, t.redis, l.Key, l.Token, ttl)
				}
			}),
		fenced("number-after-lock", "counts the grant after it is granted, in a request that may come after its lease",
			Wrong{Bug: "W-15", Scenario: "late-number", Class: "token-fell"}, func(*token) {}),
		fenced("number-after-lock-in-a-hurry", "counts the grant after it is granted, and abandons that request after 1200 ms",
			Wrong{Bug: "W-28", Scenario: "late-number", Class: "token-fell"}, func(t *token) { t.patience = 200 * time.Millisecond }),
		fenced("number-of-three-digits", "keeps the last three digits of the number",
			Wrong{Bug: "W-15", Scenario: "many-turns", Class: "token-fell"},
			func(t *token) {
				count := t.fence
				t.fence = func(ctx context.Context, t *token, l *plain.Lease) (uint64, error) {
					n, err := count(ctx, t, l)
					return 1 + n%1000, err
				}
			}),
		fenced("number-of-the-client", "each client counts its own grants",
			Wrong{Bug: "W-15", Scenario: "steady", Class: "token-fell"},
			func(t *token) {
				t.fence = func(_ context.Context, t *token, _ *plain.Lease) (uint64, error) { return t.grants.Add(1), nil }
			}),
		fenced("number-deleted", "deletes the counter with the lock",
			Wrong{Bug: "R-33", Known: "Redisson #6510", Scenario: "steady", Class: "token-repeated"},
			freeing(func(ctx context.Context, t *token, l *plain.Lease) (bool, error) {
				if _, err := t.number(ctx, "del", counter(l)); err != nil {
					return false, err
				}
				return goredis.Disown(ctx, t.redis, l.Key, l.Token)
			})),
		fenced("number-read", "reads the counter, and increments it only when it releases the lock",
			Wrong{Bug: "W-15", Scenario: "kill-holder", Class: "token-repeated"},
			func(t *token) {
				t.fence = func(ctx context.Context, t *token, l *plain.Lease) (uint64, error) {
					n, err := goredis.Do(ctx, t.redis, "get", counter(l)).Uint64()
					if errors.Is(err, redis.Nil) {
						err = nil
					}
					return n + 1, err
				}
				t.Free = func(ctx context.Context, l *plain.Lease) (bool, error) {
					if _, err := t.number(ctx, "incr", counter(l)); err != nil {
						return false, err
					}
					return goredis.Disown(ctx, t.redis, l.Key, l.Token)
				}
			}),
	}
}

// claimLate gives up after a second. If it is granted the lock later, it arms the renewal of a lease
// that its caller has given back by then.
func claimLate(ctx context.Context, t *token, l *plain.Lease, ttl time.Duration) (bool, error) {
	type answer struct {
		granted bool
		err     error
	}
	answered, gaveUp := make(chan answer), make(chan struct{})
	go func() {
		granted, err := goredis.Claim(context.WithoutCancel(ctx), t.redis, l.Key, l.Token, ttl)
		select {
		case answered <- answer{granted, err}:
			return
		case <-gaveUp:
		}
		for held := granted; err == nil && held; time.Sleep(ttl / 3) {
			held, err = goredis.Extend(context.WithoutCancel(ctx), t.redis, l.Key, l.Token, ttl) // an error after Close
		}
	}()
	select {
	case a := <-answered:
		return a.granted, a.err
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
	close(gaveUp)
	return false, errors.New("no answer")
}
