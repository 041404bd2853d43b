package simredis

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/alicebob/miniredis/v2"

	"lockbench/internal/virtual/sim"
)

// keyspace is the data of a running server. Its keys expire by the clock of the server.
type keyspace struct {
	redis *miniredis.Miniredis
	clock *sim.Clock
}

// newKeyspace returns an empty keyspace.
func newKeyspace(clock *sim.Clock) keyspace {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	// The server starts with its first connection, which stays unused.
	first, err := m.Dial()
	if err != nil {
		panic(err) // impossible, because nothing listens
	}
	_ = first.Close()
	k := keyspace{redis: m, clock: clock}
	k.setClock()
	return k
}

// db returns the database that clients use.
func (k keyspace) db() *miniredis.RedisDB { return k.redis.DB(0) }

// setClock sets the time by which keys expire. It is called before a command.
func (k keyspace) setClock() {
	if k.clock.Touched() {
		k.redis.SetTime(k.clock.Now())
	}
}

// shiftClock makes the clock wrong. A jump ahead expires keys sooner, a jump back later, as on a server that stores the time
// at which a key ends. miniredis stores the remaining time, so a jump back must be added to it.
func (k keyspace) shiftClock(by time.Duration, drift float64) {
	k.setClock()
	jump := by - k.clock.Offset()
	k.clock.Shift(by, drift)
	k.setClock()
	if jump >= 0 {
		return
	}
	for _, key := range k.expiring() {
		k.db().SetTTL(key, k.db().TTL(key)-jump)
	}
}

// expiring returns the keys that have an end.
func (k keyspace) expiring() (keys []string) {
	for _, key := range k.db().Keys() {
		if k.db().TTL(key) > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// entry is a key with its value, on the way to a replica or on disk. Its end is a time of the master's clock. A remaining
// time would be extended by the time on the way.
type entry struct {
	key    string
	kind   string // "" for a deleted key
	text   string
	hash   map[string]string
	list   []string
	sorted map[string]float64
	end    time.Time // zero: never
}

// everything copies all keys.
func (k keyspace) everything() []entry {
	k.setClock()
	return k.dump(k.db().Keys())
}

// dump copies keys.
func (k keyspace) dump(keys []string) []entry {
	db, now := k.db(), k.clock.Now()
	var out []entry
	for _, key := range keys {
		e := entry{key: key, kind: db.Type(key)}
		var err error
		switch e.kind {
		case "":
		case "string":
			e.text, err = db.Get(key)
		case "hash":
			e.hash = map[string]string{}
			var fields []string
			fields, err = db.HKeys(key)
			for _, f := range fields {
				e.hash[f] = db.HGet(key, f)
			}
		case "list":
			e.list, err = db.List(key)
			e.list = slices.Clone(e.list)
		case "set":
			e.list, err = db.Members(key)
		case "zset":
			e.sorted, err = db.SortedSet(key)
			e.sorted = maps.Clone(e.sorted)
		default:
			err = fmt.Errorf("the simulation does not copy keys of the kind %s", e.kind)
		}
		if err != nil {
			// The kind was checked above and no other command runs now, so this is an unsupported kind.
			panic(fmt.Sprintf("copy the key %q: %v", key, err))
		}
		if ttl := db.TTL(key); e.kind != "" && ttl > 0 {
			e.end = now.Add(ttl)
		}
		out = append(out, e)
	}
	return out
}

// load replaces keys by entries. Entries that have expired are deleted.
func (k keyspace) load(entries []entry) {
	k.setClock()
	db, now := k.db(), k.clock.Now()
	for _, e := range entries {
		db.Del(e.key)
		if !e.end.IsZero() && !e.end.After(now) {
			continue
		}
		switch e.kind {
		case "":
			continue
		case "string":
			_ = db.Set(e.key, e.text)
		case "hash":
			for _, f := range slices.Sorted(maps.Keys(e.hash)) {
				db.HSet(e.key, f, e.hash[f])
			}
		case "list":
			_, _ = db.Push(e.key, e.list...)
		case "set":
			_, _ = db.SetAdd(e.key, e.list...)
		case "zset":
			for _, member := range slices.Sorted(maps.Keys(e.sorted)) {
				_, _ = db.ZAdd(e.key, e.sorted[member], member)
			}
		}
		if !e.end.IsZero() {
			db.SetTTL(e.key, e.end.Sub(now))
		}
	}
}
