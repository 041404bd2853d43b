package scenarios

import (
	"strings"
	"time"

	"lockbench/locks"
	"lockbench/nemesis"
)

// Version is the first line of every scenario this package reads.
const Version = "scenario/1"

// Scenario is a file that was read and found to be right.
type Scenario struct {
	Name     string            // of the file, without folder and ending
	About    string            `yaml:"about"` // the story, as the person wrote it
	Shows    []string          `yaml:"shows"`
	Locks    []LockUse         `yaml:"locks"` // in the order of the file
	Topology Topology          `yaml:"topology"`
	Redis    map[string]string `yaml:"redis"` // server settings, as in redis.conf
	Workload Workload          `yaml:"workload"`
	Episodes int               `yaml:"episodes"`
	Quiet    time.Duration     `yaml:"quiet"`  // after each heal
	Limit    time.Duration     `yaml:"limit"`  // of the whole run; it stops between episodes
	Faults   []nemesis.Step    `yaml:"faults"` // of one episode, from top to bottom
	NoFaults bool              // `faults: none`
	// Expect is by LockUse.Name; Expectation tells what holds for the others.
	Expect map[string]Expectation
	Source []byte // the text itself
}

// Topology says which servers each family of locks gets.
type Topology struct {
	SingleStore locks.Topology // single, replicated, sentinel or cluster
	Majority    locks.Topology // independent
	Masters     int            // of independent
}

// Workload says what the clients do.
type Workload struct {
	Name    string
	Clients int           `yaml:"clients"`
	Keys    int           `yaml:"keys"`
	TTL     time.Duration `yaml:"ttl"`  // 0: the lock's own, renewed for as long as it is held
	Wait    time.Duration `yaml:"wait"` // 0: try once
	Hold    nemesis.Range `yaml:"hold"`
}

// What holds where a scenario says nothing.
const (
	DefaultWorkload = "counter"
	DefaultClients  = 8
	DefaultKeys     = 4
	DefaultTTL      = 8 * time.Second
	DefaultHoldMin  = 5 * time.Millisecond
	DefaultHoldMax  = 50 * time.Millisecond
	DefaultEpisodes = 3
	DefaultQuiet    = 2 * time.Second
	DefaultLimit    = 60 * time.Second
	DefaultMasters  = 5
)

// defaults is a scenario that says nothing yet.
func defaults() *Scenario {
	return &Scenario{
		Topology: Topology{SingleStore: locks.Single, Majority: locks.Independent, Masters: DefaultMasters},
		Workload: Workload{
			Name: DefaultWorkload, Clients: DefaultClients, Keys: DefaultKeys, TTL: DefaultTTL,
			Hold: nemesis.Range{From: DefaultHoldMin, To: DefaultHoldMax},
		},
		Episodes: DefaultEpisodes, Quiet: DefaultQuiet, Limit: DefaultLimit,
	}
}

// For is the workload and the topology of one lock: the scenario's, changed by
// the options of the lock that say so (`set-nx/ttl=2s`, `redlock/nodes=3`).
func (s *Scenario) For(u LockUse) (Workload, Topology) {
	w, t := s.Workload, s.Topology
	if u.TTL != nil {
		w.TTL = *u.TTL
	}
	if u.Wait != nil {
		w.Wait = *u.Wait
	}
	if u.Hold != nil {
		w.Hold = *u.Hold
	}
	if u.Clients > 0 {
		w.Clients = u.Clients
	}
	if u.Nodes > 0 {
		t.Masters = u.Nodes
	}
	return w, t
}

// Expectation is what the scenario expects of a lock, by its LockUse.Name. Of a lock with
// options (`set-nx/ttl=2s`) that is not named itself it expects what it expects of the
// lock without them: whoever gives a lock another ttl on the command line has not made
// it a safe one. A lock that is not named at all must be valid.
func (s *Scenario) Expectation(name string) Expectation {
	if e, ok := s.Expect[name]; ok {
		return e
	}
	if plain, _, options := strings.Cut(name, "/"); options {
		if e, ok := s.Expect[plain]; ok {
			e.Of = plain
			return e
		}
	}
	return Expectation{Judgement: Judgement{Verdict: Valid}}
}
