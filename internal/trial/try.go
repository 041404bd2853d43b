package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/nemesis"
	"lockbench/scenarios"
)

// Tried is one fault that was tried alone.
type Tried struct {
	Fault string
	// NA is why it cannot concern the topology here; then nothing was done.
	NA string
	// Failed is what was not seen to work, or to be healed.
	Failed string
	// ToBite is the time from the call until a probe saw the fault bite, ToHeal that
	// from the call to undo it until a probe saw it gone.
	ToBite, ToHeal time.Duration
}

// Try does one fault alone on a topology of a service, with clients of a lock at work on it.
func Try(ctx context.Context, w world.World, service string, topology locks.Topology, use scenarios.LockUse, step nemesis.Step, seed uint64) (Tried, error) {
	plan, err := nemesis.Draw(seed, 1, []nemesis.Step{step})
	if err != nil {
		return Tried{}, &scenarios.Error{File: "try", Text: err.Error()}
	}
	out := Tried{Fault: plan[0].Fault.String()}
	s := &scenarios.Scenario{
		Name: "try", Episodes: 1, Limit: time.Minute,
		Servers: map[string]scenarios.Servers{service: {Topology: scenarios.Topology{
			SingleStore: topology, Majority: locks.Independent, Masters: scenarios.DefaultMasters,
		}}},
		Workload: scenarios.Workload{
			Name: scenarios.DefaultWorkload, Clients: 3, Keys: 2, TTL: scenarios.DefaultTTL,
			Hold: nemesis.Range{From: scenarios.DefaultHoldMin, To: scenarios.DefaultHoldMax},
		},
	}
	sub, err := NewSubject(s, use, nil)
	if err == nil {
		err = Introduce(ctx, w, sub, s)
	}
	if err != nil {
		return out, err
	}
	if plan = plan.For(w.Sketch(sub.Spec)); plan[0].NA != "" {
		out.NA = plan[0].NA
		return out, nil
	}
	logs, err := os.MkdirTemp("", "lockbench-try-")
	if err != nil {
		return out, fmt.Errorf("make a folder for logs: %w", err)
	}
	defer func() { _ = os.RemoveAll(logs) }()
	sub.Spec.LogDir = logs
	seen := &stopwatch{at: make(map[nemesis.Phase]time.Time)}
	t := &Trial{
		Scenario: s, Subject: sub, Plan: plan, Seed: seed, World: w, History: io.Discard,
		Log: func(string) {}, Observer: seen, Started: time.Now(),
	}
	switch err := t.Run(ctx); {
	case errors.Is(err, world.ErrUnsupportedHere):
		out.NA = err.Error()
		return out, nil
	case err != nil:
		return out, err
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	out.Failed = seen.failed
	bites, ok := seen.at[nemesis.Bites]
	switch {
	case ok:
		out.ToBite = bites.Sub(seen.at[nemesis.Begins])
	case out.Failed == "":
		out.Failed = "the moment for it never came"
	}
	if healed, ok := seen.at[nemesis.Healed]; ok {
		out.ToHeal = healed.Sub(seen.at[nemesis.Heals])
	}
	return out, nil
}

// stopwatch notes when the one step of a plan came to which phase.
type stopwatch struct {
	Nobody
	mu     sync.Mutex
	at     map[nemesis.Phase]time.Time
	failed string
}

func (s *stopwatch) Phase(phase nemesis.Phase, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[phase] = time.Now()
	if phase == nemesis.Fails {
		s.failed = text
	}
}
