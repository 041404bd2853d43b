package report

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestPrune(t *testing.T) {
	out := t.TempDir()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	run := func(dir, file string) string {
		path := filepath.Join(out, dir)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, file), []byte("12345"), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	newest := run("steady/20261121-110000-7", ResultFile)
	second := run("failover/20261121-100000-9", ResultFile)
	going := run("failover/20261121-090000-1", PlanFile)
	killed := run("mixed/20261101-090000-1", PlanFile)
	old := run("failover/20261120-100000-1.2", ResultFile)
	matrix := run("matrix/20261119-100000-1", "campaign.json")
	linked := run("steady/20261118-100000-1", ResultFile)
	mine := run("failover/notes", "notes.txt")
	if err := os.Symlink(filepath.Join("steady", filepath.Base(linked)), filepath.Join(out, LatestLink)); err != nil {
		t.Fatal(err)
	}
	removed, bytes, err := Prune(out, 2, now)
	if err != nil || bytes != 15 {
		t.Errorf("%d bytes, %v; want 15", bytes, err)
	}
	if want := []string{old, matrix, killed}; !slices.Equal(removed, want) {
		t.Errorf("removed %q, want %q", removed, want)
	}
	for _, dir := range []string{newest, second, going, linked, mine} {
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("%s is gone", dir)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "mixed")); err == nil {
		t.Error("an empty folder of a scenario is left")
	}
	if removed, _, err := Prune(filepath.Join(out, "none"), 2, now); err != nil || len(removed) > 0 {
		t.Errorf("of a folder that is not there: %q, %v", removed, err)
	}
}
