// Package cluster is the cluster of the worlds with real servers: nodes that run the programs of a
// service, clients as child processes, and a proxy between them.
//
// A world sets the fields of a [Cluster] that differ between worlds: a [Machine] for each node, the
// [Addresses] of clients, and the [Links] between nodes. The cluster starts the nodes in order, and
// kills and pauses them, and sets what happens on the links.
package cluster
