package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"lockbench/locks"
)

// TestWireNames holds the encoder to the names of the format.
func TestWireNames(t *testing.T) {
	for _, c := range []struct {
		event Event
		want  string
	}{{
		Event{Index: 3, Time: 40, Process: 7, Client: 2, Type: Invoke, F: Acquire, Session: "2.1", Mode: locks.Shared, TTL: 5, Wait: 6,
			Owner: "o\n\"é\xff", Keys: []string{"a", "b"}},
		`{'index':3,'time':40,'process':7,'client':2,'type':'invoke','f':'acquire','session':'2.1','mode':'shared','ttl':5,'wait':6,` +
			`'owner':'o\n\'é\ufffd','keys':['a','b']}`,
	}, {
		Event{Process: 0, Client: 1, Type: OK, F: Acquire, Session: "s", Until: new(time.Duration), Token: new(uint64(math.MaxUint64)),
			Node: "redis-1", Lease: 9, Renewed: true, Period: 3},
		`{'index':0,'time':0,'process':0,'client':1,'type':'ok','f':'acquire','session':'s','until':0,'token':18446744073709551615,'lease':9,'renewed':true,'period':3,'node':'redis-1'}`,
	}, {
		Event{Type: OK, F: Release, Session: "s", Unconfirmed: true},
		`{'index':0,'time':0,'process':0,'type':'ok','f':'release','session':'s','unconfirmed':true}`,
	}, {
		Event{Type: OK, F: Acquire, Session: "s", FromAnswer: true},
		`{'index':0,'time':0,'process':0,'type':'ok','f':'acquire','session':'s','from_answer':true}`,
	}, {
		Event{Type: Fail, F: Acquire, Session: "s", Strict: true, Error: ErrorTaken},
		`{'index':0,'time':0,'process':0,'type':'fail','f':'acquire','session':'s','strict':true,'error':'taken'}`,
	}, {
		Event{Type: Invoke, F: Write, Session: "s", Resource: Fenced, Value: new(int64(-1)), Token: new(uint64)},
		`{'index':0,'time':0,'process':0,'type':'invoke','f':'write','session':'s','token':0,'resource':'fenced','value':-1}`,
	}, {
		Event{Process: Nemesis, Type: Info, F: "kill", Step: 2, Targets: []string{"redis-1"}, Phase: Bites, Text: "redis-1"},
		`{'index':0,'time':0,'process':'nemesis','type':'info','f':'kill','step':2,'targets':['redis-1'],'phase':'bites','value':'redis-1'}`,
	}, {
		Event{Process: Probe, Type: Info, F: FProbe, Key: "a", Facts: &Facts{Kept: &Kept{"redis-1", "1.7", new(time.Duration(3))}}},
		`{'index':0,'time':0,'process':'probe','type':'info','f':'probe','key':'a','facts':{'node':'redis-1','session':'1.7','ttl':3}}`,
	}} {
		got, err := AppendEvent(nil, &c.event)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(c.want, "'", `"`) + "\n"
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Error(diff)
		}
		if !json.Valid(got) {
			t.Errorf("no JSON: %s", got)
		}
	}
}

// TestNoFieldIsForgotten sets every field there is, so that one which is added
// to Event without its encoding and decoding is noticed here.
func TestNoFieldIsForgotten(t *testing.T) {
	for _, number := range []bool{true, false} {
		var e Event
		for i := range reflect.TypeFor[Event]().NumField() {
			setField(t, &e, i)
		}
		if number { // they share the name value
			e.Text = ""
		} else {
			e.Value = nil
		}
		checkRoundTrip(t, &e)
	}
}

// TestNoFieldIsForgottenOfClients sets one field after the other, so that one which the encoding without reflection does
// not know is noticed here.
func TestNoFieldIsForgottenOfClients(t *testing.T) {
	for i := range reflect.TypeFor[Event]().NumField() {
		e := Event{Process: 1, Client: 1, Type: OK, F: Acquire, Session: "1.1"}
		setField(t, &e, i)
		want, err := appendEvent(nil, &e)
		got, err2 := AppendEvent(nil, &e)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s alone (-with reflection +without):\n%s", reflect.TypeFor[Event]().Field(i).Name, diff)
		}
	}
}

// setField gives a field of an event a value that is not zero.
func setField(t *testing.T, e *Event, i int) {
	t.Helper()
	switch f := reflect.ValueOf(e).Elem().Field(i); f.Kind() {
	case reflect.Bool:
		f.SetBool(true)
	case reflect.String:
		f.SetString("text")
	case reflect.Uint8, reflect.Uint64:
		f.SetUint(1)
	case reflect.Int, reflect.Int32, reflect.Int64:
		f.SetInt(int64(100 + i))
	case reflect.Pointer:
		if f.Type() == reflect.TypeFor[*Facts]() {
			f.Set(reflect.ValueOf(Probed(Episode{1}).Facts))
			break
		}
		f.Set(reflect.New(f.Type().Elem()))
		f.Elem().Set(reflect.ValueOf(int64(100 + i)).Convert(f.Type().Elem()))
	case reflect.Slice:
		f.Set(reflect.ValueOf([]string{"one", "two"}))
	default:
		t.Fatalf("a field of kind %s", f.Kind())
	}
}

// TestWholeNumbers reads the forms in which other programs may write a whole number.
func TestWholeNumbers(t *testing.T) {
	for _, c := range []struct {
		ttl  string
		want int64
		ok   bool
	}{
		{"5e9", 5_000_000_000, true}, {"5.0", 5, true}, {"1.5e1", 15, true}, {"-0", 0, true}, {"null", 0, true},
		{"9223372036854775807", math.MaxInt64, true}, {"-9223372036854775808", math.MinInt64, true},
		{"9007199254740991.0", 1<<53 - 1, true}, {"9007199254740992.0", 0, false}, // may have been rounded
		{"9223372036854775808", 0, false}, {"1.5", 0, false}, {"1e400", 0, false}, {`"5"`, 0, false}, {"true", 0, false}, {"[5]", 0, false}, {"{}", 0, false},
	} {
		var e Event
		m := decodeEvent([]byte(`{"process":1,"type":"ok","ttl":`+c.ttl+`}`), 2, &e)
		if (m == nil) != c.ok || int64(e.TTL) != c.want {
			t.Errorf("%s is read as %d (%v); expected %d", c.ttl, e.TTL, m, c.want)
		}
		if m != nil && !strings.Contains(m.Error(), `line 2: field "ttl" is a JSON `) {
			t.Errorf("%s: error %q; expected the line and the field", c.ttl, m)
		}
	}
	for text, want := range map[string]uint64{"18446744073709551615": math.MaxUint64, "1e3": 1000, "0": 0} {
		var e Event
		if m := decodeEvent([]byte(`{"process":1,"type":"ok","token":`+text+`}`), 2, &e); m != nil || e.Token == nil || *e.Token != want {
			t.Errorf("token %s is read as %d (%v); expected %d", text, e.Token, m, want)
		}
	}
}

func TestAnyEventRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent(t)
		checkRoundTrip(t, &e)
	})
}

type fataler interface {
	Fatalf(format string, args ...any)
}

func checkRoundTrip(t fataler, e *Event) {
	line, err := AppendEvent(nil, e)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if !json.Valid(line) {
		t.Fatalf("no JSON: %s", line)
	}
	var got Event
	if m := decodeEvent(line, 2, &got); m != nil {
		t.Fatalf("%v: %s", m, line)
	}
	if diff := cmp.Diff(*e, got); diff != "" {
		t.Fatalf("%s%s", line, diff)
	}
}

// anyEvent draws an event that need not be in order: the codec does not judge.
func anyEvent(t *rapid.T) Event {
	text := rapid.OneOf(rapid.Just(""), rapid.String())
	texts := rapid.Custom(func(t *rapid.T) []string {
		if list := rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "list"); len(list) > 0 {
			return list
		}
		return nil
	})
	ns := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64()).Draw(t, "ns"))
	})
	flag := rapid.Bool()
	e := Event{
		Index: rapid.Int().Draw(t, "index"), Time: ns.Draw(t, "time"),
		Process: Process(rapid.Int32Min(-2).Draw(t, "process")), Client: rapid.Int32().Draw(t, "client"),
		Type: Type(rapid.IntRange(1, 4).Draw(t, "type")), Mode: locks.Mode(rapid.IntRange(0, 1).Draw(t, "mode")),
		Strict: flag.Draw(t, "strict"), Unconfirmed: flag.Draw(t, "unconfirmed"), FromAnswer: flag.Draw(t, "from_answer"),
		F: text.Draw(t, "f"), Session: text.Draw(t, "session"), Key: text.Draw(t, "key"),
		TTL: ns.Draw(t, "ttl"), Wait: ns.Draw(t, "wait"), Resource: text.Draw(t, "resource"), Error: text.Draw(t, "error"),
	}
	if flag.Draw(t, "until?") {
		e.Until = new(ns.Draw(t, "until"))
	}
	if flag.Draw(t, "token?") {
		e.Token = new(rapid.Uint64().Draw(t, "token"))
	}
	if flag.Draw(t, "value?") {
		e.Value = new(rapid.Int64().Draw(t, "value"))
	}
	e.Owner, e.Keys = text.Draw(t, "owner"), texts.Draw(t, "keys")
	e.Node, e.Lease, e.Renewed, e.Period = text.Draw(t, "node"), ns.Draw(t, "lease"), flag.Draw(t, "renewed"), ns.Draw(t, "period")
	e.Step, e.Targets, e.Phase = rapid.Int().Draw(t, "step"), texts.Draw(t, "targets"), text.Draw(t, "phase")
	e.Effect = texts.Draw(t, "effect")
	if e.Value == nil {
		e.Text = text.Draw(t, "text")
	}
	if rapid.Bool().Draw(t, "facts?") {
		e.Facts = Probed(anyFacts(t)...).Facts
	}
	return e
}

// TestHistoriesRoundTrip writes and reads histories that keep the rules.
func TestHistoriesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, err := Build(Header{Lock: "set-nx", Model: Model{Fenced}, Seed: 7}, orderlyEvents(t))
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := want.Encode(&file); err != nil {
			t.Fatal(err)
		}
		got, err := Read(&file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(History{}, "Lines")); diff != "" {
			t.Fatal(diff)
		}
	})
}

// orderlyEvents draws operations of a few clients with every outcome. After an unknown outcome a client continues as a new
// process.
func orderlyEvents(t *rapid.T) []Event {
	type client struct {
		process Process
		open    *Event // the invocation that waits for its return
		session string
		granted bool
	}
	clients, fresh, attempts := make([]client, rapid.IntRange(1, 4).Draw(t, "clients")), Process(0), 0
	for i := range clients {
		clients[i].process, fresh = fresh, fresh+1
	}
	var events []Event
	at := time.Duration(0)
	add := func(e Event) {
		at += time.Duration(rapid.IntRange(0, 3).Draw(t, "ns"))
		e.Index, e.Time = len(events), at
		events = append(events, e)
	}
	for range rapid.IntRange(0, 40).Draw(t, "steps") {
		n := rapid.IntRange(0, len(clients)-1).Draw(t, "who")
		c := &clients[n]
		e := Event{Process: c.process, Client: int32(n), Type: Invoke, Session: c.session}
		switch {
		case rapid.IntRange(0, 9).Draw(t, "else") == 0:
			add(Event{Process: Nemesis, Type: Info, F: "cut", Phase: Begins, Targets: []string{"redis-1"}})
			continue
		case c.open != nil:
			e.F, e.Type = c.open.F, Type(rapid.IntRange(int(OK), int(Info)).Draw(t, "type"))
			c.open = nil
			if e.F == Acquire {
				c.granted = e.Type == OK
				if c.granted {
					e.Token = new(uint64)
				}
				if e.Type == Fail {
					c.session = ""
				}
			}
			if e.F == Release {
				c.session, c.granted = "", false
			}
			if e.Type == Info {
				c.process, fresh = fresh, fresh+1
			}
			add(e)
			continue
		case c.session == "":
			attempts++
			c.session = fmt.Sprintf("%d.%d", n, attempts)
			e.F, e.Session, e.Key, e.TTL = Acquire, c.session, "a", 5
		case c.granted:
			e.F = rapid.SampledFrom([]string{Release, Check, FRead, Write, Renew}).Draw(t, "f")
		default:
			e.F = Release
		}
		c.open = &e
		add(e)
	}
	return events
}

// Events of clients are written without reflection. The lines are those of encoding/json, with each field alone, so that a
// new field cannot be forgotten, and with all fields together.
func TestClientEventsAsJSON(t *testing.T) {
	compare := func(t interface {
		Helper()
		Errorf(string, ...any)
	}, e *Event) {
		t.Helper()
		want, err := appendEvent(nil, e)
		if err != nil {
			t.Errorf("%+v: %v", e, err)
		}
		if got, err := AppendEvent([]byte("before"), e); err != nil || string(got) != "before"+string(want) {
			t.Errorf("got %s (%v)\nwant %s", got, err, want)
		}
	}
	values := map[reflect.Kind]func(reflect.Value){
		reflect.Bool: func(v reflect.Value) { v.SetBool(true) }, reflect.String: func(v reflect.Value) { v.SetString("x") },
		reflect.Int: func(v reflect.Value) { v.SetInt(3) }, reflect.Int32: func(v reflect.Value) { v.SetInt(3) },
		reflect.Int64: func(v reflect.Value) { v.SetInt(3) }, reflect.Uint8: func(v reflect.Value) { v.SetUint(1) },
		reflect.Pointer: func(v reflect.Value) { v.Set(reflect.New(v.Type().Elem())) },
		reflect.Slice:   func(v reflect.Value) { v.Set(reflect.MakeSlice(v.Type(), 1, 1)) },
	}
	for i := range reflect.TypeFor[Event]().NumField() {
		e := Event{Type: OK, F: Acquire}
		field := reflect.ValueOf(&e).Elem().Field(i)
		values[field.Kind()](field)
		compare(t, &e)
	}
	fast := 0
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"", "1.7", "redis-1,redis-2", "<&>"})
		if rapid.Bool().Draw(t, "escapes") {
			text = rapid.OneOf(rapid.SampledFrom([]string{"", "a\"b", "\\", "\x7f", "\xff", "é\u2028\n"}), rapid.String())
		}
		number := rapid.OneOf(rapid.Just[int64](0), rapid.Int64())
		pick := func(name string) bool { return rapid.Bool().Draw(t, name) }
		e := Event{
			Index: int(number.Draw(t, "index")), Time: time.Duration(number.Draw(t, "time")), Process: Process(rapid.Int32Min(-3).Draw(t, "process")),
			Client: rapid.Int32().Draw(t, "client"), Type: Type(rapid.Uint8Range(1, 4).Draw(t, "type")), F: text.Draw(t, "f"),
			Session: text.Draw(t, "session"), Key: text.Draw(t, "key"), TTL: time.Duration(number.Draw(t, "ttl")), Wait: time.Duration(number.Draw(t, "wait")),
			FromAnswer: pick("from answer"), Strict: pick("strict"), Unconfirmed: pick("unconfirmed"), Resource: text.Draw(t, "resource"), Owner: text.Draw(t, "owner"),
			Lease: time.Duration(number.Draw(t, "lease")), Renewed: pick("renewed"), Period: time.Duration(number.Draw(t, "period")), Node: text.Draw(t, "node"), Error: text.Draw(t, "error"),
		}
		if pick("until") {
			e.Until, e.Token, e.Value = new(time.Duration(number.Draw(t, "until"))), new(rapid.Uint64().Draw(t, "token")), new(number.Draw(t, "value"))
		}
		if _, ok := appendClientEvent(nil, &e); ok {
			fast++
		}
		compare(t, &e)
	})
	if fast == 0 {
		t.Error("no event was written without reflection")
	}
}
