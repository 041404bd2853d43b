package run

import (
	"testing"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/stats"
	"lockbench/internal/testing/trialtest"
	"lockbench/locks"
)

// TestKnownLockLikeOnesOwn checks which catalog lock a user's lock is compared with.
func TestKnownLockLikeOnesOwn(t *testing.T) {
	for _, c := range []struct {
		scenario string
		class    checker.Class
		claims   locks.Claims
		want     string
	}{
		{"pause-client", checker.Overstay, locks.Claims{Bounded: true}, "set-nx"},
		{"pause-client", checker.Overstay, locks.Claims{}, "set-nx"},
		// Catalog locks with known defects are violated too, but they are not a good example.
		{"pause-client", checker.DoubleGrant, locks.Claims{Bounded: true}, ""},
		// No lock on one server survives the loss of its data.
		{"crash-restart", checker.DoubleGrant, locks.Claims{Bounded: true}, "set-nx"},
		// Every lock must hold without faults.
		{"steady", checker.DoubleGrant, locks.Claims{Bounded: true}, ""},
		{"steady", checker.Overstay, locks.Claims{Bounded: true}, ""},
	} {
		l := &report.Lock{Lock: "mine", Topology: locks.Single, Claims: c.claims, Verdict: checker.Violated, Class: c.class,
			Figures: stats.Figures{Episodes: 3, ViolatingEpisodes: 3, Rate: stats.RateOf(3, 3)},
			Checks:  []checker.Result{{Name: "exclusion", Verdict: checker.Violated, Findings: []checker.Finding{{Rule: "two-holders", Class: c.class}}}}}
		if got := like(trialtest.Load(t, c.scenario), l, "redis"); got != c.want {
			t.Errorf("%s, violated %s, %+v: like %q, want %q", c.scenario, c.class, c.claims, got, c.want)
		}
	}
}
