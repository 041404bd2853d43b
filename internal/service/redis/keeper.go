package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"lockbench/internal/service"
)

// keysMax bounds how many keys of a server are read. The keys of a run are few.
const keysMax = 1000

// leaderOf returns the master that has a key.
type leaderOf func(ctx context.Context, key string) (string, error)

// keeper reads which keys the masters keep, and for how long.
type keeper struct {
	*nodes
	leaderOf leaderOf
}

// ttl returns the remaining lifetime of a key on its master, and the name of the master.
func (k keeper) ttl(ctx context.Context, key string) (time.Duration, string, error) {
	node, err := k.leaderOf(ctx, key)
	if err != nil {
		return 0, "", err
	}
	ttl, err := k.ttlOn(ctx, node, k.prefix+key)
	return ttl, node, err
}

// kept returns the keys on the masters with their remaining lifetimes. If several masters have a key, it returns
// the longest.
func (k keeper) kept(ctx context.Context) (map[string]time.Duration, error) {
	kept := map[string]time.Duration{}
	for _, node := range k.Leaders(ctx) {
		keys, err := k.keys(ctx, node)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			ttl, err := k.ttlOn(ctx, node, key)
			if err != nil {
				return nil, err
			}
			if ttl == service.Gone {
				continue
			}
			name := strings.Replace(key, k.prefix, "", 1)
			if before, ok := kept[name]; !ok || ttl == service.Forever || before != service.Forever && ttl > before {
				kept[name] = ttl
			}
		}
	}
	return kept, nil
}

// keys returns the keys of a server: those under the prefix, or all if there is none.
func (k keeper) keys(ctx context.Context, node string) ([]string, error) {
	if k.prefix != "" {
		return k.scan(ctx, node, k.prefix, keysMax)
	}
	reply, err := k.ask(ctx, node, "KEYS", "*")
	keys := texts(reply)
	return keys[:min(len(keys), keysMax)], err
}

func (k keeper) ttlOn(ctx context.Context, node, key string) (time.Duration, error) {
	reply, err := k.ask(ctx, node, "PTTL", key)
	if err != nil {
		return 0, err
	}
	ms, err := strconv.ParseInt(fmt.Sprint(reply), 10, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s answers PTTL by %v", node, reply)
	case ms == -1:
		return service.Forever, nil
	case ms < 0:
		return service.Gone, nil
	}
	return time.Duration(ms) * time.Millisecond, nil
}
