package report

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/stats"
	"lockbench/internal/testing/historytest"
	"lockbench/internal/testing/storytest"
	"lockbench/locks"
)

func TestStory(t *testing.T) {
	stories := map[string]func(*testing.T) (*history.History, checker.Finding){
		"failover": failover, "overstay": overstay, "overslept": overslept, "foreign": foreign, "deleted": deleted, "evicted": evicted, "stale": stale,
		"overtaken": overtaken, "token": token,
	}
	for name, make := range stories {
		t.Run(name, func(t *testing.T) {
			h, f := make(t)
			story := NewCounterexample(h, f, checker.Judge(h, checker.Options{})).Text()
			if len(story) > linesMax {
				t.Errorf("%d lines, and at most %d are read", len(story), linesMax)
			}
			for i, line := range story {
				if width(line) > ScreenWidth {
					t.Errorf("line %d is %d wide: %s", i+1, width(line), line)
				}
			}
			for _, problem := range storytest.Problems(h, f, checker.Ended, story) {
				t.Error(problem)
			}
			golden(t, "story-"+name+".golden", strings.Join(story, "\n")+"\n")
		})
	}
}

// TestHandOver is a release by the client that held the lock before: its answer arrives when the next client already
// holds the lock, and it explains nothing.
func TestHandOver(t *testing.T) {
	for called, shown := range map[int]bool{8190: false, 8203: true} {
		s := historytest.New(t, "set-del")
		s.Granted(1000, 1, "1.1", "a")
		if !shown {
			s.Call(called, 1, history.Release, "1.1")
		}
		s.Granted(8200, 2, "2.1", "a")
		if shown {
			s.Call(called, 1, history.Release, "1.1")
		}
		s.Event(8204, 1, history.OK, history.Release, "1.1")
		b := s.Granted(8320, 3, "3.1", "a")
		story := NewCounterexample(s.History(), checker.Finding{Rule: "two-holders", Class: checker.DoubleGrant, Key: "a",
			Text: "two hold a", Sessions: []string{"2.1", "3.1"}, Event: b}, checker.Judge(s.History(), checker.Options{})).Text()
		if text := strings.Join(story, "\n"); strings.Contains(text, "which client 2 holds") != shown {
			t.Errorf("called at %d ms:\n%s", called, text)
		}
	}
}

// TestDrawnLines has a moment or a word before each line but the headline, and a gap before each note, so that
// a narrow page wraps only the text next to them.
func TestDrawnLines(t *testing.T) {
	h, f := failover(t)
	notes, brackets := 0, 0
	for i, l := range NewCounterexample(h, f, checker.Judge(h, checker.Options{})).Drawn() {
		if (i == 0) != (l.When == "") {
			t.Errorf("line %d begins with %q", i, l.When)
		}
		if l.Note != "" {
			notes++
			if l.Gap == "" {
				t.Errorf("line %d has no gap before %q", i, l.Note)
			}
		}
		if strings.TrimSpace(l.Bracket) != "" {
			brackets++
		}
	}
	if notes < 2 || brackets < 3 {
		t.Errorf("%d notes, %d pieces of the bracket", notes, brackets)
	}
}

// TestCounterexampleIsRead back from result.json as it was made.
func TestCounterexampleIsRead(t *testing.T) {
	h, f := failover(t)
	made := NewCounterexample(h, f, checker.Judge(h, checker.Options{}))
	text, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	var read Counterexample
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(made, &read) {
		t.Errorf("read %+v, want %+v", read, made)
	}
	if len(read.Scene.Sessions) != 2 || read.Lines[0].Number == 0 || read.Scene.Meets <= read.Scene.From {
		t.Errorf("it refers to nothing: %+v", read)
	}
}

// TestStoryOfAnything: whatever a history and a finding look like, the story is
// short, narrow and free of control characters, and telling it does not panic.
func TestStoryOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, f := anyHistory(t)
		for i, line := range NewCounterexample(h, f, checker.Judge(h, checker.Options{})).Text() {
			if i >= linesMax {
				t.Fatalf("more than %d lines", linesMax)
			}
			if width(line) > ScreenWidth {
				t.Fatalf("line %d is %d wide: %s", i+1, width(line), line)
			}
			if strings.ContainsFunc(line, unicode.IsControl) {
				t.Fatalf("control character in %q", line)
			}
		}
		stats.Measure(h, []checker.Result{{Verdict: checker.Violated, Findings: []checker.Finding{f}}})
	})
}

func anyHistory(t *rapid.T) (*history.History, checker.Finding) {
	var events []history.Event
	now := time.Duration(0)
	word := rapid.SampledFrom([]string{"", "a", "client-1", "redis-1", "a\x1b[31mb\nc", strings.Repeat("long ", 40)})
	add := func(e history.Event) {
		now += time.Duration(rapid.Int64Range(0, 5e9).Draw(t, "step"))
		e.Index, e.Time = len(events), now
		events = append(events, e)
	}
	var names []string
	free := rapid.IntRange(2, 12).Draw(t, "sessions")
	for i := range free {
		client := int32(rapid.IntRange(0, 3).Draw(t, "client"))
		name := fmt.Sprintf("%d.%d", client, i)
		names = append(names, name)
		process := history.Process(i) // of its own, so that no process has two calls at once
		op := func(f string, answers ...history.Type) bool {
			e := history.Event{Process: process, Client: client, Type: history.Invoke, F: f, Session: name}
			switch f {
			case history.Acquire:
				e.Key = rapid.SampledFrom([]string{"a", "b\x1b", strings.Repeat("key", 30)}).Draw(t, "key")
				e.TTL = time.Duration(rapid.Int64Range(0, 9e9).Draw(t, "ttl"))
				e.Wait = time.Duration(rapid.Int64Range(0, 1).Draw(t, "wait"))
				e.Mode = locks.Mode(rapid.IntRange(0, 1).Draw(t, "mode"))
			case history.Write:
				e.Value = new(rapid.Int64Range(-3, 9).Draw(t, "value"))
				e.Resource = rapid.SampledFrom([]string{"", history.Plain, history.Fenced}).Draw(t, "resource")
			}
			add(e)
			answer := rapid.SampledFrom(answers).Draw(t, "answer")
			if answer == 0 {
				return false
			}
			e.Type, e.TTL, e.Wait, e.Key, e.Mode = answer, 0, 0, "", 0
			if answer != history.OK {
				e.Error = rapid.SampledFrom([]string{"taken", "not-held", "x\x1b\n"}).Draw(t, "error")
			}
			add(e)
			return answer == history.OK
		}
		if op(history.Acquire, history.OK, history.OK, history.Fail, 0) {
			for range rapid.IntRange(0, 4).Draw(t, "operations") {
				if !op(rapid.SampledFrom([]string{history.Check, history.FRead, history.Write, history.Renew, history.Release}).Draw(t, "f"),
					history.OK, history.OK, history.Fail, 0) {
					break
				}
			}
		}
		for range rapid.IntRange(0, 2).Draw(t, "faults") {
			add(history.Event{Process: history.Nemesis, Type: history.Info, F: rapid.SampledFrom([]string{"kill", "pause"}).Draw(t, "fault"),
				Step: 1, Text: word.Draw(t, "text"), Targets: []string{word.Draw(t, "target")},
				Phase: rapid.SampledFrom([]string{history.Begins, history.Bites, history.Heals, history.Healed, history.Fails}).Draw(t, "phase")})
			add(history.Probed(history.Promoted{Node: word.Draw(t, "master")}, history.Episode{Number: i / 4}))
		}
	}
	h, err := history.Build(history.Header{Lock: word.Draw(t, "lock")}, events)
	if err != nil {
		t.Fatal(err)
	}
	return h, checker.Finding{
		Rule:     rapid.SampledFrom([]string{"", "two-holders", lostUpdateRule, "x\x1b"}).Draw(t, "rule"),
		Class:    checker.Class(rapid.IntRange(0, int(checker.DoubleGrant)).Draw(t, "class")),
		Text:     word.Draw(t, "finding"),
		Sessions: rapid.SliceOfN(rapid.SampledFrom(append(names, "none")), 0, 3).Draw(t, "concerned"),
		Event:    rapid.IntRange(-1, len(events)+1).Draw(t, "event"),
	}
}
