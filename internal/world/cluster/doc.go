// Package cluster is what the worlds of real processes have in common: a cluster whose
// nodes run programs of a service, with clients as child processes and a proxy between.
//
// A world makes the nodes ([Node]) and their addresses for clients ([Addresses]). This
// package starts the nodes in order, passes them to the service, and passes the store's
// addresses to the clients. A world's cluster embeds [Cluster].
package cluster
