package redis

import "testing"

// TestReplicaThatConnectedAgain has a replica whose old connection the master still lists.
func TestReplicaThatConnectedAgain(t *testing.T) {
	one, again, other := []any{"198.19.0.12", "6379", "0"}, []any{"198.19.0.12", "6379", "360"}, []any{"198.19.0.12", "6380", "360"}
	for n, replicas := range [][]any{nil, {one}, {one, other}, {one, again, other}} {
		if got, want := distinct(replicas), min(n, 2); got != want {
			t.Errorf("%v are %d replicas, want %d", replicas, got, want)
		}
	}
}
