package mylock_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"lockbench"
	mylock "lockbench/examples/go-lock"
	"lockbench/locks"
)

// The whole test of a lock of one's own. In fair weather every lock must hold;
// "failover" in its place shows what this one does when a master dies.
func TestHolds(t *testing.T) {
	needRedis(t)
	res, err := lockbench.Run(t.Context(), lockbench.Options{
		Scenario: "steady", Lock: mylock.Open, Claims: locks.Claims{Bounded: true}, Seed: 7, Episodes: 1,
	})
	if err != nil {
		t.Fatal(err) // the harness
	}
	if res.Verdict != lockbench.Valid {
		t.Errorf("%s %s %s\n%s", res.Verdict, res.Class, res.Why, res.Story())
	}
}

// A server that forgets at once what it granted grants it again. If this passes
// for a lock on one server, nothing was tested.
func TestIsCaught(t *testing.T) {
	needRedis(t)
	res, err := lockbench.Run(t.Context(), lockbench.Options{
		Scenario: "crash-restart", Lock: mylock.Open, Claims: locks.Claims{Bounded: true}, Seed: 7, Episodes: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != lockbench.Violated || res.Story() == "" {
		t.Errorf("got %s %s %s, want violated, with a story", res.Verdict, res.Class, res.Why)
	}
}

func needRedis(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil && !strings.Contains(os.Getenv("LOCKBENCH_REQUIRE"), "local") {
		t.Skip("no redis-server: apt-get install redis-server")
	}
}
