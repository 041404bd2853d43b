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

// ttlAt returns a function that returns the remaining lifetime of a key on its master.
func (g *nodes) ttlAt(leaderOf leaderOf) func(context.Context, string) (time.Duration, string, error) {
	return func(ctx context.Context, key string) (time.Duration, string, error) {
		node, err := leaderOf(ctx, key)
		if err != nil {
			return 0, "", err
		}
		ttl, err := g.ttl(ctx, node, g.prefix+key)
		return ttl, node, err
	}
}

// kept returns the keys on the masters with their remaining lifetimes. If several masters have a key, it returns
// the longest.
func (g *nodes) kept(ctx context.Context) (map[string]time.Duration, error) {
	kept := map[string]time.Duration{}
	for _, node := range g.Leaders(ctx) {
		keys, err := g.keys(ctx, node)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			ttl, err := g.ttl(ctx, node, key)
			if err != nil {
				return nil, err
			}
			if ttl == service.Gone {
				continue
			}
			name := strings.Replace(key, g.prefix, "", 1)
			if before, ok := kept[name]; !ok || ttl == service.Forever || before != service.Forever && ttl > before {
				kept[name] = ttl
			}
		}
	}
	return kept, nil
}

// keys returns the keys of a server: those under the prefix, or all if there is none.
func (g *nodes) keys(ctx context.Context, node string) ([]string, error) {
	if g.prefix != "" {
		return g.scan(ctx, node, g.prefix, keysMax)
	}
	reply, err := g.ask(ctx, node, "KEYS", "*")
	keys := texts(reply)
	return keys[:min(len(keys), keysMax)], err
}

func (g *nodes) ttl(ctx context.Context, node, key string) (time.Duration, error) {
	reply, err := g.ask(ctx, node, "PTTL", key)
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
