package jepsen

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockbench/internal/history"
	"lockbench/internal/testing/historytest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestRead reads each history in testdata, as whatever it looks like, and
// compares the sessions that come out with the text next to it.
func TestRead(t *testing.T) {
	files, err := filepath.Glob("testdata/*.[ej]*")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			opened, err := Open(file, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if opened.Jepsen == nil {
				t.Fatalf("taken for %s", opened.Format)
			}
			model := history.Model(nil)
			if strings.Contains(file, "odd") {
				model = history.Model{history.Fenced}
			}
			h, strays, err := opened.Jepsen.Lock(model, false)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%s, torn %t\n", opened.Format, h.Torn) + sessions(h)
			for _, s := range strays {
				got += fmt.Sprintf("stray release of process %d, line %d\n", s.Process, s.Line)
			}
			for _, w := range h.Warnings {
				got += "warning: " + w + "\n"
			}
			goldenFile := strings.TrimSuffix(file, filepath.Ext(file)) + ".txt"
			if *update {
				if err := os.WriteFile(goldenFile, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(goldenFile)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s is read otherwise (-want +got):\n%s", file, diff)
			}
		})
	}
}

// sessions writes what was made of a history, an operation a line, with the lines of
// the file that its events are from.
func sessions(h *history.History) string {
	var b strings.Builder
	for _, s := range h.Sessions {
		for _, op := range append([]history.Op{s.Acquire}, s.Ops...) {
			fmt.Fprintf(&b, "%s of %v: %s is %s, line %d", s.Name, s.Keys, op.F, op.Outcome, h.Line(op.Invoke))
			if e := h.At(op.Return); e != nil {
				fmt.Fprintf(&b, " to %d %s", h.Line(op.Return), e.Error)
				if e.Token != nil {
					fmt.Fprintf(&b, "token %d", *e.Token)
				}
			}
			b.WriteByte('\n')
		}
	}
	for pos := range h.Events {
		if e := &h.Events[pos]; e.Process == history.Nemesis {
			fmt.Fprintf(&b, "nemesis %s %s, line %d\n", e.F, e.Text, h.Line(pos))
		}
	}
	return b.String()
}

// Unreadable input is refused with its place. Odd input that is not needed is accepted.
func TestRefuses(t *testing.T) {
	const ok = "{:process 0 :type :invoke :f :acquire}\n"
	for _, c := range []struct{ name, text, want string }{
		{"no process", ok + "{:type :ok :f :acquire}", "line 2: the operation has no :process"},
		{"another process", ok + "{:process :logger :type :ok :f :acquire}", "line 2: the process is :logger; expected"},
		{"negative process", ok + "{:process -1 :type :ok :f :acquire}", "line 2: the process is -1"},
		{"no type", ok + "{:process 0 :f :acquire}", "line 2: the operation has no :type"},
		{"another type", ok + "{:process 0 :type :maybe :f :acquire}", "line 2: the type :maybe is not known"},
		{"no f", "{:process 0 :type :invoke}", "line 1: the operation does not say in one word what was done"},
		{"no map", ok + "[1 2]", "line 2: here stands a list; expected an operation"},
		{"a word", ok + "\nhello", "line 3: here stands a word; expected an operation"},
		{"bracket", ok + "{:process 0 :type :ok]", "line 2: column 22: ']' closes what was not opened"},
		{"half a map", ok + "{:process 0 :type}", "line 2: column 18: a map has a key without a value"},
		{"not invoked", ok + "{:process 1 :type :ok :f :acquire}", "line 2: process 1 completes acquire with ok and did not invoke it"},
		{"another completion", ok + "{:process 0 :type :ok :f :release}", "line 2: process 0 completes release with ok and did not invoke it; expected the completion of its acquire (line 1)"},
		{"outstanding", ok + ok, "line 2: process 0 invokes acquire, but its acquire (line 1) has not completed"},
		{"retired", ok + "{:process 0 :type :info :f :acquire}\n" + ok, "line 3: client 0's acquire of session 0.2 follows the process's acquire of session 0.1 (line 1), whose outcome is unknown since line 2"},
		{"index twice", "{:index 4 :process 0 :type :invoke :f :acquire}\n{:index 4 :process 0 :type :ok :f :acquire}", "line 2: index 4 stands in line 1 as well"},
		{"some without index", "{:index 4 :process 0 :type :invoke :f :acquire}\n{:process 0 :type :ok :f :acquire}", "line 2: the operation has no index, and others have one"},
		{"index no number", "{:index 1.5 :process 0 :type :invoke :f :acquire}", "line 1: the index is 1.5; expected a whole number"},
		{"time no number", "{:time :now :process 0 :type :invoke :f :acquire}", "line 1: the time is :now; expected whole nanoseconds"},
		{"no lock", "{:process 0 :type :invoke :f :read}", "line 1: lockbench judges locks only, and no operation here acquires a lock; found are read"},
		{"nothing", ";; nothing\n", "line 1: there is no operation to read"},
		{"deep", strings.Repeat("{:a ", 200), "values are nested more than 100 deep"},
		{"behind", "[" + ok + "] 7", "stands behind the end of the history"},
		{"ratio", ok + "{:a 3/4}", "line 2: column 7: \"3/4\" is a ratio"},
		{"regular expression", ok + "{:a #\"x\"}", "line 2: column 5: \"#\\\"\" begins a form of Clojure"},
		{"discard", ok + "#_ {:a 1}", "line 2: column 1: \"#_\" begins a form of Clojure"},
		{"var quote", ok + "{:a #'b}", "\"#'\" begins a form of Clojure"},
		{"infinity", ok + "{:a ##Inf}", "\"##\" begins a form of Clojure"},
		{"function", ok + "{:a #(b)}", "\"#(\" begins a form of Clojure"},
		{"metadata", ok + "^:a {}", "line 2: column 1: '^' begins a form of Clojure"},
		{"quote", ok + "{:a 'b}", "'\\'' begins a form of Clojure"},
		{"namespace", ok + "{::a 1}", "line 2: column 4: \"::a\" is a keyword of a namespace"},
		{"colon", ok + "{: 1}", "line 2: column 2: a colon stands alone"},
		{"escape", ok + `{:a "\q"}`, "line 2: column 8: a text cannot be read"},
		{"json list", `[{"process":0]`, "line 1: column 14: ']' closes what was not opened"},
		{"json half a map", `[{"process"}]`, "line 1: column 12: a map has a key without a value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			opened, err := Open("-", strings.NewReader(c.text), nil)
			if err == nil {
				_, _, err = opened.Jepsen.Lock(nil, false)
			}
			var m *history.Malformed
			if !errors.As(err, &m) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want that it is malformed: %s", err, c.want)
			}
		})
	}
}

func readEDN(t *testing.T, text string) *History {
	t.Helper()
	j, err := read(strings.NewReader(text), false)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestJSONIsEDN reads one history in both forms.
func TestJSONIsEDN(t *testing.T) {
	const (
		edn = `{:process 0, :type :invoke, :f :read-lock, :value {"key" "a b", "permits" 2}, :time 1}
{:process 0, :type :ok, :f :read-lock, :value ["a b" {"token" 7}], :index nil, :debug true}
{:process :nemesis, :type :info, :f :kill, :value {"n1" ["x" -1.5 nil]}}
{:process 0, :type :invoke, :f :release, :value "a\tb\"\u00e9"}
{:process 0, :type :info, :f :release, :error "timeout", :time 1.0E9}`
		json = `[{"process":0,"type":"invoke","f":"read-lock","value":{"key":"a b","permits":2},"time":1},
{"process" : 0, "type":":ok", "f":":read-lock","value":["a b",{"token":7}],"index":null,"debug":true},
{"process":"nemesis","type":"info","f":"kill","value":{"n1":["x",-1.5,null]}},
{"process":0,"type":"invoke","f":"release","value":"a\tb\"\u00e9"},
{"process":0,"type":"info","f":"release","error":"timeout","time":1.0E9}]`
	)
	read := func(text string, asJSON bool) *History {
		j, err := read(strings.NewReader(text), asJSON)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	if diff := cmp.Diff(read(edn, false), read(byteOrderMark+json, true)); diff != "" {
		t.Errorf("JSON is read otherwise than EDN (-EDN +JSON):\n%s", diff)
	}
	// A colon that begins a word of EDN separates a key from its value in JSON.
	for text, want := range map[string]string{`{"process" :nemesis}`: `{"process" :nemesis}`, `{"a":null,"b":true,"c":[1,-2.5e3]}`: `{"a" nil "b" true "c" [1 -2.5e3]}`} {
		v, err := (&reader{in: []byte(text), json: !strings.Contains(text, "nemesis"), line: 1}).value(0)
		if err != nil || v.String() != want {
			t.Errorf("%s is read as %s, %v; want %s", text, v, err, want)
		}
	}
}

// A value with many elements is cut. The fields that come after it are not, nor is what
// they hold.
func TestReadsFieldsBehindALargeValue(t *testing.T) {
	for _, n := range []int{10, 1 << 9, 1 << 10, 1 << 11, 1 << 15} {
		for _, large := range []string{"[" + strings.Repeat("1 ", n) + "]", "{" + strings.Repeat("a 1 ", n) + "}", strings.Repeat("[1 2] ", n)} {
			text := "{:debug [" + large + "] :time 5 :index 3 :process 2 :type :invoke :f :acquire :value [\"a\" {:debug [" + large + "] :fence 7}]}"
			j := readEDN(t, text)
			op := j.Ops[0]
			if op.Time != 5 || op.Index != 3 || op.Process != 2 || op.F != "acquire" || !op.Value.pair() {
				t.Fatalf("%d elements: read as %+v", n, op)
			}
			if fence, _ := op.Value.Items[1].field("fence"); fence.Text != "7" {
				t.Errorf("%d elements: the fence is %s; want 7", n, fence)
			}
		}
	}
	j := readEDN(t, "{:process 2 :type :invoke :f :acquire :value ["+strings.Repeat("[7 8 9]", 1<<15)+"]}\n{:process :nemesis :type :info :f :kill :value [1 2 3]}")
	if v := j.Ops[0].Value; len(v.Items) > keptMax || !strings.HasSuffix(v.String(), "[7 8 9] ...]") && !strings.HasSuffix(v.String(), " ...] ...]") {
		t.Errorf("kept %d items: %.40s...", len(v.Items), v)
	}
	if v := j.Ops[1].Value; v.String() != "[1 2 3]" {
		t.Errorf("the next operation has the value %s; want [1 2 3]", v)
	}
}

// A release that is answered with ok though its process held nothing has no session to
// stand in, and is not lost.
func TestStrays(t *testing.T) {
	j := readEDN(t, `{:process 0 :type :invoke :f :acquire}
{:process 0 :type :fail :f :acquire}
{:process 0 :type :invoke :f :release}
{:process 0 :type :ok :f :release}
{:process 0 :type :invoke :f :release}
{:process 0 :type :fail :f :release}`)
	h, strays, err := j.Lock(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Stray{{Line: 4, Index: 3}}, strays); diff != "" {
		t.Error(diff)
	}
	if len(h.Warnings) != 1 || !strings.Contains(h.Warnings[0], "1 releases by processes that held nothing") {
		t.Errorf("warnings: %q", h.Warnings)
	}
}

// TestAnyReleases: sessions cannot say whose hold ended, so a release by a process that holds
// nothing is refused, unless it failed.
func TestAnyReleases(t *testing.T) {
	const granted = "{:process 0 :type :invoke :f :acquire}\n{:process 0 :type :ok :f :acquire}\n"
	const release, ok = "{:process 0 :type :invoke :f :release}\n", "{:process 0 :type :ok :f :release}\n"
	const fail, other = "{:process 0 :type :fail :f :release}\n", "{:process 1 :type :invoke :f :release}\n"
	for _, c := range []struct {
		text string
		line int // that is refused, or 0
	}{
		{granted + release + ok, 0},
		{granted + other + release + ok, 3},
		{granted + other + "{:process 1 :type :ok :f :release}", 4},
		{granted + other + "{:process 1 :type :info :f :release}", 4},
		{granted + other + "{:process 1 :type :fail :f :release}", 0},
		{granted + release + ok + release + ok, 6},
		{granted + release + ok + release, 5},
		{granted + release + ok + release + fail, 0},
		{granted + release + fail + release + ok, 0}, // the first did not release it
	} {
		j := readEDN(t, c.text)
		_, _, err := j.Lock(nil, true)
		var m *history.Malformed
		if errors.As(err, &m) != (c.line > 0) || m != nil && (m.Line != c.line || !strings.Contains(m.Text, "releases the lock without holding it")) {
			t.Errorf("%sgot %v; want line %d refused", c.text, err, c.line)
		}
		if _, _, err := j.Lock(nil, false); err != nil {
			t.Errorf("%sof a lock with owners: %v", c.text, err)
		}
	}
}

// Two grants of one lock look like those of two if some acquires alone say its name, so
// the reader says how it took them.
func TestWarnsOfNamelessAcquires(t *testing.T) {
	const named, nameless = `{:process 0 :type :invoke :f :acquire :value [1 nil]}
{:process 0 :type :ok :f :acquire :value [1 nil]}`, `{:process 1 :type :invoke :f :acquire}
{:process 1 :type :ok :f :acquire}`
	for text, want := range map[string]int{named: 0, nameless: 0, named + "\n" + nameless: 1} {
		j := readEDN(t, text)
		h, _, err := j.Lock(nil, false)
		if err != nil {
			t.Fatal(err)
		}
		if len(h.Warnings) != want || want > 0 && !strings.Contains(h.Warnings[0], "1 acquires name a lock with their value and 1 have no value") {
			t.Errorf("warnings of\n%s\nare %q; want %d", text, h.Warnings, want)
		}
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]Format{
		`{"lockbench":"history/1"}`:                     Lines,
		"\xef\xbb\xbf\n {\"lock\":\"a\",\"lockbench\":": Lines,
		``:      Lines,
		`hello`: Lines,
		`{"index":0,"process":0,"f":"acquire","session":"0.1"}`: Lines, // its header is missing, and that is what to say
		`{"process":0,"type":"invoke","f":"acquire"}`:           JSON,
		` [ {"process":0}]`:           JSON,
		`[]`:                          JSON,
		`{:process 0}`:                EDN,
		`[{:process 0}]`:              EDN,
		"[\n#jepsen.history.Op{":      EDN,
		"; made by hand\n{:index 0}":  EDN,
		`#jepsen.history.Op{:index`:   EDN,
		`({:process 0})`:              EDN,
		`{"process" 0, "f" :acquire}`: EDN,
	} {
		opened, _ := Open("-", strings.NewReader(text), nil)
		if opened.Format != want {
			t.Errorf("%q is taken for %s; want %s", text, opened.Format, want)
		}
	}
}

// FuzzRead: whatever is read, there is no panic, no end of time, and nothing kept that
// is much larger than what was read.
func FuzzRead(f *testing.F) {
	for _, file := range []string{"failed_release.edn", "odd.edn", "array.json", "lines.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, strings.HasSuffix(file, "json"))
	}
	f.Add([]byte(`#{[{"a" #_ ^x 'y (1 2/3 -0.5M \u00e9 ##Inf)}]}`), false)
	f.Fuzz(func(t *testing.T, data []byte, asJSON bool) {
		historytest.BoundedMemory(t, len(data), func() { _, _ = read(bytes.NewReader(data), asJSON) })
		j, err := read(bytes.NewReader(data), asJSON)
		if err != nil {
			var m *history.Malformed
			if !errors.As(err, &m) || m.Line < 1 || m.Text == "" {
				t.Fatalf("the error does not say where: %v", err)
			}
			return
		}
		if len(j.Ops) > len(data) {
			t.Fatalf("%d operations of %d bytes", len(j.Ops), len(data))
		}
		for _, model := range []history.Model{nil, {history.Reentrant}, {history.RW}} {
			h, _, err := j.Lock(model, false)
			if err != nil {
				continue
			}
			// An imported history obeys the rules for histories.
			if _, err := history.Build(h.Header, h.Events); err != nil {
				t.Fatalf("%v: %v", model, err)
			}
		}
	})
}

// FuzzOpen: any file, by looking.
func FuzzOpen(f *testing.F) {
	f.Add([]byte("{\"lockbench\":\"history/1\"}\n"))
	f.Add([]byte("[{:process 0}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		historytest.BoundedMemory(t, len(data), func() { _, _ = Open("-", strings.NewReader(string(data)), nil) })
		opened, err := Open("-", strings.NewReader(string(data)), nil)
		if err == nil && opened.Own == nil && opened.Jepsen == nil {
			t.Fatal("no error and no history")
		}
	})
}
