package stats

import (
	"testing"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/testing/historytest"
)

// foreign is a history from elsewhere: no plan, no probes, no values, no lock's name.
func foreign(t *testing.T) (*history.History, checker.Finding) {
	s := historytest.New(t, "")
	s.Call(1, 0, history.Acquire, "0.1", historytest.Key("a"))
	s.Event(2, 0, history.OK, history.Acquire, "0.1")
	s.Call(10, 1, history.Acquire, "1.1", historytest.Key("a"))
	b := s.Event(11, 1, history.OK, history.Acquire, "1.1")
	s.Call(20, 0, history.Release, "0.1")
	return s.History(), checker.Finding{Rule: "two-holders", Class: checker.DoubleGrant, Text: "two hold a",
		Sessions: []string{"0.1", "1.1"}, Event: b}
}
