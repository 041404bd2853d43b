package service

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// reports is a cluster of three nodes with given states. A node without one does not answer.
func reports(states map[string]State) *Cluster {
	return NewCluster(Topology{Parts: []Part{{Name: "n", Role: Data, Count: 3}}}, nil, func(_ context.Context, node string) (State, error) {
		s, ok := states[node]
		if !ok {
			return s, errors.New(node + " is down")
		}
		return s, nil
	})
}

func TestCluster(t *testing.T) {
	for _, test := range []struct {
		name   string
		states map[string]State
		leader string
		leads  string
		lacks  string // empty: healthy
	}{
		{"they name one", map[string]State{"n-1": {ID: "1", Leader: "2"}, "n-2": {ID: "2", Leader: "2", Leads: true}, "n-3": {ID: "3", Leader: "2"}}, "n-2", "n-2", ""},
		{"an old leader names itself", map[string]State{"n-1": {Leader: "n-1", Leads: true}, "n-2": {Leader: "n-2", Leads: true}, "n-3": {Leader: "n-2"}}, "n-2", "n-1 n-2", "2 nodes lead"},
		{"two of three name one that is down", map[string]State{"n-2": {Leader: "n-3"}, "n-1": {Leader: "n-3"}}, "n-3", "", "n-3 is down"},
		{"a minority", map[string]State{"n-1": {Leader: "n-1", Leads: true}}, "", "n-1", "is down"},
		{"no leader", map[string]State{"n-1": {}, "n-2": {}, "n-3": {}}, "", "", "no node leads"},
		{"none is named", map[string]State{"n-1": {}, "n-2": {Leads: true, Term: 1}, "n-3": {}}, "n-2", "n-2", ""},
		{"none is named, two lead", map[string]State{"n-1": {Leads: true, Term: 2}, "n-2": {Leads: true, Term: 3}, "n-3": {}}, "n-2", "n-1 n-2", "2 nodes lead: n-1, n-2"},
		{"one lacks something", map[string]State{"n-1": {Leads: true}, "n-2": {Lacks: errors.New("is behind")}, "n-3": {}}, "n-1", "n-1", "n-2 is behind"},
		{"one follows another", map[string]State{"n-1": {Leader: "n-1", Leads: true}, "n-2": {Leader: "n-3"}, "n-3": {Leader: "n-1"}}, "n-1", "n-1", "n-2 takes n-3 for the leader, and n-1 leads"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := reports(test.states)
			if got, err := c.Leader(t.Context()); got != test.leader || (err == nil) != (test.leader != "") {
				t.Errorf("leader %q, %v, want %q", got, err, test.leader)
			}
			if got := strings.Join(c.Leaders(t.Context()), " "); got != test.leads {
				t.Errorf("%q lead, want %q", got, test.leads)
			}
			if err := c.Healthy(t.Context()); (err == nil) != (test.lacks == "") || err != nil && !strings.Contains(err.Error(), test.lacks) {
				t.Errorf("health: %v, want %q", err, test.lacks)
			}
		})
	}
}

// A leader that died is named by the ID that it had: the others may not have noticed.
func TestClusterRemembersIDs(t *testing.T) {
	states := map[string]State{"n-1": {ID: "1", Leader: "2"}, "n-2": {ID: "2", Leader: "2", Leads: true}, "n-3": {ID: "3", Leader: "2"}}
	c := reports(states)
	if err := c.Healthy(t.Context()); err != nil {
		t.Fatal(err)
	}
	delete(states, "n-2")
	if got, err := c.Leader(t.Context()); got != "n-2" {
		t.Errorf("leader %q, %v, want n-2", got, err)
	}
}
