package mutants

import (
	"context"
	"embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"lockbench/locks"
	"lockbench/locks/goredis"
	"lockbench/locks/internal/plain"
)

var (
	//go:embed *.lua
	scripts embed.FS

	rowsTake = goredis.ReadScript(scripts, "rows_take.lua")
	rowsFree = goredis.ReadScript(scripts, "rows_free.lua")

	secondsTake = goredis.ReadScript(scripts, "seconds_take.lua")
	secondsFree = goredis.ReadScript(scripts, "seconds_free.lua")
)

// rows is a lock whose rows of one table have an owner and an end. The end is a time of the
// owner's clock, and others compare it with theirs. Each step is atomic in the server, so
// nothing goes wrong while the clocks agree.
type rows struct {
	redis  redis.UniversalClient
	tokens *plain.Tokens
	now    func() time.Time
	// unasked means that a release deletes the rows without a check of the owner.
	unasked bool
}

// rowsTable is the hash that has the rows of all names.
const rowsTable = "rows"

func openRows(unasked bool) locks.Opener {
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		client, err := goredis.Connect(c.Store)
		if err != nil {
			return nil, fmt.Errorf("open a wrong lock: %w", err)
		}
		return &rows{client, plain.NewTokens(c), c.Clock(), unasked}, nil
	}
}

// Acquire tries once to take the rows of all names.
func (l *rows) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	ttl, err := plain.TTL(r.TTL)
	if err != nil {
		return nil, err
	}
	lease := &rowsLease{plain.NewEnd(time.Now().Add(ttl)), l, l.tokens.Next(), r.Keys}
	now := l.now().UnixMilli()
	args := []any{lease.owner, now, now + ttl.Milliseconds()}
	for _, key := range r.Keys {
		args = append(args, key)
	}
	granted, err := rowsTake.Run(ctx, l.redis, []string{rowsTable}, args...)
	switch {
	case err != nil:
		return lease, fmt.Errorf("acquire %q: %w", r.Keys, err)
	case granted == 0:
		return nil, locks.ErrTaken
	}
	return lease, nil
}

// Close closes the connections.
func (l *rows) Close() error { return l.redis.Close() }

type rowsLease struct {
	*plain.End
	lock  *rows
	owner string
	keys  []string
}

var (
	_ locks.Lease   = (*rowsLease)(nil)
	_ locks.Bounded = (*rowsLease)(nil)
)

// Release frees the rows.
func (l *rowsLease) Release(ctx context.Context) error {
	owner := l.owner
	if l.lock.unasked {
		owner = ""
	}
	args := []any{owner}
	for _, key := range l.keys {
		args = append(args, key)
	}
	freed, err := rowsFree.Run(ctx, l.lock.redis, []string{rowsTable}, args...)
	switch {
	case err != nil:
		return fmt.Errorf("release %q: %w", l.keys, err)
	case freed < int64(len(l.keys)):
		return locks.ErrNotHeld
	}
	return nil
}

// timeLocks are the mutants that trust the clocks of other clients.
func timeLocks() []Mutant {
	on := func(name, mistake string, claims locks.Claims, w Wrong, unasked bool) Mutant {
		w.Scenario, w.Class = "client-clock", "double-grant"
		return Mutant{
			Card:    locks.Card{Name: name, Family: locks.SingleStore, Claims: claims},
			Mistake: mistake, Topologies: append(anyMaster, locks.Cluster), WritesTime: true, Wrong: w, Open: openRows(unasked),
		}
	}
	return []Mutant{
		on("end-by-the-client", "writes the end of a lease into a row by the client's clock, and others compare it with theirs", locks.Claims{Bounded: true},
			Wrong{Bug: "C-19", Known: "ShedLock #231, #263, #639, #1439", Original: "set-nx"}, false),
		on("several-by-the-client", "keeps several names in one table with ends by the client's clock, and frees them without a check of the owner", locks.Claims{Bounded: true, Several: true},
			Wrong{Bug: "R-32", Known: "Redisson's FasterMultiLock", Original: "redisson-port-multi"}, true),
	}
}
