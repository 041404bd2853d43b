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

// answer is the answer of a node: yes or no. After an error it is unknown.
type answer struct {
	yes bool
	err error
}

// answers are those of all nodes, in the order of the nodes.
type answers []answer

// Op is what a step does on a node.
type Op uint8

// The operations.
const (
	Claim   Op = iota // set the key
	Extend            // move its end
	CleanUp           // delete the key of a try that failed
	Free              // delete the key of a lease
)

// ask takes one step on all nodes at once and waits for every answer, or for its
// limit. If it asked one node after the other, each silent node would
// take its limit off the validity of the lease.
func (l *redLock) ask(ctx context.Context, op Op, limit time.Duration, step func(context.Context, node) (bool, error)) answers {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	all := make(answers, len(l.nodes))
	var wg sync.WaitGroup
	for i, n := range l.nodes {
		wg.Go(func() {
			if l.options.Ask != nil {
				all[i].yes, all[i].err = l.options.Ask(ctx, op, i, func() (bool, error) { return step(ctx, n) })
				return
			}
			all[i].yes, all[i].err = step(ctx, n)
		})
	}
	wg.Wait()
	return all
}

// outcome tells whether enough nodes said yes.
type outcome uint8

// The outcomes. The zero value is open.
const (
	open    outcome = iota // the silent nodes could decide it either way
	agreed                 // there was one
	refused                // there was none, whatever the silent nodes would say
)

// outcome counts. With five nodes, three yes are agreed and three no are refused;
// two no and three silent ones are neither.
func (l *redLock) outcome(a answers) outcome {
	quorum := len(a)/2 + 1
	if l.options.Quorum != nil {
		quorum = l.options.Quorum(len(a), a.yes()+a.no())
	}
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
