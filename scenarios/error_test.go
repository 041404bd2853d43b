package scenarios

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Each testdata/errors/NAME.yaml is wrong in some way, and NAME.txt has the messages.
func TestErrorTexts(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Read(filepath.Base(file), data)
			if err == nil {
				t.Fatal("read without an error")
			}
			if !IsUsage(err) {
				t.Errorf("%T is not an *Error", err)
			}
			got := err.Error() + "\n"
			golden := strings.TrimSuffix(file, ".yaml") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// If a single word of a scenario is replaced by an unknown one and that is an error, one of
// the errors points at this word.
func TestErrorsPointAtTheWord(t *testing.T) {
	const wrong = "zzz-wrong"
	refused := 0
	for _, name := range Names() {
		source, _ := Find(name)
		for _, w := range wordsOf(t, string(source)) {
			at := w.at
			lines := strings.Split(string(source), "\n")
			line := lines[at.line-1]
			lines[at.line-1] = line[:at.column-1] + wrong + line[at.column-1+len(w.text):]
			_, err := Read(name, []byte(strings.Join(lines, "\n")))
			if err == nil || strings.Contains(lines[at.line-1], ", as: ") {
				// The words are free text, a key that only the server knows, or a lock with its own name. A wrong name is found where the name
				// is used.
				continue
			}
			refused++
			if w.text == "lockbench" {
				continue // then it is not a scenario, which has no place
			}
			if !slices.ContainsFunc(all(err), func(e *Error) bool { return e.Line == at.line && e.Column == at.column }) {
				t.Errorf("%s:%d:%d: %q instead of %q is reported elsewhere:\n%v", name, at.line, at.column, wrong, w.text, err)
			}
		}
	}
	if refused < 150 {
		t.Errorf("only %d words were refused: the test has gone blind", refused)
	}
}

// wordsOf returns the plain words of a scenario with their positions.
func wordsOf(t *testing.T, source string) []word {
	t.Helper()
	file, err := parser.ParseBytes([]byte(source), 0)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(source, "\n")
	var words []word
	for _, kind := range []ast.NodeType{ast.StringType, ast.IntegerType} {
		for _, n := range ast.Filter(kind, file.Docs[0].Body) {
			if w := newReader("x.yaml").word(n, ""); strings.HasPrefix(lines[w.at.line-1][w.at.column-1:], w.text) {
				words = append(words, w)
			}
		}
	}
	return words
}

// all returns the mistakes of a file.
func all(err error) []*Error {
	var list []*Error
	for _, err := range err.(interface{ Unwrap() []error }).Unwrap() {
		var e *Error
		if errors.As(err, &e) {
			list = append(list, e)
		}
	}
	return list
}

func TestReadFileNamesTheFile(t *testing.T) {
	_, err := ReadFile("testdata/none.yaml")
	if !IsUsage(err) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v (%T) is not both wrong usage and a missing file", err, err)
	}
	if want := "testdata/none.yaml: the scenario cannot be read: no such file or directory"; err.Error() != want {
		t.Errorf("got  %v\nwant %v", err, want)
	}
}

func TestLoadSuggestsAScenario(t *testing.T) {
	for arg, want := range map[string]string{
		"failovr": `no scenario is named "failovr"; did you mean "failover"?`,
		"zebra": `no scenario is named "zebra"; known are ` + strings.Join(Names()[:16], ", ") +
			`, ...; a file of your own ends in .yaml`,
	} {
		if _, err := Load(arg); err == nil || err.Error() != want {
			t.Errorf("Load(%q)\ngot  %v\nwant %s", arg, err, want)
		}
	}
	if _, err := Load("./testdata/none.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a path is read as a file: %v", err)
	}
}

func TestCheckAfterOverrides(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Scenario)
		want   string
	}{
		"ttl": {func(s *Scenario) { s.Workload.TTL = 5500e6 },
			"failover: the hold of step 2 of up to 7s does not fit into the ttl of 5.5s; clients must release within their lease"},
		"long ttl": {func(s *Scenario) { s.Workload.TTL = 10e9 },
			"failover: step 2 restarts a master without its data while leases of redlock last, and the master grants them again" +
				"; restart it later, or say `early: true` if that is what the scenario shows"},
		"clients":  {func(s *Scenario) { s.Workload.Clients = 0 }, "failover: workload/clients: 0 is too small: at least 1"},
		"episodes": {func(s *Scenario) { s.Episodes = -1 }, "failover: episodes: -1 is too small: at least 1"},
		"limit":    {func(s *Scenario) { s.Limit = 0 }, "failover: limit: 0s is too small: at least 1ms"},
		"nothing":  {func(*Scenario) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Load("failover")
			if err != nil {
				t.Fatal(err)
			}
			test.change(s)
			got := ""
			if err := s.Check(); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("\ngot  %s\nwant %s", got, test.want)
			}
		})
	}
}

// The memory that reading a scenario may allocate in total. The YAML parser copies lists for each list inside them, so the
// most expensive text is thousands of brackets.
const (
	allocatedAnyway  = 1 << 20
	allocatedPerByte = 40_000
)

func boundedMemory(t *testing.T, data []byte) {
	t.Helper()
	bound := uint64(allocatedAnyway + allocatedPerByte*len(data))
	var before, after runtime.MemStats
	for range 3 { // whatever else allocates at the same time does not do it always
		runtime.ReadMemStats(&before)
		_, _ = Read("fuzz.yaml", data)
		runtime.ReadMemStats(&after)
		if after.TotalAlloc-before.TotalAlloc <= bound {
			return
		}
	}
	t.Fatalf("reading %d bytes allocated %d; at most %d were promised", len(data), after.TotalAlloc-before.TotalAlloc, bound)
}

// TestMemory reads texts with large syntax trees.
func TestMemory(t *testing.T) {
	for _, piece := range []string{"a", "[", "{", "- ", "a: ", "&a [*a]\n", "a:\n ", "? ", "\n", "\"", "'", "|", "#", "!!x ", "\t", "a: [b, c]\n", "---\n", "\xff"} {
		for _, n := range []int{10, 1000, sizeMax / len(piece)} {
			boundedMemory(t, []byte(strings.Repeat(piece, n)))
		}
	}
	for _, name := range Names() {
		source, _ := Find(name)
		boundedMemory(t, source)
	}
	boundedMemory(t, []byte("lockbench: scenario/1\nlocks: [set-nx]\nworkload: {counter: {keys: 1000000}}\nfaults: none\n"))
}

func TestTooLarge(t *testing.T) {
	file := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(file, bytes.Repeat([]byte("#\n"), sizeMax), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := ReadFile(file)
	if !IsUsage(err) || !strings.Contains(err.Error(), "more than the 16384 bytes") {
		t.Errorf("got %v, %v; want that it is too large", s, err)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range Names() {
		source, _ := Find(name)
		f.Add(source)
	}
	files, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		boundedMemory(t, data)
		s, err := Read("fuzz.yaml", data)
		if err != nil {
			if !IsUsage(err) {
				t.Errorf("%T is not an *Error", err)
			}
			_ = err.Error()
			return
		}
		if err := s.Check(); err != nil {
			t.Errorf("Read let pass what Check refuses: %v", err)
		}
		if len(s.Locks) == 0 || s.NoFaults == (len(s.Faults) > 0) {
			t.Errorf("half a scenario: %+v", s)
		}
	})
}
