package history

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockbench/locks"
)

// TestWireGolden holds the lines of a history, one of each kind, to the bytes in testdata/wire.jsonl, in both directions.
func TestWireGolden(t *testing.T) {
	const golden = "testdata/wire.jsonl"
	all := eachKind()
	var written []byte
	for i := range all {
		all[i].Index, all[i].Time = i, time.Duration(i)*1_000_003
		line, err := AppendEvent(written, &all[i])
		if err != nil {
			t.Fatal(err)
		}
		written = line
	}
	if *update {
		if err := os.WriteFile(golden, written, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(written), "\n")); diff != "" {
		t.Error(diff)
	}
	for i := range all {
		checkRoundTrip(t, &all[i])
	}
}

// eachKind is one event of each kind that lockbench records, and one of each that only other programs write.
func eachKind() []Event {
	client := func(typ Type, f string, with func(*Event)) Event {
		e := Event{Process: 3, Client: 3, Type: typ, F: f, Session: "3.17"}
		if with != nil {
			with(&e)
		}
		return e
	}
	nemesis := func(f, phase, text string, targets ...string) Event {
		return Event{Process: Nemesis, Type: Info, F: f, Step: 2, Targets: targets, Phase: phase, Text: text}
	}
	all := []Event{
		client(Invoke, Acquire, func(e *Event) { e.Key, e.TTL, e.Wait = "a", 8*time.Second, time.Second }),
		client(OK, Acquire, func(e *Event) { e.Until = new(7999 * time.Millisecond) }),
		client(OK, Acquire, func(e *Event) {
			e.Until, e.Token, e.Node = new(time.Duration), new(uint64(42)), "redis-1,redis-2"
		}),
		client(OK, Acquire, func(e *Event) { e.Token, e.Lease, e.Renewed = new(uint64), 3*time.Second, true }),
		client(Fail, Acquire, func(e *Event) { e.Error = ErrorTaken }),
		client(Fail, Acquire, func(e *Event) { e.Error, e.Strict = ErrorTaken, true }),
		client(Info, Acquire, func(e *Event) {
			e.Error = "acquire \"a\": dial tcp: 10.0.0.1:6379: <EOF> & more, é, 世界, \U0001f512\n"
		}),
		client(Invoke, Acquire, func(e *Event) {
			e.Process, e.Mode = 472006, locks.Shared
			e.Owner, e.Keys = "owner-3", []string{"a", "b<c>"}
		}),
		client(Invoke, Check, nil),
		client(OK, Check, nil),
		client(Fail, Check, func(e *Event) { e.Error = ErrorLost }),
		client(Invoke, FRead, func(e *Event) { e.Resource = Plain }),
		client(OK, FRead, func(e *Event) { e.Resource, e.Value = Plain, new(int64) }),
		client(OK, FRead, func(e *Event) { e.Resource, e.Value = Plain, new(int64(-7)) }),
		client(Invoke, Write, func(e *Event) {
			e.Resource, e.Value, e.Token = Fenced, new(int64(8)), new(uint64(math.MaxUint64))
		}),
		client(Fail, Write, func(e *Event) {
			e.Resource, e.Value, e.Token, e.Error = Fenced, new(int64(8)), new(uint64), ErrorStaleToken
		}),
		client(Invoke, Renew, func(e *Event) { e.TTL = math.MaxInt64 }),
		client(OK, Renew, func(e *Event) { e.Until = new(8 * time.Second) }),
		client(Info, Lost, nil),
		client(Invoke, Release, nil),
		client(OK, Release, nil),
		client(Fail, Release, func(e *Event) { e.Error = ErrorNotHeld }),
		{Process: 1073741824, Client: 1073741824, Type: Invoke, F: FRead, Key: "a", Resource: Plain},
		{Process: 5, Type: Info, F: Died},
		nemesis("lag", Begins, "master -> replicas late by 60s", "redis-1", "redis-2"),
		nemesis("kill", Bites, "redis-1 (master) gone", "redis-1"),
		nemesis("pause", Heals, "client-3 frozen", "client-3"),
		nemesis("pause", Healed, "", "client-3"),
		nemesis("cut", Fails, "no client was Acquired within 30s"),
		{Process: Nemesis, Client: 4, Type: Info, F: "heal"},
	}
	for _, fact := range []Fact{
		Episode{2}, QuietBegins, QuietEnds, Promoted{"redis-2", false}, Promoted{"", true}, ClockStep{-2 * time.Millisecond},
		Left{Names: []string{"a", "b"}, Ending: []string{"b"}}, Left{[]string{}, []string{}}, Queued{[]string{"1.7", "2.4"}}, Sent{4, 5123},
	} {
		all = append(all, Probed(fact))
	}
	kept := Probed(Kept{"redis-1", "3.17", new(7999 * time.Millisecond)})
	kept.Key = "a"
	stated := nemesis("pause", Begins, "client-3 frozen", "client-3")
	stated.Effect = []string{EffectStops, EffectDelays, EffectDisconnects}
	return append(all, kept, stated)
}
