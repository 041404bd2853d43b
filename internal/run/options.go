package run

import (
	"time"

	"lockbench/internal/trial"
	"lockbench/internal/world"
	"lockbench/nemesis"
	"lockbench/scenarios"
)

// Options are the scenario of a run and what is changed in it. The zero value of each means:
// as the scenario says.
type Options struct {
	Scenario *scenarios.Scenario
	Locks    []scenarios.LockUse
	Seed     uint64
	Episodes int
	// Duration lets episodes follow each other until it is over, however many.
	Duration       time.Duration
	Clients        int
	Keys           int
	TTL            *time.Duration
	Wait           *time.Duration
	Hold           *nemesis.Range
	Parallel       int // how many locks at once; 0: as many as the machine carries
	NoFaults       bool
	UntilViolation bool
	Out            string // where results go; empty: "results"
	NoLink         bool   // leave the link to the newest run as it is

	// World is where it runs, already found ready. If it is nil, Prepare picks the world that is
	// called WorldName, as [Pick] does; Worlds need not name the locks and their services.
	World     world.World
	WorldName string
	Worlds    WorldOptions
	// DryRun is for a job that is only looked at: its world need not be ready, and no guest
	// is asked for its hello.
	DryRun bool
	// Opener is a lock of the caller's own, which runs in this process under the name
	// of the entry of Locks that uses nothing else. Nil: there is none.
	Opener *trial.Opener
	// InProcess lets the clients of locks from the catalog run in this process, too: the
	// caller's program is not lockbench and cannot serve them.
	InProcess bool
	// Again is the command that repeats this run.
	Again string
	// Program is the version of the program, for the record.
	Program string
}

// apply is the scenario with the options in force, so that everything after it
// reads one place.
func (o Options) apply() scenarios.Scenario {
	s := *o.Scenario
	if len(o.Locks) > 0 {
		s.Locks = o.Locks
	}
	if o.Episodes > 0 {
		s.Episodes = o.Episodes
		// The limit is meant for the scenario's own number of episodes.
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

// last plans for as many episodes as can follow each other in the duration that was asked
// for, however many that are.
func (o Options) last(s *scenarios.Scenario) {
	if o.Duration > 0 {
		s.Limit = o.Duration
		s.Episodes = max(s.Episodes, int(o.Duration/max(s.Quiet, shortestEpisode))+1)
	}
}

// shortestEpisode is how long one takes at least where a scenario asks for no quiet.
const shortestEpisode = 100 * time.Millisecond
