package run

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

// Try does one fault alone on a topology, with clients at work on it.
func Try(ctx context.Context, w world.World, topology locks.Topology, step nemesis.Step, seed uint64) (Tried, error) {
	plan, err := nemesis.Draw(seed, 1, []nemesis.Step{step})
	if err != nil {
		return Tried{}, &scenarios.Error{File: "try", Text: err.Error()}
	}
	out := Tried{Fault: plan[0].Fault.String()}
	s := &scenarios.Scenario{
		Name: "try", Episodes: 1, Limit: time.Minute,
		Topology: scenarios.Topology{SingleStore: topology, Majority: locks.Independent, Masters: scenarios.DefaultMasters},
		Workload: scenarios.Workload{
			Name: scenarios.DefaultWorkload, Clients: 3, Keys: 2, TTL: scenarios.DefaultTTL,
			Hold: nemesis.Range{From: scenarios.DefaultHoldMin, To: scenarios.DefaultHoldMax},
		},
	}
	lock := "set-nx"
	if topology == locks.Independent {
		lock = "redlock"
	}
	sub, err := newSubject(s, scenarios.LockUse{Name: lock, Use: lock}, nil)
	if err != nil {
		return out, err
	}
	if err := plan[0].Fault.Available(w.Sketch(sub.spec)); err != nil {
		out.NA = err.Error()
		return out, nil
	}
	logs, err := os.MkdirTemp("", "lockbench-try-")
	if err != nil {
		return out, fmt.Errorf("make a folder for logs: %w", err)
	}
	defer func() { _ = os.RemoveAll(logs) }()
	sub.spec.LogDir = logs
	var mu sync.Mutex
	at := make(map[nemesis.Phase]time.Time)
	observer := silent()
	observer.phase = func(phase string, when time.Time, text string) {
		mu.Lock()
		defer mu.Unlock()
		at[nemesis.Phase(phase)] = when
		if phase == string(nemesis.Fails) {
			out.Failed = text
		}
	}
	t := &trial{
		scenario: s, subject: sub, plan: plan, seed: seed, world: w, history: io.Discard,
		log: func(string) {}, observer: observer, enough: func(int) bool { return true }, started: time.Now(),
	}
	switch err := t.run(ctx); {
	case errors.Is(err, world.ErrUnsupportedHere):
		out.NA = err.Error()
		return out, nil
	case err != nil:
		return out, err
	}
	mu.Lock()
	defer mu.Unlock()
	bites, ok := at[nemesis.Bites]
	switch {
	case ok:
		out.ToBite = bites.Sub(at[nemesis.Begins])
	case out.Failed == "":
		out.Failed = "the moment for it never came"
	}
	if healed, ok := at[nemesis.Healed]; ok {
		out.ToHeal = healed.Sub(at[nemesis.Heals])
	}
	return out, nil
}
