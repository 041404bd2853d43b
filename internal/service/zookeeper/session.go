package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/internal/service"
)

const (
	// sessionTime is how long a session outlives its connection, if its end is lost.
	sessionTime = 2 * time.Second
	// sessionLimit bounds what is done in one session.
	sessionLimit = 30 * time.Second
)

// inSession runs do in a session on a connection, which it closes at the end.
func inSession(ctx context.Context, c net.Conn, do func(*zk.Conn) error) error {
	defer c.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, sessionLimit, errors.New("no answer"))
	defer cancel()
	ctx, lost := context.WithCancelCause(ctx)
	dial := service.Once(c)
	// The address is not dialled, but the library looks it up.
	conn, _, err := zk.Connect([]string{"127.0.0.1"}, sessionTime, zk.WithLogger(silent{}), zk.WithLogInfo(false),
		zk.WithDialer(func(string, string, time.Duration) (net.Conn, error) {
			c, err := dial(ctx)
			if err != nil {
				lost(err) // the library would dial again until the limit
			}
			return c, err
		}))
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, conn.Close)
	err = do(conn)
	if stop() {
		conn.Close()
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// silent keeps the library from logging.
type silent struct{}

func (silent) Printf(string, ...any) {}

// remove deletes a node and all nodes below it, and returns how many it deleted. Clients may delete
// nodes at the same time.
func remove(conn *zk.Conn, path string) (n int, err error) {
	err = conn.Delete(path, -1)
	switch {
	case err == nil:
		return 1, nil
	case errors.Is(err, zk.ErrNoNode):
		return 0, nil
	case !errors.Is(err, zk.ErrNotEmpty):
		return 0, fmt.Errorf("remove %s: %w", path, err)
	}
	names, _, err := conn.Children(path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return 0, fmt.Errorf("remove %s: %w", path, err)
	}
	for _, name := range names {
		below, err := remove(conn, path+"/"+name)
		if n += below; err != nil {
			return n, err
		}
	}
	above, err := remove(conn, path)
	return n + above, err
}
