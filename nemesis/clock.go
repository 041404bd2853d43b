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
)

// clockLeast is the smallest offset that a probe detects on a busy machine.
const clockLeast = 250 * time.Millisecond

// clockMost is ten years. Sums of much longer times overflow.
const clockMost = 10 * 365 * 24 * time.Hour

// Clock shifts the wall clocks of servers or clients by a jump (by: 60s, by: -3s), or makes them
// run faster or slower (drift: 10%). A server expires keys by its wall clock, so a jump ahead ends
// leases early, and a jump back extends them. A client's clock matters to locks that write its time
// where others read it. Healing sets the clock right, which is another jump.
type Clock struct {
	Target string
	By     time.Duration
	Drift  float64 // seconds gained in every second
}

var _ Preparer = Clock{}

func newClock(s Step) (Fault, error) {
	f := Clock{Target: s.Target}
	var err error
	if by, ok := s.Options["by"]; ok {
		if f.By, err = time.ParseDuration(by); err != nil || f.By.Abs() < clockLeast {
			return nil, fmt.Errorf("by: %q is not a duration of %s or more, such as 60s or -3s", by, clockLeast)
		}
		if f.By.Abs() > clockMost {
			return nil, fmt.Errorf("by: %q is too long: at most %v", by, clockMost)
		}
	}
	if drift, ok := s.Options["drift"]; ok {
		share, err := strconv.ParseFloat(strings.TrimSuffix(drift, "%"), 64)
		if f.Drift = share / 100; err != nil || !strings.HasSuffix(drift, "%") || f.Drift < -0.9 || f.Drift > 100 || f.Drift == 0 {
			return nil, fmt.Errorf("drift: %q is not a share from -90%% to 10000%%, such as 10%%", drift)
		}
	}
	if f.By == 0 && f.Drift == 0 {
		return nil, errors.New("say how the clock is wrong: by: 60s, or drift: 10%")
	}
	return f, nil
}

func (f Clock) String() string {
	text := "clock of " + f.Target
	if f.By != 0 {
		text += fmt.Sprintf(" off by %s", f.By)
	}
	if f.Drift != 0 {
		text += fmt.Sprintf(" gains %g %%", f.Drift*100)
	}
	return text
}

// Prepare requests servers or clients with shiftable clocks.
func (f Clock) Prepare(s *world.Spec) {
	s.Clocks = s.Clocks || !ofClients(f.Target)
	s.ClientClocks = s.ClientClocks || ofClients(f.Target)
}

// Effect states that it moves clocks and leaves connections alone.
func (Clock) Effect() []string { return []string{history.EffectClocks} }

// Available requires servers or clients whose clocks can be shifted.
func (f Clock) Available(c world.Sketch) error {
	if err := roleAvailable(f.Target, c); err != nil {
		return err
	}
	switch {
	case ofClients(f.Target) && f.Drift != 0:
		return cmp.Or(c.ClientClocks, c.ClientDrift)
	case ofClients(f.Target):
		return c.ClientClocks
	}
	if c.Abilities().ClockOffset == nil {
		return errors.New("these servers do not tell what time it is")
	}
	return c.Clocks
}

// Inject shifts the clocks and reads the time of the servers.
func (f Clock) Inject(ctx context.Context, s Scene) (Undo, error) {
	targets, err := resolve(ctx, f.Target, s)
	if err != nil {
		return nil, err
	}
	s.Begin(targets, f.String())
	clocks := f.clocks(s)
	return s.apply(ctx, lasting{
		condition: skewed, names: targets,
		inject: func() error {
			return each(targets, func(node string) error { return clocks.shift(ctx, node, f.By, f.Drift) })
		},
		seen: func(ctx context.Context) error { return f.seen(ctx, s, clocks, targets, "wrong", f.wrong) },
		// If two shifted one clock, the later shift stays until both are healed, so only clocks
		// that were set right are checked.
		undo: func(ctx context.Context, last []string) error {
			err := each(last, func(node string) error { return clocks.shift(ctx, node, 0, 0) })
			if err != nil {
				return err
			}
			return f.seen(ctx, s, clocks, last, "right", func(offset time.Duration) bool { return offset.Abs() < clockLeast })
		},
	})
}

// wrong reports whether a clock has the offset that was set.
func (f Clock) wrong(offset time.Duration) bool {
	switch {
	case f.By == 0:
		return (offset > 0) == (f.Drift > 0) && offset.Abs() > clockLeast/10
	case f.Drift == 0:
		return (offset - f.By).Abs() < clockLeast
	}
	return (offset-f.By).Abs() < clockLeast || offset.Abs() > clockLeast
}

// clocks are those of servers or clients, by name.
type clocks struct {
	shift  func(ctx context.Context, name string, by time.Duration, drift float64) error
	offset func(ctx context.Context, name string) (time.Duration, error)
}

func (f Clock) clocks(s Scene) clocks {
	if ofClients(f.Target) {
		return clocks{
			func(_ context.Context, name string, by time.Duration, drift float64) error {
				return s.Cluster.ShiftClientClock(history.ParseParty(name).Number, by, drift)
			},
			func(_ context.Context, name string) (time.Duration, error) {
				return s.Cluster.ClientClockOffset(history.ParseParty(name).Number)
			},
		}
	}
	return clocks{s.Cluster.ShiftClock, s.Cluster.Abilities().ClockOffset}
}

// seen reads the time until it is as expected.
func (f Clock) seen(ctx context.Context, s Scene, clocks clocks, nodes []string, what string, right func(offset time.Duration) bool) error {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	return each(nodes, func(node string) error {
		// A server that another fault keeps from answering is skipped.
		return until(ctx, "the clock of "+node+" "+what, func(ctx context.Context) error {
			if s.claims.has(node, killed, stopped, occupied) {
				return nil
			}
			offset, err := clocks.offset(ctx, node)
			if err == nil && !right(offset) {
				err = fmt.Errorf("it is off by %s", offset)
			}
			return err
		})
	})
}
