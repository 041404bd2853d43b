package checker

import (
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lockbench/internal/history"
)

// TestStreamAgainstExclusion: what the stream tells, the judge of the whole finds; and
// of what that one finds, the stream has told most.
func TestStreamAgainstExclusion(t *testing.T) {
	told, found := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		h := random(t)
		r := Exclusion{}.Check(h, Options{})
		found += len(r.Findings)
		s := NewStream(h.Header)
		var seen []int
		for i := range h.Events {
			for _, f := range s.Add(&h.Events[i]) {
				told++
				if slices.Contains(seen, f.Event) {
					t.Fatalf("the grant at %d is told twice\n%s", f.Event, lines(h))
				}
				seen = append(seen, f.Event)
				if !slices.ContainsFunc(r.Findings, func(x Finding) bool { return x.Event == f.Event }) {
					t.Fatalf("at event %d the stream says %v; exclusion finds %v\n%s", i, f, r.Findings, lines(h))
				}
			}
		}
	})
	t.Logf("told %d of %d", told, found)
	if told*3 < found {
		t.Errorf("the stream told %d of %d violations; expected more of them", told, found)
	}
}

// TestStreamComplete: where every session is released and nobody dies, nothing is
// left for the end.
func TestStreamComplete(t *testing.T) {
	for _, file := range []string{"double_grant", "pause_older", "three", "set_del", "readers", "several_keys"} {
		text := goldenText(t, "exclusion/"+file)
		h, o, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		r := Exclusion{}.Check(h, o)
		s := NewStream(h.Header)
		var told []int
		for i := range h.Events {
			for _, f := range s.Add(&h.Events[i]) {
				told = append(told, f.Event)
			}
		}
		slices.Sort(told)
		var want []int
		for _, f := range r.Findings {
			want = append(want, f.Event)
		}
		if !slices.Equal(told, want) {
			t.Errorf("%s: the stream told %v, exclusion %v", file, told, want)
		}
	}
}

// TestStreamAtOnce: a violation is told at the event that shows it.
func TestStreamAtOnce(t *testing.T) {
	h, _, err := parse(`
0.000 c1 acquire a ttl=5s
0.001 c1 ok until=5s
0.002 c2 acquire a ttl=5s
0.003 c2 ok until=5s
0.004 c1 check
0.005 c1 ok
0.006 c1 release
0.007 c1 ok
`)
	if err != nil {
		t.Fatal(err)
	}
	s := NewStream(h.Header)
	at := -1
	for i := range h.Events {
		if len(s.Add(&h.Events[i])) > 0 {
			at = i
		}
	}
	if at != 5 {
		t.Errorf("told at event %d; expected 5, where client 1 has shown that it goes on", at)
	}
}

// TestStreamForgets: memory does not grow with the history.
func TestStreamForgets(t *testing.T) {
	h := long(20_000, 3)
	s := NewStream(history.Header{})
	most := 0
	for i := range h.Events {
		s.Add(&h.Events[i])
		n := len(s.sessions) + len(s.open) + len(s.clients)
		for _, w := range s.sessions {
			n += len(w.suspects)
		}
		most = max(most, n)
	}
	if most > 200 {
		t.Errorf("it kept %d things at once of 30 clients", most)
	}
}

// goldenText is the history of a golden file.
func goldenText(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(data), "----\n")
	return text
}
