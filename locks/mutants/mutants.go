// Package mutants has locks that are wrong on purpose. The mutation test (make mutants) shows that lockbench finds the
// mistake of each: one that a real lock has made, or could make.
//
//	token.go           a key with an owner's token on one master, made of steps
//	token_mistakes.go  a change of one of these steps each
//	naive.go           the four that people write first, which the catalog offers like other locks
//	majority.go        package redlock with one wrong step
//	redisson.go        the locks of package redisson, and a change of one line of their scripts
//	answers.go         a right lock whose answers are changed on their way to the caller
//	looking.go         readers or writers that look for others, and take the lock in a second request
//	clients_time.go    rows of a table, with ends by the clocks of clients
//
// They are in the catalog so that they can be run by name. Lists leave them out unless they are asked for.
//
// To add one, write an entry in the table of its file.
package mutants

import (
	"lockbench/locks"
	"slices"
)

// Mutant is a lock that is wrong on purpose, and what shows its mistake.
type Mutant struct {
	locks.Card
	Mistake    string // one line
	Topologies []locks.Topology
	WritesTime bool
	Wrong
	Open locks.Opener
}

// Wrong describes a mistake.
type Wrong struct {
	Bug   string // its id; docs/bugs.md explains the letters
	Known string // the library that had it; empty: none that is known
	// Scenario shows it as Class: a class of violations, or the rule of a finding.
	Scenario, Class string
	// Original is the right lock of which the mutant is a change, with its options as --locks takes them. It must pass
	// the same scenario.
	Original string
	// EpisodesMin is how many episodes show it, if more than the scenario has.
	EpisodesMin int
	// NotShown is why no scenario shows it yet. Empty: one does.
	NotShown string
}

// All are the mutants.
func All() []Mutant {
	return slices.Concat(tokenLocks(), majorityLocks(), redissonLocks(), answeringLocks(), timeLocks())
}

var (
	anyMaster   = []locks.Topology{locks.Single, locks.Replicated, locks.Sentinel}
	independent = []locks.Topology{locks.Independent}
)

// strictly is the mutant with the claim that it refuses only what is held.
func (m Mutant) strictly() Mutant {
	m.Claims.Strict = true
	return m
}

// writingTime marks a mutant that writes its client's time.
func (m Mutant) writingTime() Mutant {
	m.WritesTime = true
	return m
}
