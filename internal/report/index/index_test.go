package index

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/locks"
)

var begun = time.Date(2026, 11, 21, 11, 40, 0, 0, time.UTC)

// ran puts a run into a folder.
func ran(t testing.TB, out, scenario string, seed uint64) string {
	t.Helper()
	b, err := report.Create(out, scenario, begun.Add(time.Duration(seed)*time.Minute), seed)
	if err != nil {
		t.Fatal(err)
	}
	r := &report.Result{Schema: report.SchemaVersion, Scenario: scenario, World: "sim", Seed: seed, Started: begun.Add(time.Duration(seed) * time.Minute),
		Locks: []report.Lock{
			{Lock: "no-lock", Topology: locks.None, Verdict: checker.Violated, Class: checker.DoubleGrant, AsExpected: true},
			{Lock: "set-nx", Topology: "single", Verdict: checker.Violated, Class: checker.Overstay},
			{Lock: "<red>lock", Topology: "single", Verdict: checker.Valid, AsExpected: true},
		}}
	if err := b.WriteResult(r); err != nil {
		t.Fatal(err)
	}
	if err := b.Write("report.html", func(io.Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return b.Dir
}

// indexOf is the index of a folder, written now.
func indexOf(t testing.TB, root string) string {
	t.Helper()
	if err := Write(root); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, File))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestIndexListsAllRuns(t *testing.T) {
	root := t.TempDir()
	ran(t, root, "failover", 1)
	ran(t, root, "a+b", 2)
	campaign := filepath.Join(root, "matrix", "20261121-020000-7")
	ran(t, filepath.Join(campaign, "sim"), "steady", 3)
	for _, name := range []string{"campaign.json", "report.html"} {
		if err := os.WriteFile(filepath.Join(campaign, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	broken := ran(t, root, "failover", 4)
	if err := os.WriteFile(filepath.Join(broken, report.ResultFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("failover", filepath.Join(root, "latest")); err != nil {
		t.Fatal(err)
	}
	text := indexOf(t, root)
	for _, want := range []string{
		`<output id="count">4 runs</output>`,
		`<a href="failover/20261121-114100-1/report.html">failover</a>`, `<a href="a%252Bb/20261121-114200-2/report.html">a&#43;b</a>`,
		`<a href="matrix/20261121-020000-7/sim/steady/20261121-114300-3/report.html">steady</a><span class="of">in matrix/20261121-020000-7</span>`,
		`<a href="matrix/20261121-020000-7/report.html">matrix/20261121-020000-7</a>`,
		`<span class="lock calm"><b>no-lock</b> violated double-grant</span>`, `<span class="lock verdict-overstay"><b>✗</b> <b>set-nx</b> violated overstay</span>`,
		`<b>&lt;red&gt;lock</b> valid`, `>not as expected</span>`, `>cannot be read</span>`, "unexpected end of JSON input",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in the index", want)
		}
	}
	if a, b := strings.Index(text, ">steady</a>"), strings.Index(text, ">failover</a>"); a > b {
		t.Error("the newest run is not the first")
	}
}

// A file that was read once is not read again, unless it has changed.
func TestIndexReadsOnlyWhatIsNew(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(ran(t, root, "failover", 1), report.ResultFile)
	before := indexOf(t, root)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	// The same size and time but no valid content: reading it fails.
	if err := os.WriteFile(path, make([]byte, info.Size()), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if indexOf(t, root) != before {
		t.Error("a result that had not changed was read again")
	}
	if err := os.Chtimes(path, time.Time{}, info.ModTime().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if text := indexOf(t, root); !strings.Contains(text, unreadable) {
		t.Error("a result that had changed was not read again")
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if text := indexOf(t, root); !strings.Contains(text, ">0 runs<") {
		t.Error("a run that is gone is still listed")
	}
}

// Runs that end together: the last write has them all.
func TestIndexOfRunsThatEndTogether(t *testing.T) {
	root := t.TempDir()
	const runs = 12
	var wg sync.WaitGroup
	for seed := range uint64(runs) {
		wg.Go(func() {
			ran(t, root, "failover", seed)
			if err := Write(root); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	text, err := os.ReadFile(filepath.Join(root, File))
	if err != nil {
		t.Fatal(err)
	}
	for seed := range runs {
		if want := fmt.Sprintf("-%d/report.html", seed); !strings.Contains(string(text), want) {
			t.Errorf("the run with seed %d is not listed", seed)
		}
	}
	if left, err := filepath.Glob(filepath.Join(root, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestIndexLeavesOtherPagesAlone(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, File)
	if err := os.WriteFile(path, []byte("<h1>mine</h1>"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(root); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("writing over a page of the user's ends with %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "<h1>mine</h1>" {
		t.Errorf("it reads %q now", text)
	}
	// A damaged page of lockbench's is written again.
	if err := os.WriteFile(path, []byte(generator+knownBegin+"{{{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if text := indexOf(t, root); !strings.Contains(text, "0 runs") {
		t.Error("a damaged index was kept")
	}
}

// BenchmarkIndex writes the index of 2000 runs, of which one is new.
func BenchmarkIndex(b *testing.B) {
	root := b.TempDir()
	for seed := range uint64(2000) {
		ran(b, root, "failover", seed)
	}
	indexOf(b, root)
	for seed := uint64(2000); b.Loop(); seed++ {
		ran(b, root, "failover", seed)
		if err := Write(root); err != nil {
			b.Fatal(err)
		}
	}
}
