package run

import (
	"os"
	"strings"
	"testing"

	"lockbench/checker"
	"lockbench/scenarios"
)

// The port of Redisson's replication check grants without a replica after its clients have read that there is none (finding
// redisson-wait-off). With the option that requires a replica, it keeps its promise.
func TestReplicasRestart(t *testing.T) {
	source, err := os.ReadFile("../../docs/findings/repro/redisson-wait-off/replicas-restart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if l := alone(t, string(source), "redisson-port-wait", 1); l.Verdict != checker.Violated || l.Class != checker.DoubleGrant {
		t.Errorf("counted: %s %s (%s), want violated double-grant", l.Verdict, l.Class, l.Why)
	}
	l := alone(t, string(source), "redisson-port-wait/replicas=required", 3)
	if l.Verdict != checker.Valid {
		t.Errorf("required: %s (%s), want valid", l.Verdict, l.Why)
	}
	if _, counted := l.Counted(); counted != 3 {
		t.Errorf("required: %d episodes count, want 3", counted)
	}
}

// A grant that the port released and requested again, because no replica confirmed it, has the lease of the last request.
func TestLeaseOfARepeatedRequest(t *testing.T) {
	source, _ := scenarios.Find("stalled-replicas")
	short := strings.NewReplacer("ttl: 20s", "ttl: 1s", "for: 3s", "for: 4s").Replace(string(source))
	if len(short) != len(source)-1 {
		t.Fatal("the scenario has no ttl of 20s, or no fault for 3s")
	}
	if l := alone(t, short, "redisson-port-wait", 2); l.Verdict != checker.Valid {
		t.Errorf("%s %s (%s), want valid", l.Verdict, l.Class, l.Why)
	}
}
