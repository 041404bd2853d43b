package history

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"lockbench/locks"
)

func TestReadsTwoHolders(t *testing.T) {
	h, err := ReadFile("testdata/two-holders.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	want := []*Session{{
		Name: "0.1", Keys: []string{"a"}, KeyAt: []int{0}, Owner: "0.1", DiedAt: -1,
		Acquire: Op{F: Acquire, Invoke: 0, Return: 1, Outcome: Done},
		Ops:     []Op{{F: Release, Invoke: 5, Return: 6, Outcome: Failed}},
	}, {
		Name: "1.1", Place: 1, Process: 1, Client: 1, Keys: []string{"a"}, KeyAt: []int{0}, Owner: "1.1", DiedAt: -1,
		Acquire: Op{F: Acquire, Invoke: 3, Return: 4, Outcome: Done},
	}}
	if diff := cmp.Diff(want, h.Sessions); diff != "" {
		t.Error(diff)
	}
	kill := Event{
		Index: 2, Time: 1500000, Process: Nemesis, Type: Info, F: "kill",
		Step: 2, Targets: []string{"redis-1"}, Text: "redis-1 (master)", Phase: Bites,
	}
	if diff := cmp.Diff(kill, *h.At(2)); diff != "" {
		t.Error(diff)
	}
	if h.Header.Lock != "set-nx" || !h.Header.Model.Has(Mutex) || h.Torn || h.Warnings != nil || h.At(-1) != nil || h.At(7) != nil {
		t.Errorf("header %+v, torn %v, warnings %q", h.Header, h.Torn, h.Warnings)
	}
}

func TestPairsWhatIsUnknown(t *testing.T) {
	h := mustRead(t, "{'lockbench':'history/1','model':['rw']}",
		line(0, "invoke", "acquire", "s", ",'keys':['a','b','a'],'mode':'shared','owner':'o'"), // 0
		line(0, "info", "acquire", "s", ",'error':'timeout'"),                                  // 1
		line(7, "invoke", "release", "s", ",'client':0"),                                       // 2: a fresh process cleans up
		line(1, "invoke", "acquire", "u", ",'key':'a'"),                                        // 3
		line(1, "ok", "acquire", "u", ""),                                                      // 4
		line(1, "info", "lost", "u", ""),                                                       // 5
		line(1, "info", "lost", "u", ""),                                                       // 6
		"{'process':1,'type':'info','f':'died'}",                                               // 7
		"{'process':9,'client':1,'type':'info','f':'died'}",                                    // 8
		line(2, "invoke", "acquire", "w", ",'client':1,'key':'a'"),                             // 9: never returns
		"{'process':3,'type':'invoke','f':'read','resource':'plain'}",                          // 10
		"{'process':3,'type':'ok','f':'read','resource':'plain','value':-4}",                   // 11
	)
	want := []*Session{{
		Name: "s", Keys: []string{"a", "b"}, KeyAt: []int{0, 1}, Mode: locks.Shared, Owner: "o", DiedAt: -1,
		Acquire: Op{F: Acquire, Invoke: 0, Return: 1},
		Ops:     []Op{{F: Release, Invoke: 2, Return: -1}},
	}, {
		Name: "u", Place: 1, Process: 1, Client: 1, Keys: []string{"a"}, KeyAt: []int{0}, Owner: "u", Lost: []int{5, 6}, DiedAt: 7,
		Acquire: Op{F: Acquire, Invoke: 3, Return: 4, Outcome: Done},
	}, {
		Name: "w", Place: 2, Process: 2, Client: 1, Keys: []string{"a"}, KeyAt: []int{0}, Owner: "w", DiedAt: -1,
		Acquire: Op{F: Acquire, Invoke: 9, Return: -1},
	}}
	if diff := cmp.Diff(want, h.Sessions); diff != "" {
		t.Error(diff)
	}
	if e := h.At(11); e.Value == nil || *e.Value != -4 || e.Index != 11 {
		t.Errorf("last read: %+v", e)
	}
}

func TestReleasesForTheDead(t *testing.T) {
	// The acquire will never be answered: its client is gone.
	mustRead(t, header,
		line(0, "invoke", "acquire", "s", ",'key':'a'"),
		"{'process':0,'type':'info','f':'died'}",
		line(1, "invoke", "release", "s", ",'client':0"))
}

func TestFillsInWhatIsAbsent(t *testing.T) {
	h := mustRead(t, header,
		"{'index':5,'time':70,'process':4,'type':'info','f':'died','later':{'x':[1,{'y':null}]}}",
		"",
		"{'process':'probe','type':'info','f':'probe','key':'a','facts':{'ttl':9007199254740993,'share':2.0,'all':[1,true],'quiet':'begins'}}",
		"{'process':'nemesis','client':null,'time':7e1,'type':'info','f':'kill'}")
	want := []Event{
		{Index: 5, Time: 70, Process: 4, Client: 4, Type: Info, F: Died},
		{Index: 6, Time: 70, Process: Probe, Type: Info, F: FProbe, Key: "a", Facts: &Facts{Quiet: QuietBegins, Kept: &Kept{TTL: new(time.Duration(9007199254740993))}}},
		{Index: 7, Time: 70, Process: Nemesis, Type: Info, F: "kill"},
	}
	if diff := cmp.Diff(want, h.Events); diff != "" {
		t.Error(diff)
	}
}

func TestReadsAHeader(t *testing.T) {
	h := mustRead(t, "\ufeff"+
		"{'lockbench':'history/1.3','model':'fenced','seed':18446744073709551615,'started':'2026-11-21T11:40:00Z','new':{},'claims':{'bounded':true,'new':1},"+
		"'bounds':{'grants_before':10,'new':1},'plan':[{'id':2,'fault':'kill','na':'no servers','new':[]}]}")
	want := Header{
		Lockbench: "history/1.3", Model: Model{Fenced}, Seed: 1<<64 - 1, Claims: locks.Claims{Bounded: true},
		Started: time.Date(2026, 11, 21, 11, 40, 0, 0, time.UTC),
		Bounds:  &Bounds{GrantsBefore: 10}, Plan: []PlanStep{{ID: 2, Fault: "kill", NA: "no servers"}},
	}
	if diff := cmp.Diff(want, h.Header); diff != "" {
		t.Error(diff)
	}
}

// TestReadsEveryPrefix cuts a history off at every byte. Whatever a killed writer
// leaves is read up to its last whole line.
func TestReadsEveryPrefix(t *testing.T) {
	whole, err := os.ReadFile("testdata/prefix.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	full, err := Read(strings.NewReader(string(whole)))
	if err != nil {
		t.Fatal(err)
	}
	headerEnd := strings.IndexByte(string(whole), '\n')
	for n := headerEnd; n <= len(whole); n++ {
		part := string(whole[:n])
		h, err := Read(strings.NewReader(part))
		if err != nil {
			t.Fatalf("cut off after %q: %v", part[headerEnd:], err)
		}
		lines := strings.Split(strings.TrimSuffix(part, "\n"), "\n")
		events, last := len(lines)-1, lines[len(lines)-1]
		torn := !strings.Contains("\n"+string(whole), "\n"+last+"\n")
		if torn {
			events--
		}
		if h.Torn != torn || len(h.Events) != events || (len(h.Warnings) == 1) != torn {
			t.Fatalf("cut off after %q: torn %v, %d events, warnings %q; expected torn %v, %d events", last, h.Torn, len(h.Events), h.Warnings, torn, events)
		}
		if diff := cmp.Diff(full.Events[:events], h.Events, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestRefusesWhatIsNoHistory(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.jsonl")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, want string
		malformed  bool
	}{
		{empty, "there is nothing to read", true},
		{dir, "it is a directory; expected a file", false},
		{"reader_test.go", "line 1: the line is not a JSON object", true},
		{filepath.Join(dir, "none"), "read history", false},
	} {
		_, err := ReadFile(c.path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: %v; expected %q and the name", c.path, err, c.want)
		}
		var m *Malformed
		if errors.As(err, &m) != c.malformed {
			t.Errorf("%s: %T", c.path, err)
		}
	}
	_, err := Read(strings.NewReader(text(header) + strings.Repeat("x", lineMax+1)))
	if err == nil || !strings.Contains(err.Error(), "line 2: the line is longer than 16 MiB") {
		t.Errorf("a line without end: %v", err)
	}
}
