// Package faulttest is the conformance suite of faults. Every fault must keep these rules in every world that has it:
//
//   - Inject returns when a probe has seen the effect of the fault.
//   - The fault heals, and the servers are healthy afterwards.
//   - Healing twice is harmless.
//   - An injection can be interrupted at any time, and its effect is undone.
//   - Two faults of the kind can overlap and be healed in either order.
//
// [Check] returns the broken rules.
package faulttest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"lockbench/internal/world"
	"lockbench/nemesis"
)

// healthLimit limits the time until the servers are healthy again. It is long because elections on a busy machine are slow.
const healthLimit = 60 * time.Second

// Subject is a fault with the cluster on which it is tested.
type Subject struct {
	Step    nemesis.Step
	Sketch  world.Sketch
	Cluster world.Cluster
	Crew    nemesis.Crew
}

// Check tests the fault and returns the broken rules. NA is the reason why the fault does not apply to the cluster, in which
// case nothing was injected.
func Check(ctx context.Context, s Subject) (na string, err error) {
	entry, ok := nemesis.Find(s.Step.Fault)
	if !ok {
		return "", fmt.Errorf("no fault is called %q", s.Step.Fault)
	}
	fault, err := entry.New(s.Step)
	if err != nil {
		return "", err
	}
	if why := fault.Available(s.Sketch); why != nil {
		return why.Error(), nil
	}
	for _, way := range []struct {
		name string
		try  func(context.Context, Subject, nemesis.Fault) error
	}{
		{"bites and heals", bitesAndHeals},
		{"healed twice", healedTwice},
		{"cut short", cutShort},
		{"two at once", twoAtOnce},
	} {
		if err := way.try(ctx, s, fault); err != nil {
			return "", fmt.Errorf("%s, %s: %w", fault, way.name, err)
		}
		if err := well(ctx, s.Cluster); err != nil {
			return "", fmt.Errorf("%s, %s: the servers are not well afterwards: %w", fault, way.name, err)
		}
	}
	return "", nil
}

// scene is a time at which the fault may be injected, with the recorded notes.
func (s Subject) scene(chance uint64) (nemesis.Scene, *[]string) {
	said := new([]string)
	scene := nemesis.Scene{
		Cluster: s.Cluster, Crew: s.Crew, Rand: rand.New(rand.NewPCG(chance, 1)),
		Begin: func(_ []string, text string) { *said = append(*said, text) },
	}
	return scene, said
}

func bitesAndHeals(ctx context.Context, s Subject, f nemesis.Fault) error {
	scene, said := s.scene(1)
	undo, err := f.Inject(ctx, scene)
	if err != nil {
		return errors.Join(fmt.Errorf("it does not bite: %w", err), healed(ctx, undo))
	}
	if len(*said) != 1 || (*said)[0] == "" {
		err = fmt.Errorf("it announced itself with %q, want once and in words", *said)
	}
	return errors.Join(err, healed(ctx, undo))
}

func healedTwice(ctx context.Context, s Subject, f nemesis.Fault) error {
	scene, _ := s.scene(2)
	undo, err := f.Inject(ctx, scene)
	return errors.Join(err, healed(ctx, undo), healed(ctx, undo))
}

// cutShort ends the context of the fault before the injection and shortly after its begin. The result of Inject does not
// matter, but no effect may remain.
func cutShort(ctx context.Context, s Subject, f nemesis.Fault) error {
	var errs []error
	for i, after := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond} {
		short, cancel := context.WithTimeout(ctx, after)
		scene, said := s.scene(uint64(3 + i))
		undo, err := f.Inject(short, scene)
		cancel()
		if err == nil && undo == nil {
			errs = append(errs, errors.New("it says that it bites and gives nothing to undo"))
		}
		if undo == nil && len(*said) > 0 && err != nil && after > 0 {
			errs = append(errs, fmt.Errorf("cut short after %s it had begun and gives nothing to undo: %w", after, err))
		}
		errs = append(errs, healed(ctx, undo), well(ctx, s.Cluster))
	}
	return errors.Join(errs...)
}

// twoAtOnce heals the older fault first, and in a second test the newer one.
func twoAtOnce(ctx context.Context, s Subject, f nemesis.Fault) error {
	both := nemesis.Together()
	for _, oldFirst := range []bool{true, false} {
		one, _ := s.scene(6)
		two, _ := s.scene(6) // the same random numbers give the same targets
		first, err1 := f.Inject(ctx, both(one))
		if kind, _ := nemesis.Find(s.Step.Fault); kind.Instant {
			// For example, a second promotion needs healthy servers.
			err1 = errors.Join(err1, healed(ctx, first), well(ctx, s.Cluster))
		}
		second, err2 := f.Inject(ctx, both(two))
		if !oldFirst {
			first, second = second, first
		}
		if err := errors.Join(err1, err2, healed(ctx, first), healed(ctx, second)); err != nil {
			return err
		}
		if err := well(ctx, s.Cluster); err != nil {
			return err
		}
	}
	return nil
}

func healed(ctx context.Context, undo nemesis.Undo) error {
	if undo == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthLimit)
	defer cancel()
	if err := undo(ctx); err != nil {
		return fmt.Errorf("it does not heal: %w", err)
	}
	return nil
}

// well waits until the servers answer and agree.
func well(ctx context.Context, c world.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	for {
		err := c.Healthy(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}
