package run

import (
	"time"

	"lockbench/internal/trial"
	"lockbench/internal/world"
	"lockbench/nemesis"
	"lockbench/scenarios"
)

// Options are a scenario and the changes to it. A zero value keeps the value of the scenario.
type Options struct {
	Scenario *scenarios.Scenario
	Locks    []scenarios.LockUse
	Seed     uint64
	Episodes int
	// Duration runs as many episodes as fit into it.
	Duration       time.Duration
	Clients        int
	Keys           int
	TTL            *time.Duration
	Wait           *time.Duration
	Hold           *nemesis.Range
	Parallel       int // how many locks run at the same time; 0: as many as the machine can run
	NoFaults       bool
	UntilViolation bool
	Out            string // where results go; empty: "results"
	Folder         string // in Out; empty: the name of the scenario
	NoLink         bool   // do not update the link to the newest run

	// World must be ready. If it is nil, Prepare picks the world called WorldName, as [Pick] does, and completes Worlds
	// with the locks and their services.
	World     world.World
	WorldName string
	Worlds    WorldOptions
	// DryRun prepares a job that will not run: its world need not be ready, and Prepare starts no guests.
	DryRun bool
	// Opener opens clients of the caller's own lock in this process. The entry of Locks without a source uses it.
	Opener *trial.Opener
	// InProcess runs the clients of catalog locks in this process, because the caller's program cannot serve them.
	InProcess bool
	// Again is the command line that repeats the run. If it is empty, a simulated run names its replay.
	Again string
	// Program is the version of lockbench.
	Program string
}

// apply returns the scenario with the options applied.
func (o Options) apply() scenarios.Scenario {
	s := *o.Scenario
	if len(o.Locks) > 0 {
		s.Locks = o.Locks
	}
	if o.Episodes > 0 {
		s.Episodes = o.Episodes
		// The limit applies to the scenario's own number of episodes.
		s.Limit *= time.Duration(max(1, (o.Episodes+o.Scenario.Episodes-1)/o.Scenario.Episodes))
	}
	if o.Clients > 0 {
		s.Workload.Clients = o.Clients
	}
	if o.Keys > 0 {
		s.Workload.Keys = o.Keys
	}
	if o.TTL != nil {
		s.Workload.TTL = *o.TTL
	}
	if o.Wait != nil {
		s.Workload.Wait = *o.Wait
	}
	if o.Hold != nil {
		s.Workload.Hold = *o.Hold
	}
	return s
}

// fill plans as many episodes as can fit into Duration.
func (o Options) fill(s *scenarios.Scenario) {
	if o.Duration > 0 {
		s.Limit = o.Duration
		s.Episodes = max(s.Episodes, int(o.Duration/max(s.Quiet, shortestEpisode))+1)
	}
}

// shortestEpisode is the least duration of an episode without a recovery period.
const shortestEpisode = 100 * time.Millisecond
