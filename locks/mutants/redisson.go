package mutants

import (
	"lockbench/locks"
	"lockbench/locks/redisson"
	"strings"
	"time"
)

// edit is one change of one script of package redisson: the text must stand in it once.
type edit struct{ script, from, to string }

// apply changes a script's text.
func (e edit) apply(name, text string) string {
	if name != e.script {
		return text
	}
	return strings.Replace(text, e.from, e.to, 1)
}

// drifting replaces the scripts of the fair lock by those of Redisson 3.5.5 to 3.11.0.
func drifting(name, text string) string {
	if old, err := scripts.ReadFile("drifting_" + name); err == nil {
		return string(old)
	}
	return text
}

// kin is one of the locks of the family.
type kin struct {
	original string
	claims   locks.Claims
	open     func(redisson.Options) locks.Opener
	fair     bool
}

var (
	reentrantLock = kin{"redisson-port", redissonClaims(func(c *locks.Claims) { c.Strict = true }), redisson.New, false}
	fairLock      = kin{"redisson-port-fair", redissonClaims(func(c *locks.Claims) { c.Fair = true }), redisson.NewFair, true}
	readWriteLock = kin{"redisson-port-rw", redissonClaims(func(c *locks.Claims) { c.Strict, c.Shared = true, true }), redisson.NewReadWrite, false}
	multiLock     = kin{"redisson-port-multi", redissonClaims(func(c *locks.Claims) { c.Several = true }), redisson.NewMulti, false}
	waitLock      = kin{"redisson-port-wait", redissonClaims(func(*locks.Claims) {}), redisson.NewWait, false}
)

// edited is an entry of the family with a change in a script.
type edited struct {
	kin
	name, mistake string
	Wrong
	edit
	options redisson.Options
}

func (e edited) mutant() Mutant {
	w := e.Wrong
	if w.Original == "" {
		w.Original = e.original
	}
	o := e.options
	if e.script != "" {
		o.Lua = e.apply
	}
	return Mutant{
		Card:    locks.Card{Name: e.name, Family: locks.SingleStore, Claims: e.claims},
		Mistake: e.mistake, Topologies: append(anyMaster, locks.Cluster), WritesTime: e.fair, Wrong: w,
		Open: e.open(o),
	}
}

// redissonLocks are the mutants of the family.
func redissonLocks() (all []Mutant) {
	for _, e := range edits {
		all = append(all, e.mutant())
	}
	return all
}

// edits are the changes.
var edits = []edited{
	// Re-entry.
	{reentrantLock, "reentry-not-counted", "grants re-entry without counting, so that the first release frees the lock",
		Wrong{Bug: "R-13", Known: "Redisson #6144, #6506, in its renewals", Scenario: "reentrant", Class: "double-grant"},
		edit{"rlock_acquire.lua", "'hincrby', KEYS[1], ARGV[2], 1", "'hset', KEYS[1], ARGV[2], 1"}, redisson.Options{}},
	{reentrantLock, "first-release-frees", "frees the lock with the first of an owner's releases",
		Wrong{Bug: "R-14", Known: "Redisson #4871, by resending", Scenario: "reentrant", Class: "double-grant"},
		edit{"rlock_release.lua", "tonumber(holds) > 1", "false"}, redisson.Options{}},
	{reentrantLock, "counts-twice", "counts an acquire twice, so that a hold is left over",
		Wrong{Bug: "R-15", Known: "Redisson #7367, by resending", Scenario: "lost-answer", Class: "no-progress"},
		edit{"rlock_acquire.lua", "'hincrby', KEYS[1], ARGV[2], 1", "'hincrby', KEYS[1], ARGV[2], 2"}, redisson.Options{}},
	{reentrantLock, "waits-for-itself", "refuses the owner that holds already",
		Wrong{Bug: "R-26", Known: "Redisson #4796, for upgrades", Scenario: "reentrant", Class: "refused-though-free"},
		edit{"rlock_acquire.lua", "or redis.call('hexists', KEYS[1], ARGV[2]) == 1", ""}, redisson.Options{}},
	{reentrantLock, "anybody-enters-again", "treats every client as the owner that enters again",
		Wrong{Bug: "R-35", Known: "Redisson #4178, by a thread's number", Scenario: "steady", Class: "double-grant"},
		edit{"rlock_acquire.lua", "'hexists', KEYS[1], ARGV[2]", "'exists', KEYS[1]"}, redisson.Options{}},

	// Wake-ups.
	{reentrantLock, "sends-no-message", "frees the lock and sends no message",
		Wrong{Bug: "R-24", Known: "Redisson #763, #5761 (3.28)", Scenario: "rare-visits", Class: "lost-wake-up"},
		edit{"rlock_release.lua", "if ARGV[4] ~= '' then", "if false then"}, redisson.Options{}},
	{fairLock, "fair-tells-the-last", "wakes the last waiter of the queue, which is not served",
		Wrong{Bug: "R-24", Known: "Redisson #763, #5761 (3.28)", Scenario: "handoff", Class: "flood"},
		edit{"fair_release.lua", "if freed == 1 then\n    local head = redis.call('lindex', KEYS[2], 0)", "if freed == 1 then\n    local head = redis.call('lindex', KEYS[2], -1)"}, redisson.Options{}},

	// Fairness.
	{fairLock, "fair-last-first", "puts a new waiter at the head of the queue",
		Wrong{Bug: "W-20", Scenario: "fair-queue", Class: "overtaken"},
		edit{"fair_acquire.lua", "'rpush', KEYS[2]", "'lpush', KEYS[2]"}, redisson.Options{}},
	{fairLock, "fair-evicts-the-living", "counts every waiter as dead as soon as another one comes",
		Wrong{Bug: "R-5", Known: "Redisson #3004, #2278", Scenario: "fair-queue", Class: "overtaken"},
		edit{"fair_acquire.lua", "until_ms and tonumber(until_ms) <= tonumber(ARGV[4])", "until_ms and head ~= ARGV[2]"}, redisson.Options{}},
	{fairLock, "fair-ghost", "leaves a waiter in the queue that has given up",
		Wrong{Bug: "R-7", Known: "Redisson #757 (3.2.4), #5019 (4.7)", Scenario: "giving-up", Class: "no-progress"},
		edit{"fair_give_up.lua", "local waiters =", "if true then return 0 end\nlocal waiters ="}, redisson.Options{}},
	{fairLock, "fair-times-drift", "counts a waiter's time from the head's, and subtracts too much when the head gives up",
		Wrong{Bug: "R-8", Known: "Redisson #1104 (3.5.5 to 3.11.0)", Scenario: "giving-up", Class: "overtaken"},
		edit{}, redisson.Options{Lua: drifting}},

	// Readers and writers.
	{readWriteLock, "readers-join-a-writer", "grants readers while a writer holds",
		Wrong{Bug: "W-21", Scenario: "readers-writers", Class: "double-grant"},
		edit{"read_acquire.lua", "mode == 'read' or redis.call('hexists', KEYS[1], ARGV[3]) == 1", "true"}, redisson.Options{}},
	{readWriteLock, "first-reader-frees", "frees the lock with the first of its readers",
		Wrong{Bug: "R-21", Known: "Redisson #891 (3.4.3)", Scenario: "readers-writers", Class: "double-grant"},
		edit{"read_release.lua", "redis.call('hlen', KEYS[1]) > 1", "false"}, redisson.Options{}},
	{readWriteLock, "nested-read-frees-writer", "deletes the writer's lock when the writer stops to read",
		Wrong{Bug: "R-21", Known: "Redisson #891 (3.4.3)", Scenario: "readers-writers", Class: "evicted"},
		edit{"read_release.lua", "if mode == 'write' then", "if false then"}, redisson.Options{}},
	{readWriteLock, "downgrade-lets-go", "frees the lock when a writer becomes a reader",
		Wrong{Bug: "Z-5", Known: "Curator 5.4.0, CURATOR-621", Scenario: "readers-writers", Class: "evicted"},
		edit{"write_release.lua", "redis.call('hlen', KEYS[1]) == 1", "true"}, redisson.Options{}},
	{readWriteLock, "downgrade-stays-write", "stays a writer when a writer becomes a reader",
		Wrong{Bug: "W-22", Scenario: "readers-writers", Class: "refused-though-free"},
		edit{"write_release.lua", "redis.call('hset', KEYS[1], 'mode', 'read')", ""}, redisson.Options{}},
	{readWriteLock, "writer-cannot-read", "refuses a writer that wants to read as well",
		Wrong{Bug: "R-26", Known: "Redisson #4796, for upgrades", Scenario: "readers-writers", Class: "refused-though-free"},
		edit{"read_acquire.lua", "or redis.call('hexists', KEYS[1], ARGV[3]) == 1", ""}, redisson.Options{}},

	// Renewals.
	{reentrantLock, "renewal-ends-at-a-failure", "stops renewing when one renewal fails, and reports nothing",
		Wrong{Bug: "R-9", Known: "Redisson #3194 (3.14), #2515 (3.12.1), 3.44", Scenario: "watchdog", Class: "double-grant", Original: "redisson-port/watchdog=6s"},
		edit{}, redisson.Options{Watchdog: 6 * time.Second, Chained: true, Silent: true}},
	{reentrantLock, "renewal-starved-in-silence", "does not report to its holder that the renewals came too late",
		Wrong{Bug: "R-11", Known: "Redisson #5698, #3334", Scenario: "watchdog-starved", Class: "double-grant", Original: "redisson-port/watchdog=4s"},
		edit{}, redisson.Options{Watchdog: 4 * time.Second, Silent: true}},
	{reentrantLock, "renewal-cut-off-in-silence", "does not report to its holder that no renewal gets through",
		Wrong{Bug: "R-11", Known: "Redisson #5698, #3334", Scenario: "cut-off-holder", Class: "double-grant", Original: "redisson-port/watchdog=2s"},
		edit{}, redisson.Options{Watchdog: 2 * time.Second, Silent: true}},
	{reentrantLock, "renewal-of-nothing", "checks that it still holds, and does not extend the lease",
		Wrong{Bug: "R-13", Known: "Redisson #6144, #6506 (3.46)", Scenario: "watchdog", Class: "double-grant", Original: "redisson-port/watchdog=6s"},
		edit{"renew.lua", "redis.call('pexpire', KEYS[i], ARGV[1])", ""}, redisson.Options{Watchdog: 6 * time.Second}},
	{reentrantLock, "renewal-by-seconds", "renews by as many milliseconds as the lease has seconds",
		Wrong{Bug: "W-9", Scenario: "watchdog", Class: "double-grant", Original: "redisson-port/watchdog=6s"},
		edit{"renew.lua", "redis.call('pexpire', KEYS[i], ARGV[1])", "redis.call('pexpire', KEYS[i], ARGV[1] / 1000)"}, redisson.Options{Watchdog: 6 * time.Second}},
	{reentrantLock, "four-renewals", "extends a lease four times at most, and reports nothing",
		Wrong{Bug: "R-11", Scenario: "watchdog", Class: "double-grant", Original: "redisson-port/watchdog=6s"},
		edit{"renew.lua", "redis.call('pexpire', KEYS[i], ARGV[1])", "if redis.call('hincrby', KEYS[i], 'renewals', 1) <= 4 then redis.call('pexpire', KEYS[i], ARGV[1]) end"},
		redisson.Options{Watchdog: 6 * time.Second, Silent: true}},

	{reentrantLock, "renewal-takes-back", "takes the lock back by a renewal that arrives after the release",
		Wrong{Bug: "C-9", Scenario: "late-renewal", Class: "refused-though-free", Original: "redisson-port/watchdog=6s"},
		edit{"renew.lua", "if redis.call('hexists', KEYS[i], ARGV[i + 1]) == 1 then",
			"if redis.call('hexists', KEYS[i], ARGV[i + 1]) == 0 then redis.call('del', KEYS[i]); redis.call('hset', KEYS[i], ARGV[i + 1], 1) end\n  if true then"},
		redisson.Options{Watchdog: 6 * time.Second}},

	// Late requests.
	{multiLock, "several-freed-unasked", "frees each of several names without a check of the owner",
		Wrong{Bug: "C-2", Scenario: "many-keys", Class: "evicted", EpisodesMin: 20},
		edit{"rlock_release.lua", "local latched = ARGV[5] ~= '0'", "if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then redis.call('del', KEYS[1]) end\nlocal latched = false"}, redisson.Options{}},
	{readWriteLock, "writer-freed-unasked", "frees the lock of a writer without a check of the owner",
		Wrong{Bug: "C-2", Scenario: "readers-writers", Class: "double-grant"},
		edit{"write_release.lua", "local latched = ARGV[5] ~= '0'", "if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then redis.call('del', KEYS[1]) end\nlocal latched = false"}, redisson.Options{}},

	// Replicas.
	{waitLock, "unconfirmed-stays", "reports \"taken\" if no replica has confirmed the grant, and does not release it",
		Wrong{Bug: "R-18", Known: "Redisson #3994, #4822 (3.18.1, 3.20, 3.47)", Scenario: "stalled-replicas", Class: "no-progress"},
		edit{}, redisson.Options{KeepUnconfirmed: true}},

	// Sending again.
	{reentrantLock, "release-sent-again", "sends an unanswered release again, and it takes effect again",
		Wrong{Bug: "R-14", Known: "Redisson #4871", Scenario: "lost-release", Class: "double-grant"},
		edit{}, redisson.Options{NoLatch: true}},
}
