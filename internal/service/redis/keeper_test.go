package redis

import (
	"context"
	"testing"
	"time"

	"lockbench/internal/service"
	"lockbench/locks"
)

// keeping returns servers with canned answers about lifetimes.
func keeping(t locks.Topology, ttls map[string]string) service.Abilities {
	on, _ := service.Find(Service, t)
	servers, g := open(on, nil)
	g.ask = func(_ context.Context, _ string, command ...string) (any, error) {
		switch command[0] {
		case "KEYS":
			var names []any
			for name := range ttls {
				names = append(names, name)
			}
			return names, nil
		case "PTTL":
			return ttls[command[1]], nil
		}
		return "role:master\r\n", nil
	}
	return servers.Abilities()
}

func TestTTL(t *testing.T) {
	ttls := map[string]string{"a": "1500", "b": "-1", "c": "-2", "d": "what"}
	g := keeping(locks.Single, ttls)
	for key, want := range map[string]time.Duration{"a": 1500 * time.Millisecond, "b": service.Forever, "c": service.Gone} {
		ttl, node, err := g.TTL(t.Context(), key)
		if ttl != want || node != "redis-1" || err != nil {
			t.Errorf("%s is kept for %v by %q (%v); expected %v", key, ttl, node, err, want)
		}
	}
	if _, _, err := g.TTL(t.Context(), "d"); err == nil {
		t.Error("an answer that is not a number is accepted")
	}
	g = keeping(locks.Independent, ttls)
	if _, _, err := g.TTL(t.Context(), "a"); err == nil {
		t.Error("independent masters have one master of a key")
	}
}
