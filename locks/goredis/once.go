package goredis

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Client sends commands. Every client of go-redis implements it.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// once is a command that the library must not resend.
//
// The options turn off retries in clients of one server. The cluster client has its own loop, MaxRedirects, which must follow
// MOVED and ASK. It also resends a command after its connection broke, unless NoRetry of the command returns true. Following
// MOVED is safe, because a server that answers MOVED did nothing.
type once struct{ *redis.Cmd }

var _ redis.Cmder = once{}

// NoRetry returns true.
func (once) NoRetry() bool { return true }

// Do sends a command once and waits for its answer.
func Do(ctx context.Context, c Client, args ...any) *redis.Cmd {
	cmd := once{redis.NewCmd(ctx, args...)}
	_ = c.Process(ctx, cmd) // the command keeps its error
	return cmd.Cmd
}

// RunAndWait is RunOrNil that also waits, in the same pipeline and up to limit, until the given number of replicas has the
// changes. The connection must be to the master of the keys.
func (s *Script) RunAndWait(ctx context.Context, c *redis.Client, replicas int, limit time.Duration, keys []string, args ...any) (n int64, ok bool, acknowledged int64, err error) {
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
	if n, ok, err = s.orNil(script); err != nil {
		return 0, false, 0, err
	}
	if acknowledged, err = wait.Int64(); err != nil {
		err = fmt.Errorf("wait for replicas after %s: %w", s.name, err)
	}
	return n, ok, acknowledged, err
}
