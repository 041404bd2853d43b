package history

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// teller writes the events of a history that are not operations.
type teller struct{ events []Event }

func (s *teller) fault(step int, name, phase, text string, targets ...string) {
	s.add(Event{Process: Nemesis, Type: Info, F: name, Step: step, Phase: phase, Text: text, Targets: targets})
}

func (s *teller) probe(facts ...Fact) {
	s.add(Probed(facts...))
}

func (s *teller) add(e Event) {
	e.Index = len(s.events)
	s.events = append(s.events, e)
}

// histories are the same one, once built of its events and once read.
func (s *teller) histories(t *testing.T) map[string]*History {
	t.Helper()
	built, err := Build(Header{}, s.events)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := built.Encode(&file); err != nil {
		t.Fatal(err)
	}
	read, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*History{"built": built, "read": read}
}

func TestTold(t *testing.T) {
	var s teller
	s.probe(QuietEnds) // 0: ends without having begun
	s.probe(Episode{3})
	s.probe(QuietBegins, Episode{4}) // 2
	s.probe(Queued{[]string{"1.1"}})
	s.probe(QuietBegins) // 4: and again
	s.probe(QuietEnds)
	s.probe(ClockStep{7}) // 6
	s.probe(Queued{[]string{"1.2"}}, ClockStep{8})
	s.add(Event{Process: Nemesis, Type: Info, F: "heal"})
	s.add(Event{Process: Nemesis, Type: Info, F: "kill", Facts: Probed(Episode{9}).Facts}) // no probe's
	s.probe(QuietBegins)                                                                   // 10
	s.add(Event{Type: Info, F: Died})
	for how, h := range s.histories(t) {
		t.Run(how, func(t *testing.T) {
			if diff := cmp.Diff([]EpisodeStart{{1, 3}, {2, 4}}, h.Episodes); diff != "" {
				t.Error(diff)
			}
			for pos, want := range []int{3, 3, 4, 4, 4} {
				if n, ok := h.EpisodeAt(pos); n != want || !ok {
					t.Errorf("episode %d (%t) at %d; expected %d", n, ok, pos, want)
				}
			}
			if diff := cmp.Diff([]Stretch{{4, 5, false}, {10, 12, true}}, h.Quiet); diff != "" {
				t.Error(diff)
			}
			if at := h.ClockStep(); at != 6 {
				t.Errorf("the clocks were stepped at %d; expected 6", at)
			}
			if diff := cmp.Diff([]int{8, 9}, h.Nemesis); diff != "" {
				t.Error(diff)
			}
			queued := map[int][]string{}
			for _, pos := range h.Probes {
				if f := h.Events[pos].Facts.Queued; f != nil {
					queued[pos] = f.Sessions
				}
			}
			if diff := cmp.Diff(map[int][]string{3: {"1.1"}, 7: {"1.2"}}, queued); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestToldOfNothing(t *testing.T) {
	h, err := Build(Header{}, []Event{{Type: Info, F: Died}})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []*History{h, {}} {
		if n, ok := h.EpisodeAt(0); n != 1 || ok {
			t.Errorf("episode %d (%t); expected the first and only one, without a mark", n, ok)
		}
		if h.ClockStep() != len(h.Events) || len(h.Quiet)+len(h.Faults) > 0 {
			t.Errorf("of %d events: clocks stepped at %d, quiet %v, faults %v", len(h.Events), h.ClockStep(), h.Quiet, h.Faults)
		}
	}
	if (Stretch{From: 2, To: 4}).Has(4) || !(Stretch{From: 2, To: 4}).Has(2) {
		t.Error("a stretch has its first position, and not the one behind its last")
	}
}

func TestFaults(t *testing.T) {
	var s teller
	s.fault(1, "kill", Healed, "before anything began")
	s.fault(1, "kill", Begins, "", "redis-1")                 // 1
	s.fault(2, "pause", Begins, "", "client-3")               // 2
	s.fault(1, "kill", Bites, "redis-1 is gone", "redis-1")   // 3
	s.fault(1, "kill", Bites, "redis-2 is gone, too")         // 4
	s.fault(1, "kill", Heals, "")                             // 5
	s.fault(1, "kill", Healed, "", "redis-1", "redis-2")      // 6
	s.fault(1, "kill", Begins, "again")                       // 7
	s.fault(2, "pause", Fails, "it ran on")                   // 8
	s.fault(3, "cut", Fails, "no such link")                  // 9
	s.fault(4, "cut", Bites, "client-12 is cut", "client-12") // 10: its begins is missing
	s.fault(5, "cut", "", "without a duration", "client-12")  // 11
	want := []Fault{
		{Name: "kill", Step: 1, Begins: 1, Bites: 3, Heals: 5, Healed: 6, Fails: -1, Targets: []string{"redis-1", "redis-2"}, Text: "redis-2 is gone, too"},
		{Name: "pause", Step: 2, Begins: 2, Bites: -1, Heals: -1, Healed: -1, Fails: 8, Why: "it ran on", Targets: []string{"client-3"}},
		{Name: "kill", Step: 1, Begins: 7, Bites: -1, Heals: -1, Healed: -1, Fails: -1, Text: "again"},
		{Name: "cut", Step: 3, Begins: 9, Bites: -1, Heals: -1, Healed: -1, Fails: 9, Why: "no such link"},
		{Name: "cut", Step: 4, Begins: 10, Bites: 10, Heals: -1, Healed: -1, Fails: -1, Targets: []string{"client-12"}, Text: "client-12 is cut"},
	}
	for how, h := range s.histories(t) {
		if diff := cmp.Diff(want, h.Faults, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s:\n%s", how, diff)
		}
	}
	for i, began := range []bool{true, true, true, false, true} {
		if want[i].Began() != began {
			t.Errorf("fault %d began: %t; expected %t", i, !began, began)
		}
	}
	if !want[4].Strikes(12) || want[4].Strikes(1) || want[0].Strikes(1) {
		t.Error("only client 12 is struck by the cut, and none by the kill")
	}
}

func TestPauses(t *testing.T) {
	for _, c := range []struct {
		name string
		tell func(*teller)
		want map[int32][]Pause
	}{
		{"one", func(s *teller) {
			s.fault(1, "pause", Begins, "", "client-1", "redis-1")
			s.fault(1, "pause", Bites, "", "client-1", "redis-1")
			s.fault(1, "pause", Healed, "", "client-1", "redis-1")
		}, map[int32][]Pause{1: {{0, 2}}}},
		{"never healed", func(s *teller) {
			s.fault(1, "pause", Begins, "", "client-1")
			s.fault(2, "pause", Healed, "", "client-1") // of another step
			s.fault(1, "pause", Healed, "", "client-2") // of another client
			s.fault(1, "kill", Healed, "", "client-1")  // of another fault
			s.fault(1, "pause", Fails, "", "client-1")
		}, map[int32][]Pause{1: {{0, -1}}}},
		{"healed without targets", func(s *teller) {
			s.fault(1, "pause", Begins, "", "client-1", "client-2")
			s.fault(2, "pause", Begins, "", "client-3")
			s.fault(1, "pause", Healed, "")
		}, map[int32][]Pause{1: {{0, 2}}, 2: {{0, 2}}, 3: {{1, -1}}}},
		{"one by one", func(s *teller) {
			s.fault(1, "pause", Begins, "", "client-1", "client-2")
			s.fault(1, "pause", Healed, "", "client-2")
			s.fault(1, "pause", Healed, "", "client-1")
		}, map[int32][]Pause{1: {{0, 2}}, 2: {{0, 1}}}},
		{"overlapping", func(s *teller) {
			s.fault(1, "pause", Begins, "", "client-1")
			s.fault(2, "pause", Begins, "", "client-1")
			s.fault(2, "pause", Healed, "", "client-1")
			s.fault(3, "pause", Begins, "", "client-1")
			s.fault(1, "pause", Healed, "", "client-1")
			s.fault(3, "pause", Healed, "", "client-1")
			s.fault(4, "pause", Begins, "", "client-1")
		}, map[int32][]Pause{1: {{0, 4}, {1, 2}, {3, 5}, {6, -1}}}},
		{"overlapping, one never healed", func(s *teller) {
			s.fault(1, "pause", Begins, "", "client-1")
			s.fault(2, "pause", Begins, "", "client-1")
			s.fault(1, "pause", Healed, "", "client-1")
		}, map[int32][]Pause{1: {{0, 2}, {1, -1}}}},
		{"of servers", func(s *teller) {
			s.fault(1, "pause", Begins, "", "redis-1", "client", "client-x")
		}, nil},
	} {
		var s teller
		c.tell(&s)
		for how, h := range s.histories(t) {
			for client := range int32(5) {
				if got := h.Pauses(client); !slices.Equal(got, c.want[client]) {
					t.Errorf("%s, %s: client %d was paused %v; expected %v", c.name, how, client, got, c.want[client])
				}
			}
		}
	}
}

// TestEffects asks what faults do to client 1.
func TestEffects(t *testing.T) {
	effect := func(words ...string) []string { return words }
	for _, test := range []struct {
		fault   string
		effect  []string
		targets []string
		want    string // of: concerns, disconnects, reconnects, delays, stops
	}{
		// Old files have the name only.
		{"reset", nil, []string{"client-1", "pg-1"}, "concerns disconnects reconnects"},
		{"reset", nil, []string{"client-2", "pg-1"}, ""},                 // its own link was spared
		{"reset", nil, []string{"pg-2", "pg-1"}, "concerns disconnects"}, // their clients may be sent elsewhere
		{"isolate", nil, []string{"pg-1", "client-2"}, "concerns disconnects delays"},
		{"kill", nil, []string{"pg-1"}, "concerns disconnects reconnects"},
		{"kill", nil, []string{"client-2"}, ""},
		{"kill", nil, nil, "concerns disconnects reconnects"},
		{"pause", nil, []string{"client-1"}, "concerns disconnects reconnects delays stops"},
		{"pause", nil, []string{"client-2"}, ""},
		{"busy", nil, []string{"pg-1"}, "concerns disconnects delays"},
		{"flush", nil, []string{"pg-1"}, "concerns"},
		{"clock", nil, []string{"client-1"}, "concerns"},
		// By what they state, whatever their name.
		{"meteor", effect(EffectData), []string{"pg-1"}, "concerns"},
		{"kill", effect(EffectClocks), []string{"pg-1"}, "concerns"},
		{"meteor", effect(EffectDelays), []string{"pg-1"}, "concerns delays"},
		{"meteor", effect(EffectDisconnects), []string{"pg-1"}, "concerns disconnects"},
		{"meteor", effect(EffectDisconnects), []string{"client-1"}, "concerns disconnects reconnects"},
		{"meteor", effect(EffectDisconnectAll), []string{"pg-1"}, "concerns disconnects reconnects"},
		{"meteor", effect(EffectDelays, EffectLinks), []string{"client-1", "pg-1"}, "concerns delays"},
		{"meteor", effect(EffectDelays, EffectLinks), []string{"client-2", "pg-1"}, ""},
		{"meteor", effect(EffectDelays, EffectDisconnectAll), []string{"client-2"}, ""},
		{"meteor", effect(EffectStops), []string{"client-1"}, "concerns stops"},
		// Anything, if they state nothing; but only to what they name.
		{"meteor", nil, []string{"pg-1"}, "concerns disconnects reconnects delays"},
		{"meteor", nil, []string{"client-1"}, "concerns disconnects reconnects delays stops"},
		{"meteor", nil, []string{"client-2"}, ""},
		{"partition", nil, []string{"client-2", "pg-1"}, "concerns disconnects reconnects delays"}, // on which side client 1 is, is not known
	} {
		var s teller
		s.fault(1, test.fault, Begins, "", test.targets...)
		s.events[0].Effect = test.effect
		s.fault(1, test.fault, Healed, "", test.targets...)
		for how, h := range s.histories(t) {
			f := h.Faults[0]
			var got []string
			for word, is := range map[string]bool{"1 concerns": f.Concerns(1), "2 disconnects": f.Disconnects(1), "3 reconnects": f.Reconnects(1),
				"4 delays": f.HoldsUp(1), "5 stops": len(h.Pauses(1)) > 0} {
				if is {
					got = append(got, word)
				}
			}
			slices.Sort(got)
			for i := range got {
				got[i] = got[i][2:]
			}
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("%s: %s %v of %v: %q; expected %q", how, test.fault, test.effect, test.targets, got, test.want)
			}
		}
	}
}

// TestWarnsOfUnknownFaults: a fault that is taken to have done anything is named, once.
func TestWarnsOfUnknownFaults(t *testing.T) {
	var s teller
	for _, name := range []string{"meteor", "meteor", "flood", "storm", "kill"} {
		s.fault(len(s.events), name, Begins, "", "redis-1")
	}
	s.events[2].Effect = []string{EffectDelays}
	s.events[3].Phase = Fails // it did nothing
	for how, h := range s.histories(t) {
		if len(h.Warnings) != 1 || !strings.Contains(h.Warnings[0], `"meteor"`) {
			t.Errorf("%s: warnings %q; expected one of the meteor", how, h.Warnings)
		}
	}
}
