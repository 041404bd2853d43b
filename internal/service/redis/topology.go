package redis

import (
	"lockbench/internal/service"
	"lockbench/locks"
)

// Name is the name of the service and the prefix of its data nodes and endpoints.
const Name = "redis"

// Store returns a store of a topology other than Sentinel. Clients may connect to the nodes: the only
// server, the service address of the leader of Replicated, all leaders of Independent, or the entry
// nodes of a Cluster.
func Store(t locks.Topology, nodes ...locks.Node) locks.Store {
	return locks.Store{Service: Name, Topology: t, Endpoints: map[string][]locks.Node{Name: nodes}}
}

// SentinelStore returns a store of the topology Sentinel: clients look up the leader by its name.
func SentinelStore(master string, sentinels ...locks.Node) locks.Store {
	return locks.Store{
		Service: Name, Topology: locks.Sentinel,
		Endpoints: map[string][]locks.Node{locks.Sentinels: sentinels},
		Params:    map[string]string{locks.MasterName: master},
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
		Name: locks.Sentinel, Short: "sentinel 1+2", Leads: service.OneLeader, Picks: true, Outlives: true,
		Entry: locks.Sentinels, Discovers: true, FirstAlone: true,
		Caveat: "Failovers are quick here: sentinels take half a second of silence for death.",
		Parts: []service.Part{
			{Name: Name, Role: service.Data, Count: 3},
			{Name: locks.Sentinels, Role: service.Witness, Count: 3},
		},
	},
	{
		// Three masters, and a replica for each.
		Name: locks.Cluster, Short: "cluster 3+3", Leads: service.KeyLeader, PeerPorts: 1,
		Entry: Name, Discovers: true, Outlives: true,
		Parts: []service.Part{{Name: Name, Role: service.Data, Count: 6}},
	},
	{
		Name: locks.Independent, Short: "{n} masters", Leads: service.EachLeads, Entry: Name,
		Parts: []service.Part{{Name: Name, Role: service.Data, Count: 5}},
	},
}
