package site

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
)

// TestGrowing reads a history while it is written, cut in the middle of a line, removed, and continued with rubbish.
func TestGrowing(t *testing.T) {
	const first = `{"lockbench":"history/1","lock":"x","model":"mutex"}
{"time":1,"process":1,"type":"invoke","f":"acquire","session":"1.1","key":"a"}
{"time":2,"process":1,"type":"ok","f":"acq`
	const second = `uire","session":"1.1"}
{"time":3,"process":2,"type":"invoke","f":"acquire","session":"2.1","key":"a"}
{"time":4,"process":2,"type":"ok","f":"acquire","session":"2.1"}
{"time":5,"process":1,"type":"invoke","f":"check","session":"1.1"}
{"time":6,"process":1,"type":"ok","f":"check","session":"1.1"}
`
	path := filepath.Join(t.TempDir(), report.HistoryFile)
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	write := func(text string) {
		t.Helper()
		if _, err := out.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	judge := func(_ string, h *history.History) (report.Lock, error) {
		return report.NewLock(h, checker.Judge(h, checker.Options{})), nil
	}
	g := &growing{name: "x", path: path, file: in, follow: history.Follow(in)}
	if h := g.read(judge, false); h != nil || g.trouble != "" {
		t.Errorf("before the header: %v, %q", h, g.trouble)
	}
	write(first)
	if h := g.read(judge, false); h == nil || len(h.Events) != 1 || g.trouble != "" {
		t.Errorf("in the middle of a line: %v, %q; want one event", h, g.trouble)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(second)
	if h := g.read(judge, true); h == nil || len(h.Events) != 6 || g.lock.Verdict != checker.Violated {
		t.Errorf("after the file was removed: %v, %s; want six events, violated", h, g.lock.Verdict)
	}
	write("rubbish\n")
	if h := g.read(judge, true); h != nil || !strings.Contains(g.trouble, "line 8") {
		t.Errorf("rubbish: %v, %q; want the line", h, g.trouble)
	}
	if g.lock.Verdict != checker.Violated {
		t.Errorf("after rubbish: %s; want the verdict before it", g.lock.Verdict)
	}
}
