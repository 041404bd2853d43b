package redisson

import "strings"

// Redisson's names for the other keys of a lock. Braces keep them in the lock's slot of a cluster. If the name has braces,
// Redisson assumes that they mark a hash tag. Names whose braces mark nothing, "a{b", "a}b" and "a{}b", so get another
// slot, and a cluster refuses their scripts (hazard R-39).

// prefixed returns "<prefix>:{name}".
func prefixed(prefix, name string) string {
	if strings.Contains(name, "{") {
		return prefix + ":" + name
	}
	return prefix + ":{" + name + "}"
}

// suffixed returns "{name}:<suffix>".
func suffixed(name, suffix string) string { return tagged(name) + ":" + suffix }

// tagged returns "{name}".
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
func latchKey(name, id string) string   { return prefixed("redisson_unlock_latch", name) + ":" + id }
