// Package cluster is the cluster that the worlds with real servers share: nodes that run the
// programs of a service, clients as child processes, and a proxy between them.
//
// A world creates the machines of the nodes ([Machine]) and embeds [Cluster], which starts the nodes in order, forms
// the cluster by its service, and returns the store addresses for the clients.
package cluster
