package service_test

import (
	"testing"

	"lockbench/internal/service"
	"lockbench/internal/service/redis"
	"lockbench/locks"
)

// TestTopology checks the properties of topologies that faults and tables use.
func TestTopology(t *testing.T) {
	for _, want := range []struct {
		name    locks.Topology
		nodes   int
		first   string
		table   string
		follows bool
	}{
		{locks.Single, 1, "redis-1", "1 master", false},
		{locks.Replicated, 3, "redis-1", "replicated 1+2", true},
		{locks.Sentinel, 6, "redis-1", "sentinel 1+2", true},
		{locks.Cluster, 6, "redis-1", "cluster 3+3", true},
		{locks.Independent, 5, "redis-1", "5 masters", false},
	} {
		got, ok := service.Find(redis.Service, want.name)
		if !ok || len(got.Nodes()) != want.nodes || got.Nodes()[0].Name != want.first || got.InTable() != want.table || got.Follows() != want.follows {
			t.Errorf("%s: %v, nodes %v, %q, follows %v; want %+v", want.name, ok, got.Nodes(), got.InTable(), got.Follows(), want)
		}
	}
	if _, ok := service.Find(redis.Service, "ring"); ok {
		t.Error("there is no ring")
	}
}

// Sized returns a copy.
func TestSized(t *testing.T) {
	usual, _ := service.Find(redis.Service, locks.Independent)
	if three := usual.Sized(3); three.InTable() != "3 masters" || usual.InTable() != "5 masters" {
		t.Errorf("%q, and the original is %q", three.InTable(), usual.InTable())
	}
}
