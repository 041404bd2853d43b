package campaign

import (
	"strings"
	"testing"
)

// Scenarios do not name locks on other services and stock libraries. These locks join scenarios that they support, and a
// scenario that is left with its control only does not run.
func TestOtherServicesJoinWhatTheyCan(t *testing.T) {
	chosen, err := Choose(Settings{Locks: "no-lock,pg-row,zk-recipe,redis-py", Scenarios: "steady,giving-up,failover,reentrant"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range chosen {
		got[c.Scenario] = strings.Join(c.Locks, " ")
	}
	// pg-row cannot wait, redis-py needs one master, and none of them is re-entrant.
	want := map[string]string{"steady": "no-lock pg-row zk-recipe redis-py", "giving-up": "no-lock zk-recipe", "failover": "no-lock pg-row zk-recipe"}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s is run with %q, want %q", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("chosen are %v, want %v", got, want)
	}
}
