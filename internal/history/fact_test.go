package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func encodeFacts(all []Fact) ([]byte, error) {
	text, err := facts(all).MarshalJSON()
	return bytes.TrimSuffix(text, []byte("\n")), err
}

func decodeFacts(text []byte) ([]Fact, error) {
	var all facts
	err := json.Unmarshal(text, &all)
	return all, err
}

// TestFactsOnTheWire holds every kind to the bytes that histories have always had.
func TestFactsOnTheWire(t *testing.T) {
	for _, c := range []struct {
		facts []Fact
		want  string
	}{
		{[]Fact{Episode{2}}, `{"episode":2}`},
		{[]Fact{Quiet{Begins: true}}, `{"quiet":"begins"}`},
		{[]Fact{Quiet{}}, `{"quiet":"ends"}`},
		{[]Fact{Promoted{"redis-2", false}}, `{"master":"redis-2","ordered":false}`},
		{[]Fact{Promoted{"", true}}, `{"master":"","ordered":true}`},
		{[]Fact{ClockStep{-2 * time.Millisecond}}, `{"clock_step_ns":-2000000}`},
		{[]Fact{ClockStep{}}, `{"clock_step_ns":0}`},
		{[]Fact{Kept{"redis-1", "1.7", 3 * time.Second}}, `{"node":"redis-1","session":"1.7","ttl":3000000000}`},
		{[]Fact{Kept{TTL: math.MinInt64}}, `{"node":"","session":"","ttl":-9223372036854775808}`},
		{[]Fact{Left{[]string{"a", "b"}, []string{"b"}}}, `{"ending":["b"],"left":["a","b"]}`},
		{[]Fact{Left{}}, `{"ending":[],"left":[]}`},
		{[]Fact{Queued{[]string{"1.7", "é\"<\xff"}}}, `{"queued":["1.7","é\"<\ufffd"]}`},
		{[]Fact{Sent{4, 11}}, `{"client":4,"commands":11}`},
		{[]Fact{Quiet{}, Sent{4, 11}, Episode{1}, ClockStep{5}}, `{"client":4,"clock_step_ns":5,"commands":11,"episode":1,"quiet":"ends"}`},
	} {
		got, err := encodeFacts(c.facts)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != c.want {
			t.Errorf("%#v is written as\n%s\nexpected\n%s", c.facts, got, c.want)
		}
	}
	for _, bad := range [][]Fact{{Episode{1}, Episode{1}}, {Quiet{}, Quiet{Begins: true}}, {nil}, {&Episode{1}}} {
		if line, err := encodeFacts(bad); err == nil {
			t.Errorf("%#v was written as %s", bad, line)
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
		{`{"a":1,"b":{"episode":1},"episodes":2,"share":1e999}`, nil},
		{`{"quiet":"begins","episode":1}`, []Fact{Episode{1}, Quiet{Begins: true}}},
		{`{"episode":1.0}`, []Fact{Episode{1}}},
		{`{"episode":2e1}`, []Fact{Episode{20}}},
		{`{"episode":1,"episode":2}`, []Fact{Episode{2}}},
		{`{"episode":1.5}`, nil},
		{`{"episode":1e30}`, nil},
		{`{"episode":1e999}`, nil},
		{`{"episode":9223372036854775808}`, nil},
		{`{"episode":-9223372036854775808}`, []Fact{Episode{math.MinInt64}}},
		{`{"episode":"1"}`, nil},
		{`{"episode":null,"quiet":null,"ttl":null,"left":null,"queued":null,"client":null,"commands":null}`, nil},
		{`{"quiet":"later"}`, nil},
		{`{"quiet":true}`, nil},
		{`{"ordered":true}`, nil},
		{`{"master":"m"}`, []Fact{Promoted{Node: "m"}}},
		{`{"master":null,"ordered":"yes"}`, []Fact{Promoted{}}}, // the master is unknown, but there was a change
		{`{"master":3}`, []Fact{Promoted{}}},
		{`{"clock_step_ns":1.5}`, []Fact{ClockStep{}}},
		{`{"clock_step_ns":null}`, []Fact{ClockStep{}}},
		{`{"clock_step_ns":2e6}`, []Fact{ClockStep{2 * time.Millisecond}}},
		{`{"ttl":9007199254740993}`, []Fact{Kept{TTL: 9007199254740993}}},
		{`{"ttl":5e9,"session":7,"node":"n"}`, []Fact{Kept{Node: "n", TTL: 5 * time.Second}}},
		{`{"ttl":"5s","session":"1.1"}`, nil},
		{`{"left":[]}`, []Fact{Left{}}},
		{`{"left":"a","ending":"a"}`, []Fact{Left{[]string{"a"}, []string{"a"}}}},
		{`{"left":["a",1,null,"b",["c"]],"ending":{}}`, []Fact{Left{Names: []string{"a", "b"}}}},
		{`{"left":0}`, []Fact{Left{}}}, // the probe looked and found none
		{`{"ending":["a"]}`, nil},
		{`{"queued":"1.1"}`, []Fact{Queued{[]string{"1.1"}}}},
		{`{"queued":[]}`, []Fact{Queued{}}},
		{`{"queued":1}`, nil},
		{`{"client":4}`, nil},
		{`{"commands":4}`, nil},
		{`{"client":4.0,"commands":1e3}`, []Fact{Sent{4, 1000}}},
		{`{"client":5000000000,"commands":1}`, nil}, // no client has that number
	} {
		got, err := decodeFacts([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, diff)
		}
	}
}

// anyFacts draws facts of different kinds, in the order in which they are decoded.
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
		Quiet{rapid.Bool().Draw(t, "begins")},
		Promoted{text.Draw(t, "master"), rapid.Bool().Draw(t, "ordered")},
		ClockStep{ns.Draw(t, "step")},
		Kept{text.Draw(t, "node"), text.Draw(t, "session"), ns.Draw(t, "ttl")},
		Left{names.Draw(t, "left"), names.Draw(t, "ending")},
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
		want := anyFacts(t)
		text, err := encodeFacts(want)
		if err != nil {
			t.Fatal(err)
		}
		if len(want) > 0 && plainFacts(t, text) != string(text) {
			t.Fatalf("written as %s, which is not sorted by name", text)
		}
		got, err := decodeFacts(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s:\n%s", text, diff)
		}
	})
}

// plainFacts writes an object of facts as a map is written, field by field.
func plainFacts(t *rapid.T, text []byte) string {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	var fields []string
	for name, value := range raw {
		fields = append(fields, fmt.Sprintf("%q:%s", name, value))
	}
	slices.Sort(fields)
	return "{" + strings.Join(fields, ",") + "}"
}
