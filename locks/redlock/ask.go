package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// node is one of the masters.
type node struct {
	name   string
	client *redis.Client
}

// answer is what a node said: yes or no, or err and nobody knows.
type answer struct {
	yes bool
	err error
}

// answers are those of all nodes, in the order of the nodes.
type answers []answer

// ask takes one step on all nodes at once and waits for every answer, or for its
// limit. They must be asked at once: one after the other, each silent node would
// take its limit off the validity of the lease.
func (l *redLock) ask(ctx context.Context, limit time.Duration, step func(context.Context, node) (bool, error)) answers {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	all := make(answers, len(l.nodes))
	var wg sync.WaitGroup
	for i, n := range l.nodes {
		wg.Go(func() { all[i].yes, all[i].err = step(ctx, n) })
	}
	wg.Wait()
	return all
}

// outcome is what the answers say about a majority of yes.
type outcome uint8

// The outcomes. Open is the zero value: what was not shown is not known.
const (
	open    outcome = iota // the silent nodes could decide it either way
	agreed                 // there was one
	refused                // there was none, whatever the silent nodes would say
)

// outcome counts. With five nodes, three yes are agreed and three no are refused;
// two no and three silent ones are neither.
func (a answers) outcome() outcome {
	quorum := len(a)/2 + 1
	switch {
	case a.yes() >= quorum:
		return agreed
	case len(a)-a.no() < quorum:
		return refused
	}
	return open
}

func (a answers) yes() int {
	n := 0
	for _, one := range a {
		if one.err == nil && one.yes {
			n++
		}
	}
	return n
}

func (a answers) no() int {
	n := 0
	for _, one := range a {
		if one.err == nil && !one.yes {
			n++
		}
	}
	return n
}

// who names the nodes that said yes.
func (a answers) who(nodes []node) []string {
	var names []string
	for i, one := range a {
		if one.err == nil && one.yes {
			names = append(names, nodes[i].name)
		}
	}
	return names
}

// errors joins what went wrong, each with its node's name; nil if all answered.
func (a answers) errors(nodes []node) error {
	var errs []error
	for i, one := range a {
		if one.err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", nodes[i].name, one.err))
		}
	}
	return errors.Join(errs...)
}
