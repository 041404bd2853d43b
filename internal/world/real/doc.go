// Package real is what the worlds of real processes have in common: a cluster whose
// nodes run programs of a service, with clients as child processes and a mesh between.
//
// A world makes the nodes ([Node]) and says where clients find them ([Addresses]); the
// order in which nodes are started, what their service is told and what clients are
// told of it are here. A world's cluster embeds [Cluster].
package real
