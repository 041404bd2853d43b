package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"lockbench/internal/stats"
)

// TestUnmeasured: a lock that did not run has no figures in JSON, and a lock that ran has them also if they are 0.
func TestUnmeasured(t *testing.T) {
	for _, c := range []struct {
		lock Lock
		has  bool
	}{{Lock{Lock: "a", Unsupported: "no files here"}, false}, {Lock{Lock: "a", Why: "<&>"}, true}} {
		text, err := json.Marshal(c.lock)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		figures, err := json.Marshal(stats.Figures{})
		if err != nil {
			t.Fatal(err)
		}
		var names map[string]json.RawMessage
		if err := json.Unmarshal(figures, &names); err != nil {
			t.Fatal(err)
		}
		for name := range names {
			if _, has := fields[name]; has != c.has {
				t.Errorf("%s: %s is there: %v, want %v", text, name, has, c.has)
			}
		}
		var back Lock
		if err := json.Unmarshal(text, &back); err != nil || back.Lock != "a" || back.Why != c.lock.Why {
			t.Errorf("%s was read as %+v, %v", text, back, err)
		}
	}
	if text, err := unescaped(Lock{Why: "<&>"}); err != nil || !strings.Contains(string(text), "<&>") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Count(0), "0"}, {Count(999), "999"}, {Count(1000), "1,000"}, {Count(21904), "21,904"}, {Count(-1234567), "-1,234,567"},
		{Millis(0), "0 ms"}, {Millis(0.02), "<0.1 ms"}, {Millis(0.1), "0.1 ms"}, {Millis(9.94), "9.9 ms"}, {Millis(9.96), "10 ms"},
		{Millis(999.4), "999 ms"}, {Millis(999.6), "1.0 s"}, {Millis(3001), "3.0 s"},
		{Seconds(2.75), "2.8 s"}, {Seconds(0), "0.0 s"}, {Seconds(118.4), "118 s"},
		{Stamp(4212 * time.Millisecond), "4.212 s"},
		{Length(8 * time.Second), "8 s"}, {Length(1500 * time.Millisecond), "1.5 s"}, {Length(250 * time.Millisecond), "250 ms"},
		{Clock(31 * time.Second), "0:31"}, {Clock(725 * time.Second), "12:05"},
		{Percent(0.5615), "56 %"}, {Percent(0), "0 %"}, {Percent(0.004), "0.4 %"}, {Percent(1), "100 %"},
		{Plural(1, "lock"), "1 lock"}, {Plural(2000, "lock"), "2,000 locks"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
