package redis

import (
	"net/netip"
	"strings"
	"testing"

	"lockbench/internal/service"
	"lockbench/locks"
)

// Only servers of topologies with replicas follow the first one.
func TestConfigFollows(t *testing.T) {
	first := netip.MustParseAddrPort("127.0.0.1:6379")
	for _, topology := range topologies {
		at := service.Place{Topology: topology, Node: topology.Nodes()[1%len(topology.Nodes())], Leader: &first, Announced: first}
		follows := topology.Follows() && topology.Name != locks.Cluster
		if got := strings.Contains(config(at), "\nreplicaof "); got != follows {
			t.Errorf("%s: replicaof in the configuration: %t, want %t:\n%s", topology.Name, got, follows, config(at))
		}
	}
}
