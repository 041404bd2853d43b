// Package simredis is a model of Redis for the world in virtual time
// ([lockbench/internal/world/sim]): servers that hold data, replication between them, and
// the sentinels that watch them, all in memory.
//
//	connection ─▶ hook ─▶ miniredis        node: what a command does
//	                │
//	                └─ state ─▶ replicas   replication: what a crash forgets
//
//	sentinels ── ping, vote, promote ─▶ nodes
//
// What a command answers is miniredis's business, as far as testdata/conformance.txt has
// compared it with a real server. What is not compared is refused and ends the run (see
// [covered]): a simulated server must not be the reason for a finding.
package simredis

import (
	"strings"

	"lockbench/internal/world/sim"
)

// Model is Redis.
type Model struct {
	heard func(name string, args []string) // for tests: what servers execute
}

var _ sim.Model = Model{}

// About is the few words that the screen shows.
func (Model) About() string { return "in-memory Redis" }

// Covers is what reports say that it is a model of.
func (Model) Covers() string { return "Redis and of its replication" }

// Purpose knows go-redis, which renews subscriptions, and looks in the background whether
// a server is back.
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

// greeting is what a Redis answers to HELLO 2.
const greeting = "*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:2\r\n$2\r\nid\r\n:1\r\n" +
	"$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"

// AtOnce answers the greeting of a client that speaks the second version of the protocol:
// go-redis waits for it under a mutex.
func (n *node) AtOnce(_ sim.Line, written []byte) (reply []byte, done bool) {
	asked := parseCommands(written)
	if len(asked) == 1 && len(asked[0]) == 2 && strings.EqualFold(asked[0][0], "hello") && asked[0][1] == "2" {
		return []byte(greeting), true
	}
	return nil, false
}
