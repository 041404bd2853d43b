package nemesis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/workloads"
)

// clockLeast is the smallest offset that a probe detects on a busy machine.
const clockLeast = 250 * time.Millisecond

// clockMost is ten years. Sums of much longer times overflow.
const clockMost = 10 * 365 * 24 * time.Hour

var clockEntry = Entry{
	Name: "clock", About: "shift the wall clocks of servers or clients, by a jump or a drift",
	Keys: []Key{
		{Name: "by", Takes: "duration or minus a duration", About: "how far the clock jumps, ahead (5s) or back (-5s)"},
		{Name: "drift", Takes: "percent", About: "what the clock gains (10%) or loses (-10%) in every second"},
	},
	New:  newClock,
	Try:  Step{Target: "master", For: oneSecond, Options: map[string]string{"by": "5s"}},
	Also: []Step{{Target: "half the clients", For: oneSecond, Options: map[string]string{"by": "5s"}}},
	DrawClocks: []Step{
		{Target: "half the clients", Options: map[string]string{"by": "10s"}},
		{Target: "half the clients", Options: map[string]string{"by": "-10s"}},
		{Target: "half the clients", Options: map[string]string{"drift": "200%"}},
		{Target: "holder", When: workloads.Acquired, Options: map[string]string{"drift": "-80%"}},
	},
}

// clock shifts the wall clocks of servers or clients by a jump (by: 60s, by: -3s), or makes them
// run faster or slower (drift: 10%). A server expires keys by its wall clock, so a jump ahead ends
// leases early, and a jump back extends them. A client's clock matters to locks that write its time
// where others read it. Undoing sets the clock right, which is another jump.
type clock struct {
	target  string
	clients bool // the target are clients
	by      time.Duration
	drift   float64 // seconds gained in every second
}

func newClock(step Step) (Fault, error) {
	f := clock{target: step.Target, clients: ofClients(step.Target)}
	text := "clock of " + f.target
	var err error
	if by, ok := step.Options["by"]; ok {
		if f.by, err = time.ParseDuration(by); err != nil || f.by.Abs() < clockLeast {
			return Fault{}, fmt.Errorf("by: %q is not a duration of %s or more, such as 60s or -3s", by, clockLeast)
		}
		if f.by.Abs() > clockMost {
			return Fault{}, fmt.Errorf("by: %q is too long: at most %v", by, clockMost)
		}
		text += fmt.Sprintf(" off by %s", f.by)
	}
	if drift, ok := step.Options["drift"]; ok {
		share, err := strconv.ParseFloat(strings.TrimSuffix(drift, "%"), 64)
		if f.drift = share / 100; err != nil || !strings.HasSuffix(drift, "%") || f.drift < -0.9 || f.drift > 100 || f.drift == 0 {
			return Fault{}, fmt.Errorf("drift: %q is not a share from -90%% to 10000%%, such as 10%%", drift)
		}
		text += fmt.Sprintf(" gains %g %%", f.drift*100)
	}
	if f.by == 0 && f.drift == 0 {
		return Fault{}, errors.New("say how the clock is wrong: by: 60s, or drift: 10%")
	}
	return Fault{
		Text:      text,
		Effects:   []string{history.EffectClocks},
		Available: f.available,
		Prepare: func(s *world.Spec) {
			s.Clocks = s.Clocks || !f.clients
			s.ClientClocks = s.ClientClocks || f.clients
		},
		Inject: onTargets(f.target, func(ctx context.Context, s Scene, targets []string) (Undo, error) {
			s.Begin(targets, text)
			return f.inject(ctx, s, targets)
		}),
	}, nil
}

// available requires servers or clients whose clocks can be shifted.
func (f clock) available(c world.Sketch) error {
	if err := roleAvailable(f.target, c); err != nil {
		return err
	}
	switch {
	case f.clients && f.drift != 0:
		return cmp.Or(c.ClientClocks, c.ClientDrift)
	case f.clients:
		return c.ClientClocks
	}
	if c.Abilities().ClockOffset == nil {
		return errors.New("these servers do not tell what time it is")
	}
	return c.Clocks
}

// inject shifts the clocks and reads the time of the servers or clients. If two faults shifted one clock, the later
// shift stays until both are undone, so the undo checks only clocks that it set right.
func (f clock) inject(ctx context.Context, s Scene, targets []string) (Undo, error) {
	shift, offset := s.Cluster.ShiftClock, s.Cluster.Abilities().ClockOffset
	if f.clients {
		shift = func(_ context.Context, name string, by time.Duration, drift float64) error {
			return s.Cluster.ShiftClientClock(history.ParseParty(name).Number, by, drift)
		}
		offset = func(_ context.Context, name string) (time.Duration, error) {
			return s.Cluster.ClientClockOffset(history.ParseParty(name).Number)
		}
	}
	// seen reads the time until it is as expected.
	seen := func(ctx context.Context, names []string, what string, expected func(offset time.Duration) bool) error {
		ctx, cancel := context.WithTimeout(ctx, probeLimit)
		defer cancel()
		return each(names, func(name string) error {
			return until(ctx, "the clock of "+name+" "+what, func(ctx context.Context) error {
				// A server that another fault keeps from answering is skipped.
				if s.claims.has(name, killed, stopped, occupied) {
					return nil
				}
				off, err := offset(ctx, name)
				if err == nil && !expected(off) {
					err = fmt.Errorf("it is off by %s", off)
				}
				return err
			})
		})
	}
	wrong := forEach(func(ctx context.Context, name string) error { return shift(ctx, name, f.by, f.drift) })
	right := forEach(func(ctx context.Context, name string) error { return shift(ctx, name, 0, 0) })
	undo := func(ctx context.Context, last []string) error {
		if err := right(ctx, last); err != nil {
			return err
		}
		return seen(ctx, last, "right", func(offset time.Duration) bool { return offset.Abs() < clockLeast })
	}
	return s.apply(ctx, skewed, targets, wrong, undo, probe{
		seen: func(ctx context.Context) error { return seen(ctx, targets, "wrong", f.wrong) },
	})
}

// wrong reports whether a clock has the offset that was set.
func (f clock) wrong(offset time.Duration) bool {
	switch {
	case f.by == 0:
		return (offset > 0) == (f.drift > 0) && offset.Abs() > clockLeast/10
	case f.drift == 0:
		return (offset - f.by).Abs() < clockLeast
	}
	return (offset-f.by).Abs() < clockLeast || offset.Abs() > clockLeast
}
