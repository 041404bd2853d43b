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

// ask takes one step on all nodes at once, and waits for every answer or for the limit. If it asked one node after the
// other, each silent node would shorten the lease by the limit.
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

// outcome is the decision of all nodes.
type outcome uint8

// The outcomes. The zero value is open.
const (
	open    outcome = iota // depends on the silent nodes
	agreed                 // enough nodes answered yes
	refused                // too many nodes answered no, whatever the silent nodes would answer
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

func (a answers) yes() int { return a.count(true) }
func (a answers) no() int  { return a.count(false) }

func (a answers) count(yes bool) (n int) {
	for _, one := range a {
		if one.err == nil && one.yes == yes {
			n++
		}
	}
	return n
}

// yesOf returns the names of the nodes that answered yes.
func (a answers) yesOf(nodes []node) []string {
	var names []string
	for i, one := range a {
		if one.err == nil && one.yes {
			names = append(names, nodes[i].name)
		}
	}
	return names
}

// errors joins the errors, each with its node's name. It returns nil if all nodes answered.
func (a answers) errors(nodes []node) error {
	var errs []error
	for i, one := range a {
		if one.err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", nodes[i].name, one.err))
		}
	}
	return errors.Join(errs...)
}
