// Package mutants has locks that are wrong on purpose, so that a test bench can show that
// it sees what it is for. Each makes one mistake that somebody has made, or could have.
//
//	token.go           a key with an owner's token on one master, made of steps
//	token_mistakes.go  a change of one of these steps each
//	majority.go        the same on a majority of masters
//	redisson.go        the locks of package redisson, and a change of one line of their scripts
//	answers.go         a right lock whose answers are changed on their way to the caller
//	looking.go         a writer that looks for readers, and takes the lock in a second request
//	clients_time.go    rows of a table, with ends by the clocks of clients
//
// None of them is ever to be used. They are in the catalog so that they can be run by
// name, but no list offers them unasked.
//
// To add one, write an entry in the table of its file.
package mutants

import (
	"slices"

	"lockbench/locks"
	"lockbench/service/redis"
)

// Mutant is one wrong lock, and what must come out when it is tried.
type Mutant struct {
	locks.Card
	Mistake    string // one line
	Topologies []locks.Topology
	WritesTime bool
	Wrong
	Open func() locks.Opener
}

// Wrong is what is known of a mistake.
type Wrong struct {
	Bug   string // its id in docs/bugs.md
	Known string // where it was found in the world; empty: in no library that we know
	// Scenario shows it, and Class is what is found then: a class of violations, or the rule
	// of a finding.
	Scenario, Class string
	// Twin is the right lock that must pass the same scenario, with its options as they are typed.
	Twin string
	// EpisodesMin is how many episodes the scenario needs for it, if more than the scenario says.
	EpisodesMin int `json:"-"`
	// NotShown is why no scenario shows it yet. Empty: one does.
	NotShown string
}

// All are the wrong locks.
func All() []Mutant {
	return slices.Concat(tokenLocks(), majorityLocks(), redissonLocks(), answeringLocks(), timeLocks())
}

var (
	anyMaster   = []locks.Topology{locks.Single, locks.Replicated, redis.Sentinel}
	independent = []locks.Topology{locks.Independent}
)

// strictly is the mutant with the claim that whoever is refused was refused for a holder.
func (m Mutant) strictly() Mutant {
	m.Claims.Strict = true
	return m
}

// opened is the mutant with another opener, one that writes its client's time.
func (m Mutant) opened(open func() locks.Opener) Mutant {
	m.Open, m.WritesTime = open, true
	return m
}
