package redis

import (
	"lockbench/locks"
	"lockbench/service"
)

// Name is the name of the service and the prefix of its data nodes and endpoints.
const Name = "redis"

// The topologies of Redis. Every service may have the first three.
const (
	Single      = locks.Single
	Replicated  = locks.Replicated
	Independent = locks.Independent
	// Sentinel is a leader with followers. Sentinels watch it and report its address to clients.
	Sentinel locks.Topology = "sentinel"
	// Cluster is several leaders with followers. The leaders share the slots of the keys and redirect
	// clients.
	Cluster locks.Topology = "cluster"
)

// Parameters of clients in the topology Sentinel.
const (
	Sentinels  = "sentinel"    // the sentinels among the endpoints
	MasterName = "master_name" // the sentinels' name of the leader
)

// Store returns a store of a topology other than Sentinel. Clients may connect to the nodes: the only
// server, the service address of the leader of Replicated, all leaders of Independent, or the entry
// nodes of a Cluster.
func Store(t locks.Topology, nodes ...locks.Node) locks.Store {
	return locks.Store{Service: Name, Topology: t, Endpoints: map[string][]locks.Node{Name: nodes}}
}

// SentinelStore returns a store of the topology Sentinel: clients look up the leader by its name.
func SentinelStore(master string, sentinels ...locks.Node) locks.Store {
	return locks.Store{
		Service: Name, Topology: Sentinel,
		Endpoints: map[string][]locks.Node{Sentinels: sentinels},
		Params:    map[string]string{MasterName: master},
	}
}

// masterName is the name of the master in lockbench's sentinels.
const masterName = "mymaster"

// topologies are all ways in which servers can be joined.
var topologies = []service.Topology{
	{
		Name: locks.Single, Short: "1 master", Leads: service.OneLeader, Entry: Name,
		Parts: []service.Part{{Name: Name, Role: service.Data, Count: 1}},
	},
	{
		// There is no failover manager: lockbench decides which node is the master.
		Name: locks.Replicated, Short: "replicated 1+2", Leads: service.OneLeader, FirstAlone: true,
		Parts: []service.Part{{Name: Name, Role: service.Data, Count: 3}},
	},
	{
		Name: Sentinel, Short: "sentinel 1+2", Leads: service.OneLeader, Picks: true, Outlives: true,
		Entry: Sentinels, Discovers: true, FirstAlone: true,
		Caveat: "Failovers are quick here: sentinels take half a second of silence for death.",
		Parts: []service.Part{
			{Name: Name, Role: service.Data, Count: 3},
			{Name: Sentinels, Role: service.Witness, Count: 3},
		},
	},
	{
		// Three masters, and a replica for each.
		Name: Cluster, Short: "cluster 3+3", Leads: service.KeyLeader, PeerPorts: 1,
		Entry: Name, Discovers: true, Outlives: true,
		Parts: []service.Part{{Name: Name, Role: service.Data, Count: 6}},
	},
	{
		Name: locks.Independent, Short: "{n} masters", Leads: service.EachLeads, Entry: Name,
		Parts: []service.Part{{Name: Name, Role: service.Data, Count: 5}},
	},
}
