// Package simredis is a model of Redis for the world in virtual time
// ([lockbench/internal/virtual/sim]): servers that hold data, replication between them, and
// the sentinels that watch them, all in memory.
//
//	connection ─▶ process ─▶ call ─▶ miniredis
//	                          │
//	                          └─ state ─▶ replicas
//
//	sentinels ── ping, vote, promote ─▶ nodes
//
// A [node] is a machine. Its parts can be read one at a time:
//
//	process      from start to end: each command comes to its hook
//	call         one command in execution; commands.go has what is particular to each
//	keyspace     the data, which miniredis holds
//	connections  the connections, as miniredis and as the network know them
//	replication  the role of the node, and what a crash forgets
//	disk         what a loss of power forgets
//	readers      client-side caching
//
// miniredis executes commands, as far as testdata/conformance.txt compares the answers with a real
// server. Other commands are refused and end the run (see
// [covered]): a simulated server must not be the reason for a finding.
package simredis

import (
	"strings"

	"lockbench/internal/virtual/sim"
)

// Model is the model of Redis.
type Model struct {
	heard func(name string, args []string) // for tests: gets the commands that servers execute
}

var _ sim.Model = Model{}

// About returns a short description for the screen.
func (Model) About() string { return "in-memory Redis" }

// Covers returns the description of the model in reports.
func (Model) Covers() string { return "Redis and of its replication" }

// Purpose recognizes connections of go-redis that renew subscriptions or check in the background whether a server is back.
func (Model) Purpose(function string) (sim.Purpose, bool) {
	switch {
	case !strings.Contains(function, "go-redis/"):
	case strings.Contains(function, "(*PubSub)"):
		return sim.Subscription, true
	case strings.Contains(function, "(*ConnPool).tryDial"):
		return sim.Lookout, true
	}
	return sim.Operation, false
}
