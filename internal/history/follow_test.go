package history_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"lockbench/internal/history"
)

// A reader that follows a history sees each event once, in whatever pieces it comes, like a
// reader of the whole.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	text := `{"lockbench":"history/1","lock":"set-nx","model":"mutex"}
{"index":0,"time":1,"process":0,"type":"invoke","f":"acquire","session":"0.1","key":"a"}
{"index":1,"time":2,"process":0,"type":"ok","f":"acquire","session":"0.1"}
{"index":2,"time":3,"process":"nemesis","type":"info","f":"kill","step":1,"phase":"begins","value":"redis-1"}
{"index":3,"time":4,"process":9,"client":0,"type":"invoke","f":"release","session":"0.1"}
`
	whole, err := history.Read(bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	for step := 1; step < 90; step += 11 {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		in, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		f := history.Follow(in)
		var got []history.Event
		for piece := range slices.Chunk([]byte(text), step) {
			if _, err := out.Write(piece); err != nil {
				t.Fatal(err)
			}
			if err := f.More(func(e *history.Event) { got = append(got, *e) }); err != nil {
				t.Fatal(err)
			}
		}
		if !f.Begun() || f.Header.Lock != "set-nx" || len(got) != len(whole.Events) {
			t.Fatalf("in pieces of %d: header %+v, %d events of %d", step, f.Header, len(got), len(whole.Events))
		}
		for i, e := range got {
			if want := whole.Events[i]; e.F != want.F || e.Index != want.Index || e.Client != want.Client || e.Time != want.Time || e.Session != want.Session {
				t.Errorf("in pieces of %d: event %d is %+v; want %+v", step, i, e, want)
			}
		}
		in.Close()
		out.Close()
	}
}

func TestFollowWhatIsNoHistory(t *testing.T) {
	f := history.Follow(bytes.NewReader([]byte("{}\n")))
	if err := f.More(func(*history.Event) {}); err == nil {
		t.Error("no error")
	}
}
