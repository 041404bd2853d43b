package scenarios

import (
	"strings"
	"testing"

	"lockbench/internal/service"
	services "lockbench/internal/service/catalog"
	"lockbench/locks"
	"lockbench/locks/catalog"
)

// TestRefuses: a point is refused for the locks and servers on which it cannot happen, and for no other.
func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		point, lock string
		on          locks.Topology
		why         string
	}{
		{"outlasted", "pg-advisory", locks.Single, "its holds end with a connection"},
		{"outlasted", "zk-recipe", locks.Single, ""},
		{"old-grant", "zk-recipe", locks.Single, "it tells its clients no end"},
		{"old-grant", "set-nx", locks.Single, ""},
		{"old-grant", "nats-kv", locks.Single, ""},
		{"new-leader", "redlock", locks.Independent, "one of 5 independent masters"},
		{"new-leader", "set-nx", locks.Sentinel, ""},
		{"unheard", "zk-recipe", locks.Single, ""},
	} {
		entry, _ := catalog.Find(c.lock)
		s, _ := services.Find(entry.Service)
		on, found := service.Find(s, c.on)
		if !found {
			t.Fatalf("%s has no topology %s", entry.Service, c.on)
		}
		if why := Point(c.point).Refuses(entry.Card, entry, on); !strings.HasPrefix(why, c.why) || (c.why == "") != (why == "") {
			t.Errorf("the point %s of %s on %s is refused because %q, want %q", c.point, c.lock, c.on, why, c.why)
		}
	}
}

// TestCausedBy: a scenario without a point counts each fault.
func TestCausedBy(t *testing.T) {
	for _, c := range []struct {
		point, fault string
		causes       bool
	}{{"", "lag", true}, {"contested", "lag", true}, {"unheard", "lose-reply", true}, {"unheard", "lag", false}, {"new-leader", "kill", true}} {
		if got := Point(c.point).CausedBy(c.fault); got != c.causes {
			t.Errorf("the fault %s causes the point %q: %v, want %v", c.fault, c.point, got, c.causes)
		}
	}
}
