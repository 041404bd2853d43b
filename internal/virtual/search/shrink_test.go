package search

import (
	"context"
	"slices"
	"testing"

	"lockbench/internal/trial"
	"lockbench/scenarios"
)

// No candidate has a client that was removed before.
func TestDropClientsIsFinal(t *testing.T) {
	shown := &outcome{Verdict: scenarios.Violated, Involved: []involved{{Client: 5}, {Client: 2}, {Client: 5}}}
	for _, needed := range [][]int{{2, 5}, {2, 5, 6}} {
		s := &shrinker{seen: shown}
		s.best.Workload.Clients = 8
		s.try = func(_ context.Context, in trial.Input, _ string) (*outcome, error) {
			if n := len(in.Reduction.Clients); n > 0 && n > s.clients() {
				t.Errorf("%v is tried, and %v is enough", in.Reduction.Clients, s.reduction().Clients)
			}
			for _, id := range needed {
				if all := in.Reduction.Clients; len(all) > 0 && !slices.Contains(all, id) {
					return &outcome{Verdict: scenarios.Valid}, nil
				}
			}
			return shown, nil
		}
		s.dropClients(t.Context())
		if got := s.reduction().Clients; !slices.Equal(got, needed) {
			t.Errorf("%v are left, want %v", got, needed)
		}
	}
}
