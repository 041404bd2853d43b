package report

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"lockbench/checker"
)

var stamp = time.Date(2026, 11, 21, 11, 40, 0, 0, time.UTC)

func TestBundle(t *testing.T) {
	out := filepath.Join(t.TempDir(), "results")
	b, err := Create(out, "failover", stamp, 7)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(out, "failover", "20261121-114000-7"); b.Dir != want {
		t.Errorf("folder %s, want %s", b.Dir, want)
	}
	again, err := Create(out, "failover", stamp, 7)
	if err != nil || again.Dir == b.Dir {
		t.Fatalf("a second run of the same second: %v, %v", again, err)
	}

	r := sample(t)
	r.Locks[6].Lock = "redlock/nodes=3"
	for _, lock := range []string{"zz-not-in-the-result/x=1", "redlock/nodes=3", "set-nx"} {
		f, err := b.CreateHistory(lock)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.CreateHistory("set-nx"); err == nil {
		t.Error("a history was overwritten")
	}
	if err := errors.Join(b.WriteScenario([]byte("s")), b.WritePlan([]byte("p")), b.WriteReports(r)); err != nil {
		t.Fatal(err)
	}

	loaded, err := Load(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, loaded.Result); diff != "" {
		t.Errorf("result.json reads differently (-written +read):\n%s", diff)
	}
	want := []LockHistory{
		{"set-nx", filepath.Join(b.Dir, "set-nx", HistoryFile)},
		{"redlock/nodes=3", filepath.Join(b.Dir, "redlock+nodes=3", HistoryFile)},
		{"zz-not-in-the-result+x=1", filepath.Join(b.Dir, "zz-not-in-the-result+x=1", HistoryFile)},
	}
	if diff := cmp.Diff(want, loaded.Histories); diff != "" {
		t.Errorf("histories (-want +got):\n%s", diff)
	}
	entries, err := os.ReadDir(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestWriteIsWholeOrNot(t *testing.T) {
	b, err := Create(t.TempDir(), "s", stamp, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.WritePlan([]byte("old")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err = b.Write(PlanFile, func(w io.Writer) error {
		_, _ = io.WriteString(w, "ha")
		return broken
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), PlanFile) {
		t.Errorf("the error does not name the file and the cause: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(b.Dir, PlanFile))
	if err != nil || string(text) != "old" {
		t.Errorf("the old file is now %q, %v", text, err)
	}
	if entries, _ := os.ReadDir(b.Dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestLatest(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	out := t.TempDir()
	for seed := range uint64(2) {
		b, err := Create(out, "failover", stamp, seed)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.LinkLatest(); err != nil {
			t.Fatal(err)
		}
		got, err := filepath.EvalSymlinks(filepath.Join(out, LatestLink))
		want, _ := filepath.EvalSymlinks(b.Dir)
		if err != nil || got != want {
			t.Errorf("latest is %s, want %s; %v", got, want, err)
		}
		if target, _ := os.Readlink(filepath.Join(out, LatestLink)); filepath.IsAbs(target) {
			t.Errorf("%s is absolute: a results folder that is moved loses its latest run", target)
		}
	}

	other := t.TempDir()
	b, err := Create(other, "failover", stamp, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(other, LatestLink), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := b.LinkLatest(); err == nil {
		t.Error("a folder was replaced by a link, or there was no error")
	}
}

func TestLoadWhatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "results/latest") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Load(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	path := filepath.Join(dir, ResultFile)
	for text, want := range map[string]string{`{"schema":2,"locks":7}`: "schema 2", `{"sch`: path, `{"schema":1,"locks":[{"verdict":"fine"}]}`: `"fine"`} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, which does not say %q", text, err, want)
		}
	}
	// A run that crashed has histories and no result.
	if err := errors.Join(os.Remove(path), os.Mkdir(filepath.Join(dir, "set-nx"), 0o755),
		os.WriteFile(filepath.Join(dir, "set-nx", HistoryFile), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if b, err := Load(dir); err != nil || b.Result != nil || len(b.Histories) != 1 {
		t.Errorf("a crashed run: %+v, %v", b, err)
	}
}

func TestErrorsSayWhatNext(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(file, "s", stamp, 1); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "--out") {
		t.Errorf("a file for a folder: %v", err)
	}
}

func TestFolderName(t *testing.T) {
	for name, want := range map[string]string{
		"set-nx": "set-nx", "redlock/nodes=3": "redlock+nodes=3", "a+b": "a%2Bb", "..": "%2E%2E", ".x": "%2Ex", "x.": "x%2E",
		"a:b c\\d": "a%3Ab%20c%5Cd", "100%": "100%25", "drift=0.01": "drift=0.01", "": "%",
	} {
		if got := FolderName(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.String().Draw(t, "a")
		b := rapid.String().Draw(t, "b")
		fa, fb := FolderName(a), FolderName(b)
		if a != b && fa == fb {
			t.Fatalf("%q and %q share the folder %q", a, b, fa)
		}
		if len(fa) > 120 || fa == "." || fa == ".." || strings.ContainsAny(fa, `/\:*?"<>| `) {
			t.Fatalf("%q is not a name for a folder", fa)
		}
	})
}

func TestNewLockCutsFindings(t *testing.T) {
	h, f := failover(t)
	var many []checker.Finding
	for range 60 {
		many = append(many, checker.Finding{Class: checker.Overstay, Event: f.Event})
	}
	many = append(many, f)
	l := NewLock(h, checker.Report{Verdict: checker.Violated, Class: checker.DoubleGrant,
		Checks: []checker.Result{{Name: "exclusion", Verdict: checker.Violated, Violations: 61, Findings: many}}})
	c := l.Checks[0]
	if len(c.Findings) != FindingsMax || c.Violations != 61 {
		t.Errorf("%d findings of %d", len(c.Findings), c.Violations)
	}
	if got, ok := l.FirstFinding(); !ok || got.Class != checker.DoubleGrant {
		t.Errorf("the only double-grant was cut away: %+v", got)
	}
	if len(many) != 61 || many[49].Class != checker.Overstay {
		t.Error("the judge's own findings were changed")
	}
	if l.Acquires.OK == 0 || l.ViolatingEpisodes != 1 || l.Lock != "set-nx" {
		t.Errorf("figures are missing: %+v", l.Figures)
	}
}
