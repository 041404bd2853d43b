package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/stats"
	"lockbench/locks"
)

// sample is a run of the failover scenario, with one counterexample.
func sample(t *testing.T) *Result {
	h, f := failover(t)
	const none, sentinel, masters = locks.None, locks.Sentinel, locks.Independent
	at := func(s float64) *float64 { return &s }
	lock := func(name string, topology locks.Topology, servers string, v checker.Verdict, c checker.Class, broken, lost, grants int, outage, p99 float64) Lock {
		l := Lock{Lock: name, Options: map[string]string{}, Topology: topology, Servers: servers, Verdict: v, Class: c,
			Expected: strings.TrimSpace(v.String() + " " + c.String()), AsExpected: true,
			Figures: stats.Figures{Episodes: 3, ViolatingEpisodes: broken, LostUpdates: lost, OutageS: outage,
				Acquires:  stats.Acquires{OK: grants, Fail: 40, Info: 6},
				LatencyMS: map[string]stats.Latency{history.Acquire: {P50: p99 / 4, P99: p99, Max: 10 * p99}}},
			Checks: []checker.Result{{Name: "exclusion", Verdict: v}}}
		l.Rate, l.Writes, l.GrantsPerSecond = stats.RateOf(broken, 3), grants, float64(grants)/45
		l.LostPerThousand = 1000 * float64(lost) / float64(grants)
		if topology != none {
			l.AcquireMS = map[string]stats.Latency{stats.Before: {P50: 0.5, P99: 1}, stats.During: {P50: p99 / 2, P99: p99}, stats.After: {P50: 0.6, P99: 1.2}}
		}
		if v == checker.Violated {
			l.ViolationAfterS = []float64{3.1, 2.9, 8}[:broken]
			l.OverlapMS = &stats.Latency{N: broken, P50: 210, P99: 3110, Max: 3110}
			l.FirstViolationS = at(3.9 + float64(len(name))/100)
			l.Checks[0].Findings = []checker.Finding{f}
			l.Checks[0].Violations = broken
		}
		return l
	}
	r := &Result{
		Schema: SchemaVersion, Scenario: "failover", World: "local", WorldAbout: "redis-server 7.0.15", Seed: 7,
		Started: time.Date(2026, 11, 21, 11, 40, 0, 0, time.UTC), DurationS: 45.9, AsExpected: true,
		Again: "lockbench run failover --world local --seed 7",
		Plan:  []history.PlanStep{{ID: 1, Fault: "kill", Episode: 1, Targets: []string{"redis-1"}}},
		Locks: []Lock{
			lock("no-lock", none, "control", checker.Violated, checker.DoubleGrant, 3, 2071, 9114, 0, 0.1),
			lock("in-process", none, "control", checker.Valid, checker.NoClass, 0, 0, 3902, 0, 0.02),
			lock("flock", none, "control", checker.Valid, checker.NoClass, 0, 0, 3644, 0, 0.3),
			lock("set-del", sentinel, "sentinel 1+2", checker.Violated, checker.DoubleGrant, 3, 233, 2876, 2.8, 3.9),
			lock("set-nx-fenced", sentinel, "sentinel 1+2", checker.Violated, checker.DoubleGrant, 3, 229, 2790, 3.1, 4.0),
			lock("set-nx", sentinel, "sentinel 1+2", checker.Violated, checker.DoubleGrant, 3, 241, 2911, 2.7, 3.8),
			lock("redlock", masters, "5 masters", checker.Valid, checker.NoClass, 0, 0, 2304, 0.1, 6.2),
		},
	}
	r.Find("set-nx").Counterexample = NewCounterexample(h, f, checker.Judge(h, checker.Options{}))
	return r
}

// troubled is a run in which about everything is not as expected.
func troubled(t *testing.T) *Result {
	r := sample(t)
	h, f := deleted(t)
	r.Find("set-del").Counterexample = NewCounterexample(h, f, checker.Judge(h, checker.Options{}))
	r.AsExpected, r.Interrupted = false, true
	for i := range r.Locks {
		switch l := &r.Locks[i]; l.Lock {
		case "in-process":
			l.Verdict, l.Class, l.Expected, l.AsExpected = checker.Violated, checker.DoubleGrant, "valid", false
			l.ViolatingEpisodes = 1
		case "set-del":
			l.Expected, l.AsExpected, l.Mismatch = "violated double-grant", false, "rate 20 % lies below the expected 60 % (its interval ends at 52 %)"
		case "set-nx":
			l.Class, l.Verdict, l.Expected, l.AsExpected = checker.Overstay, checker.Violated, "violated overstay", true
			l.Checks[0].Note = "if a release that fails ends nothing (--release strict), exclusion is violated double-grant"
		case "set-nx-fenced":
			l.Class, l.Claims.Fenced = checker.Overstay, true
			l.Checks = append(l.Checks, checker.Result{Name: "resource", Verdict: checker.Valid})
		case "redlock":
			l.Lock = "redlock/nodes=3/drift=0.01/retry=200ms/and-a-very-long-option=yes"
			l.Verdict, l.AsExpected, l.Why = checker.Unknown, false, "harness: 3 of 10 grants after the last heal"
		case "flock":
			l.Verdict, l.Unsupported = checker.Unknown, "the machine's temporary folder is on a file system without locks"
		}
	}
	return r
}

// huge is a run of so many locks and such long texts that no summary holds it.
func huge(locksN, textLen int) *Result {
	text := strings.Repeat("ab|`<ü* ", textLen/8+1)[:textLen]
	text = strings.ToValidUTF8(text, "")
	r := &Result{Scenario: text, World: text, WorldAbout: text, Again: text}
	for i := range locksN {
		name := fmt.Sprintf("lock-%d-%s", i, text)
		v := checker.Verdict(i % 3)
		r.Locks = append(r.Locks, Lock{Lock: name, Servers: text, Verdict: v, Why: text, Mismatch: text, Expected: text,
			Topology: locks.Single, Figures: stats.Figures{Episodes: 1},
			Counterexample: &Counterexample{Title: text, Lines: []Line{{What: text}, {What: text}}, Why: text}})
	}
	return r
}
