package checker

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lockbench/internal/history"
)

// TestLinearizableAgainstExclusion compares two ways to judge histories without leases: either an order of the
// operations explains every answer, or exclusion or results has a finding.
func TestLinearizableAgainstExclusion(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		h := changed(t, random(t), withoutLease)
		// Notices of a loss and checks of a client are not answers of a server.
		plain := rapid.Bool().Draw(t, "acquire and release alone")
		if plain {
			h = build(t, h.Header, answersAlone(h.Events))
		}
		whole := alone(Linearizable, h, Options{})
		if strings.Contains(whole.Note, "not judged") {
			seen["not judged"]++
			return
		}
		seen[whole.Verdict.String()]++
		if excluded := alone(Exclusion, h, Options{}); excluded.Verdict == Violated && whole.Verdict != Violated {
			t.Fatalf("exclusion is violated (%s), and porcupine explains it all (%s)\n%s", excluded.Findings[0].Text, whole.Note, lines(h))
		} else if results := alone(Results, h, Options{}); !plain {
			return
		} else if results.Verdict == Violated && whole.Verdict != Violated {
			t.Fatalf("results is violated (%s), and porcupine explains it all (%s)\n%s", results.Findings[0].Text, whole.Note, lines(h))
		} else if results.Verdict == Valid && excluded.Verdict == Valid && whole.Verdict == Violated {
			t.Fatalf("%s, and neither exclusion nor results has anything to say (%s)\n%s", whole.Findings[0].Text, results.Note, lines(h))
		}
	})
	t.Logf("judged: %v", seen)
	for _, said := range []string{"valid", "violated"} {
		if seen[said] == 0 {
			t.Errorf("none of the histories was %s, so this shows little", said)
		}
	}
}

func build(t *rapid.T, h history.Header, events []history.Event) *history.History {
	t.Helper()
	built, err := history.Build(h, events)
	if err != nil {
		t.Fatalf("the changed history is malformed: %v", err)
	}
	return built
}

// answersAlone keeps only the calls to the lock and their answers.
func answersAlone(events []history.Event) []history.Event {
	var kept []history.Event
	for _, e := range events {
		if e.F == history.Acquire || e.F == history.Release {
			e.Index = len(kept)
			kept = append(kept, e)
		}
	}
	return kept
}

func withoutLease(e *history.Event) {
	e.TTL, e.Wait, e.Until = 0, 0, nil
	e.Renewed, e.Lease = false, 0
}

// TestLinearizableChangesNoVerdictOfLeases checks that linearizable does not judge histories with leases.
func TestLinearizableChangesNoVerdictOfLeases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := random(t)
		if !leased(h) {
			return
		}
		with := Judge(h, Options{})
		without := judge(h, Options{}, slices.DeleteFunc(Checks(), func(c Check) bool { return c.Name == Linearizable }))
		if with.Verdict != without.Verdict || with.Class != without.Class {
			t.Fatalf("%s %s with the second opinion, %s %s without\n%s", with.Verdict, with.Class, without.Verdict, without.Class, lines(h))
		}
	})
}

// A search that reaches its limit changes no verdict, and a note gives the reason.
func TestLinearizablePastItsLimit(t *testing.T) {
	h, _ := golden(t, "testdata/linearizable/unknown_acquire.txt")
	l := newLedger(h, Options{})
	l.searchLimit = 100
	r := linearizable(l, Report{})
	if r.Verdict != Valid || !strings.Contains(r.Note, "not judged: the search over 6 operations") {
		t.Errorf("got %s, %q; want valid, and a note that it was not judged", r.Verdict, r.Note)
	}
}

func golden(t *testing.T, file string) (*history.History, Options) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(data), "----\n")
	h, o, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return h, o
}

// A drawing shows the holders, the finding, and the faults at that time. It also exists for an overstay, in which no
// answer of the lock was wrong.
func TestDraw(t *testing.T) {
	for _, file := range []string{"exclusion/pause_older", "exclusion/double_grant", "exclusion/readers", "resource/stale"} {
		t.Run(file, func(t *testing.T) {
			h, o := golden(t, "testdata/"+file+".txt")
			f, found := Judge(h, o).First()
			if !found {
				t.Fatal("nothing is wrong there")
			}
			var page bytes.Buffer
			if err := Draw(&page, h, o, f); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"<html", f.Rule, `"Description":"acquire `, `"Tag":"finding"`} {
				if !strings.Contains(page.String(), want) {
					t.Errorf("the page does not have %q", want)
				}
			}
			if strings.HasSuffix(file, "pause_older") && !strings.Contains(page.String(), `"Tag":"faults"`) {
				t.Error("the page does not show the pause")
			}
		})
	}
}
