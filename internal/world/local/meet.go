//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"

	"lockbench/internal/guest"
	"lockbench/internal/world"
	"lockbench/locks"
)

var _ world.Host = (*World)(nil)

// Meet starts a guest of somebody's own without any lock service, hears its hello,
// and ends it.
func (w *World) Meet(ctx context.Context, s world.ClientSpec) (hello guest.Hello, err error) {
	err = w.Run(ctx, world.Spec{Topology: locks.None}, func(ctx context.Context, c world.Cluster) error {
		ch, err := c.(*cluster).startChild(s)
		if err != nil {
			return err
		}
		hello, err = ch.conn.Hello(ctx)
		if err != nil {
			err = fmt.Errorf("%w; %s", err, ch.log.last())
		}
		ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
		defer cancel()
		return errors.Join(err, ch.end(ended))
	})
	return hello, err
}
