package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"lockbench/locks"
	"lockbench/service"
)

// keysMax bounds how many keys of a server are looked at: what a run needs is few.
const keysMax = 1000

// TTL asks the master how much longer it keeps a key.
func (g *servers) TTL(ctx context.Context, key string) (ttl time.Duration, node string, err error) {
	switch g.Topology().Name {
	case locks.Single, locks.Replicated, Sentinel, Cluster:
	default:
		return 0, "", fmt.Errorf("the topology %s has no single server that keeps a key", g.Topology().Name)
	}
	node, err = g.LeaderOf(ctx, key)
	if err != nil {
		return 0, "", err
	}
	s, err := g.server(node)
	if err != nil {
		return 0, "", err
	}
	ttl, err = keptFor(ctx, s, g.prefix+key)
	return ttl, node, err
}

// Kept lists what the masters keep, and for how much longer; of a key that several
// keep, the longest.
func (g *servers) Kept(ctx context.Context) (map[string]time.Duration, error) {
	kept := map[string]time.Duration{}
	for _, name := range g.Leaders(ctx) {
		s, err := g.server(name)
		if err != nil {
			return nil, err
		}
		keys, err := g.keys(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			ttl, err := keptFor(ctx, s, key)
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

// keys lists the keys of a server: all, or where it has others as well, those that are ours.
func (g *servers) keys(ctx context.Context, s *server) ([]string, error) {
	if g.prefix != "" {
		return scan(ctx, s, g.prefix, keysMax)
	}
	reply, err := s.Ask(ctx, "KEYS", "*")
	keys := texts(reply)
	return keys[:min(len(keys), keysMax)], err
}

func keptFor(ctx context.Context, s *server, key string) (time.Duration, error) {
	reply, err := s.Ask(ctx, "PTTL", key)
	if err != nil {
		return 0, err
	}
	ms, err := strconv.ParseInt(fmt.Sprint(reply), 10, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s answers PTTL with %v", s.Name, reply)
	case ms == -1:
		return service.Forever, nil
	case ms < 0:
		return service.Gone, nil
	}
	return time.Duration(ms) * time.Millisecond, nil
}
