// Package faulttest is the conformance suite of faults: what each of them must do in
// every world that has it, whatever it breaks.
//
//   - It bites: Inject returns when a probe has seen it, and says so.
//   - It heals, and the servers are well again afterwards.
//   - Healing twice is harmless.
//   - It may be cut short at any moment, and what was done is taken back.
//   - Two of it at once are healed in either order.
//
// [Check] returns what is wrong.
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

// healthLimit bounds how long servers may take to be well again. It is a limit and no
// wait: elections on a busy machine are slow.
const healthLimit = 60 * time.Second

// Subject is a fault and the cluster that it is tried on.
type Subject struct {
	Step    nemesis.Step
	Cluster world.Cluster
	Crew    nemesis.Crew
}

// Check tries the fault in every way and returns everything that is wrong. NA is why it
// cannot concern the cluster; then nothing was done.
func Check(ctx context.Context, s Subject) (na string, err error) {
	entry, ok := nemesis.Find(s.Step.Fault)
	if !ok {
		return "", fmt.Errorf("no fault is called %q", s.Step.Fault)
	}
	fault, err := entry.New(s.Step)
	if err != nil {
		return "", err
	}
	if why := fault.Available(s.Cluster); why != nil {
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

// scene is a moment of the subject at which the fault may strike, and what was said of it.
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

// cutShort ends the fault's context before it begins, and a moment later: what it says
// then does not matter, what it leaves does.
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

// twoAtOnce heals the older one first, then the younger one first.
func twoAtOnce(ctx context.Context, s Subject, f nemesis.Fault) error {
	both := nemesis.Together()
	for _, oldFirst := range []bool{true, false} {
		one, _ := s.scene(6)
		two, _ := s.scene(6) // the same chance: it strikes the same ones
		first, err1 := f.Inject(ctx, both(one))
		if kind, _ := nemesis.Find(s.Step.Fault); kind.Instant {
			// A second promotion, say, needs servers that have got over the first.
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
