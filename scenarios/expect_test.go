package scenarios

import (
	"strings"
	"testing"
	"time"
)

// expectation reads the value of the key `set-nx`.
func expectation(t *testing.T, text string) Expectation {
	t.Helper()
	s, err := Read("x.yaml", []byte("lockbench: scenario/1\nlocks: [set-nx]\nfaults: none\nexpect:\n  set-nx: "+text+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s.Expect["set-nx"]
}

func TestExpectationHolds(t *testing.T) {
	checks := func(pairs ...string) map[string]Judgement {
		m := map[string]Judgement{}
		for i := 0; i < len(pairs); i += 3 {
			m[pairs[i]] = Judgement{pairs[i+1], pairs[i+2]}
		}
		return m
	}
	overall := func(verdict, class string) Observed { return Observed{Judgement: Judgement{verdict, class}} }
	rate := func(violating, episodes int, low, high float64) Observed {
		return Observed{Judgement: Judgement{Violated, "double-grant"},
			Violating: violating, Episodes: episodes, RateLow: low, RateHigh: high}
	}
	figures := func(name string, d time.Duration) Observed {
		return Observed{Judgement: Judgement{Valid, ""}, Figures: map[string]time.Duration{name: d}}
	}
	withChecks := func(o Observed, c map[string]Judgement) Observed { o.Checks = c; return o }
	apart := func(o Observed, names ...string) Observed { o.Apart = names; return o }

	for _, test := range []struct {
		name, expect string
		got          Observed
		why          string // empty: it holds
	}{
		{"valid", "valid", overall(Valid, ""), ""},
		{"valid, violated", "valid", overall(Violated, "overstay"), "expected valid, found violated overstay"},
		{"valid, unknown", "valid", overall(Unknown, ""), "expected valid, found unknown"},
		{"unknown", "unknown", overall(Unknown, ""), ""},
		{"unjudged, violated", "unjudged", overall(Violated, "double-grant"), ""},
		{"unjudged, unknown", "unjudged", overall(Unknown, ""), ""},
		{"violated of any class", "violated", overall(Violated, "stale-write"), ""},
		{"violated, no class", "violated", overall(Violated, ""), ""},
		{"violated, valid", "violated", overall(Valid, ""), "expected violated, found valid"},
		{"double-grant", "violated double-grant", overall(Violated, "double-grant"), ""},
		// Overstay allows nothing worse.
		{"overstay, double-grant", "violated overstay", overall(Violated, "double-grant"), "expected violated overstay, found violated double-grant"},
		{"overstay, undetermined", "violated overstay", overall(Violated, "undetermined"), "expected violated overstay, found violated undetermined"},
		{"double-grant, overstay", "violated double-grant", overall(Violated, "overstay"), "expected violated double-grant, found violated overstay"},

		{"checks hold", "{exclusion: violated overstay, resource: valid}",
			withChecks(overall(Violated, "overstay"), checks("exclusion", Violated, "overstay", "resource", Valid, "", "fencing", Valid, "")), ""},
		{"a check differs", "{exclusion: violated overstay, resource: valid}",
			withChecks(overall(Violated, "overstay"), checks("exclusion", Violated, "overstay", "resource", Violated, "stale-write")),
			"resource: violated stale-write, expected valid"},
		{"a check that is not named", "{exclusion: violated overstay, resource: valid}",
			withChecks(overall(Violated, "overstay"), checks("exclusion", Violated, "overstay", "resource", Valid, "", "fencing", Violated, "")),
			"fencing: violated, which is not expected"},
		{"a check that did not run", "{exclusion: violated overstay, resource: valid}",
			withChecks(overall(Violated, "overstay"), checks("exclusion", Violated, "overstay")), "resource has no result, expected valid"},
		{"a named check is valid in an empty run", "{resource: valid}",
			withChecks(overall(Unknown, ""), checks("resource", Valid, "", "harness", Unknown, "")), "unknown as a whole"},
		{"unknown was expected", "{harness: unknown}",
			withChecks(overall(Unknown, ""), checks("harness", Unknown, "")), ""},
		{"verdict and check", "{verdict: violated overstay, resource: valid}",
			withChecks(overall(Violated, "overstay"), checks("resource", Valid, "", "exclusion", Violated, "overstay", "linearizable", Violated, "")), ""},
		{"a class covers that class alone", "violated overstay",
			apart(withChecks(overall(Violated, "overstay"), checks("exclusion", Violated, "overstay", "results", Violated, "")), "results"),
			"results: violated, which is not expected"},
		{"what the class says from another side", "violated double-grant",
			withChecks(overall(Violated, "double-grant"), checks("exclusion", Violated, "double-grant", "results", Violated, "")), ""},
		{"a class, and another guarantee", "{verdict: violated overstay, results: unjudged}",
			apart(withChecks(overall(Violated, "overstay"), checks("exclusion", Violated, "overstay", "results", Violated, "")), "results"), ""},
		{"a milder class belongs to it", "violated overstay",
			withChecks(overall(Violated, "overstay"), checks("exclusion", Violated, "overstay", "resource", Violated, "stale-write")), ""},
		{"no class covers all", "violated",
			withChecks(overall(Violated, "overstay"), checks("exclusion", Violated, "overstay", "results", Violated, "")), ""},

		// The bounds of 3 of 3 are 37 % and 100 %, those of 0 of 3 are 0 % and 63 %.
		{"rate inside", "{verdict: violated double-grant, rate: 60%..100%}", rate(3, 3, 0.368, 1), ""},
		{"rate low, but too few episodes to tell", "{verdict: violated double-grant, rate: 60%..100%}", rate(1, 3, 0.017, 0.865), ""},
		{"rate too low", "{verdict: violated double-grant, rate: 60%..100%}", rate(1, 10, 0.005, 0.394),
			"violated in 1 of 10 episodes (0.5%..39.4%), expected 60%..100%"},
		{"rate too high", "{verdict: violated, rate: 0%..10%}", rate(10, 10, 0.741, 1),
			"violated in 10 of 10 episodes (74.1%..100%), expected 0%..10%"},
		{"rate touches", "{verdict: violated, rate: 60%}", rate(1, 2, 0.025, 0.6), ""},

		{"limit kept", "{limits: {outage: 5s}}", figures("outage", 5*time.Second), ""},
		{"limit broken", "{limits: {outage: 5s}}", figures("outage", 5001*time.Millisecond), "outage 5.001s, expected at most 5s"},
		{"limit not measured", "{limits: {p99: 5ms}}", figures("outage", 0), "p99 was not measured, expected at most 5ms"},
		{"limits alone ask for valid", "{limits: {outage: 5s}}",
			Observed{Judgement: Judgement{Violated, ""}, Figures: map[string]time.Duration{"outage": 0}}, "expected valid, found violated"},
		{"two misses", "{verdict: valid, limits: {outage: 5s}}",
			Observed{Judgement: Judgement{Violated, ""}, Figures: map[string]time.Duration{"outage": time.Minute}},
			"expected valid, found violated; outage 1m0s, expected at most 5s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ok, why := expectation(t, test.expect).Holds(test.got)
			if why != test.why || ok != (test.why == "") {
				t.Errorf("%s: Holds = %v, %q; want %q", test.expect, ok, why, test.why)
			}
		})
	}
}

func TestExpectationString(t *testing.T) {
	for text, want := range map[string]string{
		"valid":                 "valid",
		"violated double-grant": "violated double-grant",
		"{verdict: violated double-grant, rate: 60%..100%}":                           "violated double-grant, rate 60%..100%",
		"{resource: valid, exclusion: violated overstay}":                             "exclusion violated overstay, resource valid",
		"{verdict: unjudged, rate: 12.5%..50%, limits: {p99: 50ms, outage: 5s}}":      "unjudged, rate 12.5%..50%, outage at most 5s, p99 at most 50ms",
		"{verdict: 'violated  overstay', exclusion: violated, limits: {max: 1500ms}}": "violated overstay, exclusion violated, max at most 1.5s",
	} {
		if got := expectation(t, text).String(); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func TestExpectationOfAnUnnamedLock(t *testing.T) {
	s := defaults()
	if got := s.Expectation("set-nx").String(); got != Valid {
		t.Errorf("an unnamed lock must be %q, want valid", got)
	}
}

// An expectation of set-nx applies to set-nx/ttl=2s, unless that has its own.
func TestExpectationOfALockWithOptions(t *testing.T) {
	s := defaults()
	s.Expect = map[string]Expectation{
		"set-nx":         {Judgement: Judgement{Violated, "double-grant"}},
		"set-nx/ttl=30s": {Judgement: Judgement{Verdict: Unjudged}},
	}
	for name, want := range map[string]string{
		"set-nx/ttl=2s": "violated double-grant", "set-nx/ttl=30s": "unjudged", "redlock/nodes=3": "valid", "set-nx-fenced": "valid",
	} {
		if got := s.Expectation(name).String(); got != want {
			t.Errorf("of %s: %q, want %q", name, got, want)
		}
	}
	valid := Observed{Judgement: Judgement{Verdict: Valid}}
	if ok, why := s.Expectation("set-nx/ttl=2s").Holds(valid); ok || !strings.HasSuffix(why, "; the scenario expects that of set-nx") {
		t.Errorf("found valid: %v, %q; want a word on whose expectation it is", ok, why)
	}
}

// The catalog has the expectation of a lock that the scenario does not name.
func TestExpectationOfTheCatalog(t *testing.T) {
	s := defaults()
	s.Expect = map[string]Expectation{
		"pg-advisory": {Judgement: Judgement{Verdict: Unjudged}},
		"redlock":     {Judgement: Judgement{Violated, "overstay"}},
		"pottery":     {Judgement: Judgement{Verdict: Unknown}},
	}
	for name, want := range map[string]struct{ text, of string }{
		"set-nx":                 {"valid", ""},
		"no-lock":                {"violated", ""},            // broken by design
		"exists-then-set":        {"unjudged", ""},            // wrong on purpose
		"mysql-get-lock":         {"unjudged", "pg-advisory"}, // like another one
		"mysql-get-lock/pool=on": {"unjudged", "pg-advisory"},
		"redsync":                {"violated overstay", "redlock"},
		"pottery":                {"unknown", ""}, // like redlock, and named
		"pottery/ttl=3s":         {"unknown", "pottery"},
		"a user's guest":         {"valid", ""},
	} {
		if got := s.Expectation(name); got.String() != want.text || got.Of != want.of {
			t.Errorf("%s: %s, of %q; want %s, of %q", name, got, got.Of, want.text, want.of)
		}
	}
}

// A key may name several locks.
func TestExpectationOfSeveralLocks(t *testing.T) {
	s, err := Read("x.yaml", []byte("lockbench: scenario/1\nlocks: [set-nx]\nfaults: none\nexpect:\n  set-nx, redlock/ttl=2s: violated overstay\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"set-nx", "redlock/ttl=2s"} {
		if got := s.Expect[name].String(); got != "violated overstay" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestParseExpectation(t *testing.T) {
	for arg, want := range map[string]struct{ text, err string }{
		"valid":                                 {"valid", ""},
		" violated overstay":                    {"violated overstay", ""},
		"{verdict: valid, limits: {p99: 50ms}}": {"valid, p99 at most 50ms", ""},
		"vaild":                                 {err: `--expect: no verdict is named "vaild"; did you mean "valid"?`},
		"set-nx":                                {err: `--expect: no verdict is named "set-nx"; known are valid, violated, unknown, unjudged, violated stale-write, violated overstay, violated undetermined, violated double-grant`},
		"":                                      {err: `--expect: a value is missing; write it, or remove the key`},
		"{verdict: vaild":                       {err: `--expect: invalid YAML: could not find flow mapping end token '}'`},
		"{verdict: vaild}":                      {err: `--expect: no verdict is named "vaild"; did you mean "valid"?`},
	} {
		e, err := ParseExpectation(arg)
		got := ""
		if err != nil {
			got = err.Error()
			if !IsUsage(err) {
				t.Errorf("%T is not an *Error", err)
			}
		}
		if e.String() != want.text || got != want.err {
			t.Errorf("ParseExpectation(%q) = %q, error\n%s\nwant\n%s", arg, e, got, want.err)
		}
	}
}

// An expectation that leaves something unjudged says why, on its line or in the line before.
func TestUnjudgedHasAReason(t *testing.T) {
	for _, name := range Names() {
		source, _ := Find(name)
		before := ""
		for n, line := range strings.Split(string(source), "\n") {
			if strings.Contains(line, "unjudged") && !strings.Contains(line, "#") && !strings.HasPrefix(strings.TrimSpace(before), "#") {
				t.Errorf("%s.yaml:%d: unjudged without a reason", name, n+1)
			}
			before = line
		}
	}
}
