package more

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/redis/rueidis"
	"github.com/valkey-io/valkey-go"

	"lockbench"
	"lockbench/locks"
)

// A lock on each library, with the library's default options, is opened, acquired, checked and released in the simulation, and
// holds without faults.
func TestClients(t *testing.T) {
	for _, one := range []struct {
		name      string
		connect   func(locks.Client) (client, error)
		scenarios []string
	}{
		{"redigo", connectRedigo, []string{"steady", "crash-restart"}},
		{"redigo-pool", connectRedigoPool, []string{"steady", "crash-restart"}},
		{"rueidis", connectRueidis, []string{"steady", "crash-restart"}},
		{"valkey", connectValkey, []string{"steady", "crash-restart"}},
	} {
		for _, scenario := range one.scenarios {
			t.Run(one.name+"/"+scenario, func(t *testing.T) {
				var got traces
				res, err := lockbench.Run(t.Context(), lockbench.Options{
					Scenario: scenario, World: "sim", Name: one.name, Lock: got.opener(one.connect), Claims: locks.Claims{Bounded: true}, Seed: 7, Episodes: 1,
				})
				if err != nil {
					t.Fatal(err)
				}
				if want := map[bool]any{true: lockbench.Valid, false: lockbench.Violated}[scenario == "steady"]; res.Verdict != want {
					t.Errorf("%s %s %s, want %s\n%s", res.Verdict, res.Class, res.Why, want, res.Story())
				}
				if got.granted == 0 || got.read == 0 || got.deleted == 0 {
					t.Errorf("it did not do all that it was to do: %+v", got)
				}
			})
		}
	}
}

// client has the commands that the lock uses.
type client interface {
	setNX(ctx context.Context, key, value string, ttl time.Duration) (bool, error)
	get(ctx context.Context, key string) (string, error)
	deleteIf(ctx context.Context, key, value string) (deleted bool, err error)
	Close() error
}

// script deletes a key if it has a value.
const script = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`

// traces count the answers. All clients are in one bubble, and their calls may race.
type traces struct {
	granted, read, deleted int
}

func (got *traces) opener(connect func(locks.Client) (client, error)) locks.Opener {
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		connected, err := connect(c)
		if err != nil {
			return nil, fmt.Errorf("connect: %w", err)
		}
		return &locker{connected, c, got}, nil
	}
}

type locker struct {
	client
	known locks.Client
	got   *traces
}

func (l *locker) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	if len(r.Keys) != 1 || r.Mode != locks.Exclusive || r.Owner != "" || r.Wait > 0 || r.TTL < time.Millisecond {
		return nil, locks.ErrUnsupported
	}
	token := fmt.Sprintf("%d-%x", l.known.ID, l.known.Rand.Uint64())
	held := &lease{l, r.Keys[0], token, time.Now().Add(r.TTL)}
	granted, err := l.setNX(ctx, held.key, token, r.TTL)
	switch {
	case err != nil:
		return held, err
	case !granted:
		return nil, locks.ErrTaken
	}
	l.got.granted++
	if value, err := l.get(ctx, held.key); err == nil && value == token {
		l.got.read++
	}
	return held, nil
}

type lease struct {
	locker     *locker
	key, token string
	until      time.Time
}

func (l *lease) Until() time.Time { return l.until }

func (l *lease) Release(ctx context.Context) error {
	deleted, err := l.locker.deleteIf(ctx, l.key, l.token)
	switch {
	case err != nil:
		return err
	case !deleted:
		return locks.ErrNotHeld
	}
	l.locker.got.deleted++
	return nil
}

func address(c locks.Client) string { return c.Store.Nodes()[0].Addr }

// dialled is redigo with a new connection for each call.
type dialled struct {
	connect func(ctx context.Context) (redis.Conn, error)
	script  *redis.Script
	close   func() error
}

func connectRedigo(c locks.Client) (client, error) {
	return &dialled{
		connect: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", address(c), redis.DialContextFunc(c.Store.Dial))
		},
		script: redis.NewScript(1, script),
		close:  func() error { return nil },
	}, nil
}

func connectRedigoPool(c locks.Client) (client, error) {
	pool := &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, "tcp", address(c), redis.DialContextFunc(c.Store.Dial))
	}}
	return &dialled{pool.GetContext, redis.NewScript(1, script), pool.Close}, nil
}

func (d *dialled) setNX(ctx context.Context, key, value string, ttl time.Duration) (bool, error) {
	conn, err := d.connect(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	said, err := redis.String(redis.DoContext(conn, ctx, "SET", key, value, "NX", "PX", ttl.Milliseconds()))
	if errors.Is(err, redis.ErrNil) {
		return false, nil
	}
	return said == "OK", err
}

func (d *dialled) get(ctx context.Context, key string) (string, error) {
	conn, err := d.connect(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return redis.String(redis.DoContext(conn, ctx, "GET", key))
}

func (d *dialled) deleteIf(ctx context.Context, key, value string) (bool, error) {
	conn, err := d.connect(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	return redis.Bool(d.script.DoContext(ctx, conn, key, value))
}

func (d *dialled) Close() error { return d.close() }

// rueidisClient is rueidis.
type rueidisClient struct {
	rueidis.Client
	script *rueidis.Lua
}

func connectRueidis(c locks.Client) (client, error) {
	made, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{address(c)},
		DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return c.Store.Dial(ctx, "tcp", addr)
		},
	})
	if err != nil {
		return nil, err
	}
	return &rueidisClient{made, rueidis.NewLuaScript(script)}, nil
}

func (r *rueidisClient) setNX(ctx context.Context, key, value string, ttl time.Duration) (bool, error) {
	err := r.Do(ctx, r.B().Set().Key(key).Value(value).Nx().PxMilliseconds(ttl.Milliseconds()).Build()).Error()
	if rueidis.IsRedisNil(err) {
		return false, nil
	}
	return err == nil, err
}

func (r *rueidisClient) get(ctx context.Context, key string) (string, error) {
	return r.Do(ctx, r.B().Get().Key(key).Build()).ToString()
}

func (r *rueidisClient) deleteIf(ctx context.Context, key, value string) (bool, error) {
	n, err := r.script.Exec(ctx, r.Client, []string{key}, []string{value}).ToInt64()
	return n == 1, err
}

func (r *rueidisClient) Close() error {
	r.Client.Close()
	return nil
}

// valkeyClient is valkey-go.
type valkeyClient struct {
	valkey.Client
	script *valkey.Lua
}

func connectValkey(c locks.Client) (client, error) {
	made, err := valkey.NewClient(valkey.ClientOption{
		InitAddress: []string{address(c)},
		DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return c.Store.Dial(ctx, "tcp", addr)
		},
	})
	if err != nil {
		return nil, err
	}
	return &valkeyClient{made, valkey.NewLuaScript(script)}, nil
}

func (v *valkeyClient) setNX(ctx context.Context, key, value string, ttl time.Duration) (bool, error) {
	err := v.Do(ctx, v.B().Set().Key(key).Value(value).Nx().PxMilliseconds(ttl.Milliseconds()).Build()).Error()
	if valkey.IsValkeyNil(err) {
		return false, nil
	}
	return err == nil, err
}

func (v *valkeyClient) get(ctx context.Context, key string) (string, error) {
	return v.Do(ctx, v.B().Get().Key(key).Build()).ToString()
}

func (v *valkeyClient) deleteIf(ctx context.Context, key, value string) (bool, error) {
	n, err := v.script.Exec(ctx, v.Client, []string{key}, []string{value}).ToInt64()
	return n == 1, err
}

func (v *valkeyClient) Close() error {
	v.Client.Close()
	return nil
}
