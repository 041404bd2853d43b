package campaign

import (
	"strings"
	"testing"
)

// No scenario names the locks on other services and the stock libraries. They join each that
// they can take part in, and a scenario for which none is left is not run for its control alone.
func TestOtherServicesJoinWhatTheyCan(t *testing.T) {
	chosen, err := Choose(Settings{Locks: "no-lock,pg-row,zk-recipe,redis-py", Scenarios: "steady,giving-up,failover,reentrant"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range chosen {
		got[c.Scenario] = strings.Join(c.Locks, " ")
	}
	// A row cannot be waited for, redis-py is for one master, and none of them can be taken twice by its owner.
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
