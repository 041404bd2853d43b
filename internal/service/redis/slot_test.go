package redis_test

import (
	"testing"

	"lockbench/internal/service/redis"
)

// Answers of servers to CLUSTER KEYSLOT. The tests of locks/goredis compare with a real server.
func TestSlot(t *testing.T) {
	for key, want := range map[string]int{
		"": 0, "a": 15495, "123456789": 12739, "{a}b": 15495, "x{a}": 15495, "{}": 15257, "a{}b": 13694,
	} {
		if got := redis.Slot(key); got != want {
			t.Errorf("Slot(%q) = %d, want %d", key, got, want)
		}
	}
}
