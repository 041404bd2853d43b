package redistest

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	service "lockbench/internal/service/redis"
	"lockbench/locks"
)

// Cluster is a running Redis cluster without replicas, which ends with its test.
type Cluster struct{ Nodes []*Server }

// StartCluster starts n masters that share the slots.
func StartCluster(t testing.TB, n int) *Cluster {
	t.Helper()
	c := &Cluster{}
	for range n {
		c.Nodes = append(c.Nodes, launch(t, "Ready to accept connections", func(host, port, dir string) ([]string, error) {
			bus, err := freePort(host)
			return []string{"--bind", host, "--port", port, "--dir", dir, "--cluster-enabled", "yes",
				"--cluster-port", bus, "--save", "", "--appendonly", "no", "--daemonize", "no", "--logfile", ""}, err
		}))
	}
	for i, s := range c.Nodes {
		if err := s.Client.ClusterAddSlotsRange(t.Context(), i*service.Slots/n, (i+1)*service.Slots/n-1).Err(); err != nil {
			t.Fatalf("give node %d its slots: %v", i, err)
		}
		if i == 0 {
			continue
		}
		host, port, _ := net.SplitHostPort(s.Addr)
		info := s.Client.ConfigGet(t.Context(), "cluster-port").Val()
		if err := c.Nodes[0].Client.Do(t.Context(), "cluster", "meet", host, port, info["cluster-port"]).Err(); err != nil {
			t.Fatalf("introduce node %d: %v", i, err)
		}
	}
	for i, s := range c.Nodes {
		Await(t, fmt.Sprintf("node %d knows the whole cluster", i), func() bool {
			info := s.Client.ClusterInfo(t.Context()).Val()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_size:"+strconv.Itoa(n))
		})
	}
	return c
}

// freePort finds a port for the cluster bus. The usual port, 10,000 above the other one, does not exist for half of the
// ports that a kernel assigns.
func freePort(host string) (string, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// Store returns a store of the cluster that names one of its nodes.
func (c *Cluster) Store() locks.Store {
	return service.Store(locks.Cluster, c.Nodes[0].Node("redis-1"))
}
