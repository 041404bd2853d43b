package redisson

import "strings"

// Redisson's names for the keys beside a lock. Braces keep them in the lock's slot
// of a cluster, unless the lock's own name has braces already: then those are
// trusted to mark a part of it. Names whose braces mark nothing, "a{b", "a}b" and
// "a{}b", thereby leave the slot, and a cluster refuses their scripts (hazard R-39).

// prefixed is "<prefix>:{name}".
func prefixed(prefix, name string) string {
	if strings.Contains(name, "{") {
		return prefix + ":" + name
	}
	return prefix + ":{" + name + "}"
}

// suffixed is "{name}:<suffix>".
func suffixed(name, suffix string) string { return tagged(name) + ":" + suffix }

// tagged is "{name}".
func tagged(name string) string {
	if strings.Contains(name, "{") {
		return name
	}
	return "{" + name + "}"
}

func lockChannel(name string) string    { return prefixed("redisson_lock__channel", name) }
func rwChannel(name string) string      { return prefixed("redisson_rwlock", name) }
func fairQueue(name string) string      { return prefixed("redisson_lock_queue", name) }
func fairTimeouts(name string) string   { return prefixed("redisson_lock_timeout", name) }
func fenceCounter(name string) string   { return prefixed("redisson_lock_token", name) }
func readHolds(name, o string) string   { return suffixed(name, o) + ":rwlock_timeout" }
func fairChannel(name, o string) string { return lockChannel(name) + ":" + o }

// latchKey is put together in one piece, for every release needs one.
func latchKey(name, id string) string {
	if strings.Contains(name, "{") {
		return "redisson_unlock_latch:" + name + ":" + id
	}
	return "redisson_unlock_latch:{" + name + "}:" + id
}
