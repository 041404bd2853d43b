package simredis

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/alicebob/miniredis/v2"
)

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

// dump copies keys from a server.
func dump(m *miniredis.Miniredis, keys []string, now time.Time) []entry {
	db := m.DB(0)
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

// load replaces keys of a node by entries. Entries that have expired by the node's clock are deleted.
func (n *node) load(entries []entry) {
	m := n.redis.Load()
	if m == nil {
		return
	}
	n.setClock(m)
	now := n.clock.Now()
	db := m.DB(0)
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
