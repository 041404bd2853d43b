//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/internal/service"
)

// ClockSetter is a machine with a clock that can be shifted. The clocks of data nodes can be, if
// [Machines.Preload] is set.
type ClockSetter interface {
	SetClock(ctx context.Context, by time.Duration, drift float64) error
}

// ShiftClock shifts a server's clock.
func (m *Machines) ShiftClock(ctx context.Context, name string, by time.Duration, drift float64) error {
	n, err := m.node(name)
	if err != nil {
		return err
	}
	if m.Preload == "" {
		return errors.New("these servers were started with the machine's clock")
	}
	at, ok := n.Machine.(ClockSetter)
	if !ok || n.Role != service.Data {
		return fmt.Errorf("the clock of %s cannot be shifted: it is not a data node", name)
	}
	if err := at.SetClock(ctx, by, drift); err != nil {
		return fmt.Errorf("set the clock of %s: %w", name, err)
	}
	return nil
}
