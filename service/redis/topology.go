package redis

import (
	"lockbench/locks"
	"lockbench/service"
)

// Name is what the service is called, its data nodes, and their endpoints.
const Name = "redis"

// The topologies of Redis. The first three are those that every service may have.
const (
	Single      = locks.Single
	Replicated  = locks.Replicated
	Independent = locks.Independent
	// Sentinel is a leader with followers, watched by sentinels, who tell clients where
	// the leader is.
	Sentinel locks.Topology = "sentinel"
	// Cluster is several leaders with followers, who share the slots of the keys and
	// tell clients who has which.
	Cluster locks.Topology = "cluster"
)

// Parameters of clients in the topology Sentinel.
const (
	Sentinels  = "sentinel"    // the sentinels among the endpoints
	MasterName = "master_name" // the parameter that says what sentinels call the leader
)

// Store is a store of every topology but Sentinel. Clients may connect to the nodes:
// the one server, the leader's service address of Replicated, all leaders of
// Independent, those of a Cluster that can be asked for the others.
func Store(t locks.Topology, nodes ...locks.Node) locks.Store {
	return locks.Store{Service: Name, Topology: t, Endpoints: map[string][]locks.Node{Name: nodes}}
}

// SentinelStore is a store of the topology Sentinel: clients ask the sentinels for the
// leader by its name.
func SentinelStore(master string, sentinels ...locks.Node) locks.Store {
	return locks.Store{
		Service: Name, Topology: Sentinel,
		Endpoints: map[string][]locks.Node{Sentinels: sentinels},
		Params:    map[string]string{MasterName: master},
	}
}

// masterName is what the sentinels of lockbench call the master that they watch.
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
		Name: Cluster, Short: "cluster 3+3", Leads: service.KeyLeader,
		Entry: Name, Discovers: true, Outlives: true,
		Parts: []service.Part{{Name: Name, Role: service.Data, Count: 6}},
	},
	{
		Name: locks.Independent, Short: "{n} masters", Leads: service.EachLeads, Entry: Name,
		Parts: []service.Part{{Name: Name, Role: service.Data, Count: 5}},
	},
}
