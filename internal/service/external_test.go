package service

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// ClearEach lists keys until there are none, and stops at the first that cannot be removed.
func TestClearEach(t *testing.T) {
	keys := []string{"run:1", "run:2", "run:3"}
	e := ExternalServers{Under: func(_ context.Context, text string, most int) (map[string][]string, error) {
		if text != "run:" || most < 2 || len(keys) == 0 {
			return nil, nil
		}
		return map[string][]string{"n-1": slices.Clone(keys[:min(2, len(keys))])}, nil
	}}
	var stuck error
	remove := func(_ context.Context, node, key string) (int, error) {
		if stuck != nil {
			return 0, stuck
		}
		keys = slices.DeleteFunc(keys, func(k string) bool { return k == key })
		return 2, nil
	}
	if n, err := e.ClearEach(t.Context(), "run:", remove); n != 6 || err != nil || len(keys) > 0 {
		t.Errorf("%d removed, %v, and %q are left; want 6 of 3 keys", n, err, keys)
	}
	keys, stuck = []string{"run:4"}, errors.New("read-only")
	if n, err := e.ClearEach(t.Context(), "run:", remove); n != 0 || !errors.Is(err, stuck) || !strings.Contains(err.Error(), `"run:4" of n-1`) {
		t.Errorf("%d removed, %v; want %v with the key and the node", n, err, stuck)
	}
}

// The servers must be different members of one group, and all of them.
func TestSurvey(t *testing.T) {
	l := Location{Topology: Topology{Parts: []Part{{Name: "n", Role: Data, Count: 2}}}, Addrs: []string{"a:1", "b:1"}}
	both := map[string]string{"1": "one", "2": "two"}
	for want, is := range map[string]map[string]Identity{
		"":                                 {"a:1": {ID: "1", Group: "g", Members: both, Also: "one:9"}, "b:1": {ID: "2", Group: "g"}},
		"b:1 is the same server as a:1":    {"a:1": {ID: "1"}, "b:1": {ID: "1"}},
		`are of two clusters, "g" and "h"`: {"a:1": {ID: "1", Group: "g"}, "b:1": {ID: "2", Group: "h"}},
		"a:1 has a member three":           {"a:1": {ID: "1", Members: map[string]string{"1": "one", "3": "three"}}, "b:1": {ID: "2"}},
		"b:1 is down":                      {"a:1": {ID: "1"}},
	} {
		site, err := l.Survey(t.Context(), func(_ context.Context, addr string) (Identity, error) {
			if id, ok := is[addr]; ok {
				return id, nil
			}
			return Identity{}, errors.New(addr + " is down")
		})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if want == "" && (site.Addrs["n-2"] != "b:1" || site.Called["one:9"] != "n-1" || site.Called["b:1"] != "n-2") {
			t.Errorf("nodes are at %v, and called %v", site.Addrs, site.Called)
		}
	}
}
