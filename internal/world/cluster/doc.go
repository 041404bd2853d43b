// Package cluster is the cluster of the worlds with real servers: the machines that run the servers of a
// service, clients as child processes, and a proxy between them.
//
// A world creates a [Cluster], adds a [Machine] for each node, and sets the fields that differ between worlds: the
// [Addresses] of clients, and the [Links] between nodes.
package cluster
