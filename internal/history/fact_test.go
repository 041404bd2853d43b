package history

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// TestFactsOnTheWire holds every kind to the bytes that histories have always had.
func TestFactsOnTheWire(t *testing.T) {
	for _, c := range []struct {
		facts []Fact
		want  string
	}{
		{[]Fact{Episode{2}}, `{"episode":2}`},
		{[]Fact{QuietBegins}, `{"quiet":"begins"}`},
		{[]Fact{QuietEnds}, `{"quiet":"ends"}`},
		{[]Fact{Promoted{"redis-2", false}}, `{"master":"redis-2","ordered":false}`},
		{[]Fact{Promoted{"", true}}, `{"master":"","ordered":true}`},
		{[]Fact{ClockStep{-2 * time.Millisecond}}, `{"clock_step_ns":-2000000}`},
		{[]Fact{ClockStep{}}, `{"clock_step_ns":0}`},
		{[]Fact{Kept{"redis-1", "1.7", new(3 * time.Second)}}, `{"node":"redis-1","session":"1.7","ttl":3000000000}`},
		{[]Fact{Kept{TTL: new(time.Duration(math.MinInt64))}}, `{"node":"","session":"","ttl":-9223372036854775808}`},
		{[]Fact{Left{Names: []string{"a", "b"}, Ending: []string{"b"}}}, `{"ending":["b"],"left":["a","b"]}`},
		{[]Fact{Left{[]string{}, []string{}}}, `{"ending":[],"left":[]}`},
		{[]Fact{Queued{[]string{"1.7", "é\"<\xff"}}}, `{"queued":["1.7","é\"<\ufffd"]}`},
		{[]Fact{Sent{4, 11}}, `{"client":4,"commands":11}`},
		{[]Fact{Warned{"client 1: it says"}}, `{"warning":"client 1: it says"}`},
		{[]Fact{Noted{[]string{"client 1: it says"}}}, `{"notes":["client 1: it says"]}`},
		{[]Fact{QuietEnds, Sent{4, 11}, Episode{1}, ClockStep{5}}, `{"client":4,"commands":11,"clock_step_ns":5,"episode":1,"quiet":"ends"}`},
	} {
		e := Probed(c.facts...)
		line, err := AppendEvent(nil, &e)
		if err != nil {
			t.Fatal(err)
		}
		if want := `"facts":` + c.want + "}\n"; !strings.HasSuffix(string(line), want) {
			t.Errorf("%#v is written as\n%s\nexpected at the end\n%s", c.facts, line, want)
		}
	}
}

// TestFactsOfOtherPrograms reads what lockbench does not write.
func TestFactsOfOtherPrograms(t *testing.T) {
	for _, c := range []struct {
		text string
		want []Fact
	}{
		{`{}`, nil},
		{`{"a":1,"b":{"episode":1},"episodes":2}`, nil},
		{`{"quiet":"begins","episode":1}`, []Fact{Episode{1}, QuietBegins}},
		{`{"episode":1.0}`, []Fact{Episode{1}}},
		{`{"episode":2e1}`, []Fact{Episode{20}}},
		{`{"episode":1,"episode":2}`, []Fact{Episode{2}}},
		{`{"episode":-9223372036854775808}`, []Fact{Episode{math.MinInt64}}},
		{`{"quiet":null}`, nil},
		{`{"quiet":"later"}`, []Fact{Quiet("later")}},
		{`{"ordered":true}`, []Fact{Promoted{Ordered: true}}},
		{`{"master":"m"}`, []Fact{Promoted{Node: "m"}}},
		{`{"master":null}`, []Fact{Promoted{}}}, // the master is unknown, but there was a change
		{`{"clock_step_ns":null}`, []Fact{ClockStep{}}},
		{`{"clock_step_ns":2e6}`, []Fact{ClockStep{2 * time.Millisecond}}},
		{`{"ttl":9007199254740993}`, []Fact{Kept{TTL: new(time.Duration(9007199254740993))}}},
		{`{"ttl":5e9,"session":"1.1","node":"n"}`, []Fact{Kept{Node: "n", Session: "1.1", TTL: new(5 * time.Second)}}},
		{`{"left":[]}`, []Fact{Left{Names: []string{}}}},
		{`{"queued":[]}`, []Fact{Queued{[]string{}}}},
		{`{"client":4.0,"commands":1e3}`, []Fact{Sent{4, 1000}}},
	} {
		var e Event
		if m := decodeEvent([]byte(`{"process":"probe","facts":`+c.text+`}`), 2, &e); m != nil {
			t.Errorf("%s: %v", c.text, m)
		}
		if diff := cmp.Diff(Probed(c.want...).Facts, e.Facts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, diff)
		}
	}
	for text, want := range map[string]string{
		`{"episode":1.5}`:       `line 2: field "episode" is a JSON number 1.5; expected a whole number`,
		`{"episode":1e999}`:     `line 2: field "episode" is a JSON number 1e999; expected a whole number`,
		`{"quiet":true}`:        `line 2: field "quiet" is a JSON bool; expected a text`,
		`{"ttl":"5s"}`:          `line 2: field "ttl" is a JSON string; expected a whole number of 64 bits`,
		`{"left":["a",1]}`:      `line 2: field "left" is a JSON number; expected a text`,
		`{"queued":"1.1"}`:      `line 2: field "queued" is a JSON string; expected a list of texts`,
		`{"client":5000000000}`: `line 2: field "client" is a JSON number 5000000000; expected a whole number of 32 bits`,
	} {
		var e Event
		if m := decodeEvent([]byte(`{"process":"probe","facts":`+text+`}`), 2, &e); m == nil || m.Error() != want {
			t.Errorf("%s: %v; expected %s", text, m, want)
		}
	}
}

// anyFacts draws facts of different kinds.
func anyFacts(t *rapid.T) []Fact {
	text := rapid.OneOf(rapid.Just(""), rapid.String())
	names := rapid.Custom(func(t *rapid.T) []string {
		if list := rapid.SliceOfN(text, 0, 3).Draw(t, "list"); len(list) > 0 {
			return list
		}
		return nil
	})
	ns := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64().Draw(t, "ns")) })
	all := []Fact{
		Episode{rapid.Int().Draw(t, "episode")},
		rapid.SampledFrom([]Quiet{QuietBegins, QuietEnds}).Draw(t, "quiet"),
		Promoted{text.Draw(t, "master"), rapid.Bool().Draw(t, "ordered")},
		ClockStep{ns.Draw(t, "step")},
		Kept{text.Draw(t, "node"), text.Draw(t, "session"), new(ns.Draw(t, "ttl"))},
		Left{names.Draw(t, "ending"), names.Draw(t, "left")},
		Queued{names.Draw(t, "queued")},
		Sent{rapid.Int32().Draw(t, "client"), rapid.Int().Draw(t, "commands")},
	}
	drawn := rapid.SliceOfN(rapid.Bool(), len(all), len(all)).Draw(t, "kinds")
	var facts []Fact
	for i, f := range all {
		if drawn[i] {
			facts = append(facts, f)
		}
	}
	return facts
}

func TestFactsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Probed(anyFacts(t)...)
		line, err := AppendEvent(nil, &want)
		if err != nil {
			t.Fatal(err)
		}
		var got Event
		if m := decodeEvent(line, 2, &got); m != nil {
			t.Fatalf("%s: %v", line, m)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s:\n%s", line, diff)
		}
	})
}
