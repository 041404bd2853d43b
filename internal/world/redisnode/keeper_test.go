package redisnode

import (
	"context"
	"testing"
	"time"

	"lockbench/internal/world"
	"lockbench/locks"
)

// keeping is a server that answers by heart, and of which nothing else is asked.
type keeping struct {
	Server
	ttls map[string]string
}

func (keeping) Is() world.Node { return world.Node{Name: "redis-1", Kind: world.Data} }

func (k keeping) Ask(_ context.Context, command ...string) (any, error) {
	switch command[0] {
	case "KEYS":
		var names []any
		for name := range k.ttls {
			names = append(names, name)
		}
		return names, nil
	case "PTTL":
		return k.ttls[command[1]], nil
	}
	return "role:master\r\n", nil
}

func TestTTL(t *testing.T) {
	g := &Group{Form: locks.Single, Servers: []Server{keeping{ttls: map[string]string{"a": "1500", "b": "-1", "c": "-2", "d": "what"}}}}
	for key, want := range map[string]time.Duration{"a": 1500 * time.Millisecond, "b": world.Forever, "c": world.Gone} {
		ttl, node, err := g.TTL(t.Context(), key)
		if ttl != want || node != "redis-1" || err != nil {
			t.Errorf("%s is kept for %v by %q (%v); expected %v", key, ttl, node, err, want)
		}
	}
	if _, _, err := g.TTL(t.Context(), "d"); err == nil {
		t.Error("an answer that is no number is taken for one")
	}
	g.Form = locks.Independent
	if _, _, err := g.TTL(t.Context(), "a"); err == nil {
		t.Error("of independent masters no single one keeps a key")
	}
}
