package goredis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Client is what sends a command: every client of go-redis.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// once is a command that must not be sent a second time by the library.
//
// The options take the retries away from the clients of one server. The cluster
// client has a loop of its own around them, MaxRedirects, which follows MOVED and
// ASK, as it must, but also sends a command again whose connection broke, unless
// the command itself says no. Following MOVED is no resending: who answers so did nothing.
type once struct{ *redis.Cmd }

var _ redis.Cmder = once{}

// NoRetry says no.
func (once) NoRetry() bool { return true }

// Do sends a command once and waits for its answer.
func Do(ctx context.Context, c Client, args ...any) *redis.Cmd {
	cmd := once{redis.NewCmd(ctx, args...)}
	_ = c.Process(ctx, cmd) // the command keeps its error
	return cmd.Cmd
}

// RunAndWait runs the script and, in the same breath and on the same connection,
// asks how many replicas have it, waiting for up to limit until that are so many
// as replicas. The connection must be to the master that has the keys.
func (s *Script) RunAndWait(ctx context.Context, c *redis.Client, replicas int, limit time.Duration, keys []string, args ...any) (reply *redis.Cmd, acknowledged int64, err error) {
	send := func(words []any) (*redis.Cmd, *redis.Cmd) {
		script := once{redis.NewCmd(ctx, words...)}
		wait := once{redis.NewCmd(ctx, "wait", replicas, limit.Milliseconds())}
		p := c.Pipeline()
		_ = p.Process(ctx, script)
		_ = p.Process(ctx, wait)
		_, _ = p.Exec(ctx) // each command keeps its error
		return script.Cmd, wait.Cmd
	}
	script, wait := send(s.bySHA(keys, args))
	if redis.HasErrorPrefix(script.Err(), "NOSCRIPT") {
		script, wait = send(s.byText(keys, args))
	}
	if err := script.Err(); err != nil && !errors.Is(err, redis.Nil) {
		return script, 0, fmt.Errorf("run %s: %w", s.name, err)
	}
	n, err := wait.Int64()
	if err != nil {
		return script, 0, fmt.Errorf("wait for replicas after %s: %w", s.name, err)
	}
	return script, n, nil
}
