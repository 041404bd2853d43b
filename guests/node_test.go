//go:build unix

package guests

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/needs"
	"lockbench/locks/catalog"
)

func TestNpm(t *testing.T) { conformAndSteady(t, "redis-semaphore") }

func TestNpmOptions(t *testing.T) { sameOptions(t, "node/npm") }

// conformAndSteady puts a lock on real servers through the conformance suite, and through a scenario without faults.
func conformAndSteady(t *testing.T, lock string) {
	entry, _ := catalog.Find(lock)
	need(t, entry.Library.Guest(nil))
	_, err := exec.LookPath("redis-server")
	needs.OrSkip(t, "local", err)
	program := install(t, built)
	for _, words := range [][]string{
		{"conform", lock, "--world", "local", "--topology", "single"},
		{"run", "steady", "--world", "local", "--seed", "1", "--episodes", "1", "--locks", "no-lock," + lock, "--expect", lock + "=valid"},
	} {
		if out, code := run(t, program, nil, words...); code != 0 {
			t.Errorf("lockbench %s: exit %d\n%s", strings.Join(words, " "), code, out)
		}
	}
}

// sameOptions compares the options of each lock of a guest with those of the catalog.
func sameOptions(t *testing.T, folder string) {
	need(t, folder)
	guest := filepath.Join(mustAbs(t, built), folder, "run")
	for _, entry := range catalog.All() {
		if entry.Library == nil || entry.Library.Guest(nil) != folder {
			continue
		}
		words := []string{entry.Name}
		var options []string
		for _, o := range entry.Options {
			words = append(words, o.Name+"="+o.Default)
			options = append(options, o.Name)
		}
		if out, code := run(t, guest, nil, words...); code != 0 || !strings.Contains(out, "lockbench-guest/1") {
			t.Errorf("%s with the defaults of the catalog: exit %d: %s", entry.Name, code, out)
		}
		out, code := run(t, guest, nil, entry.Name, "no-such-option=1")
		_, list, _ := strings.Cut(strings.TrimSpace(out), "it has ")
		served := strings.Split(list, ", ")
		slices.Sort(served)
		slices.Sort(options)
		if code != 64 || !slices.Equal(served, options) {
			t.Errorf("%s: exit %d, options %v; the catalog has %v", entry.Name, code, served, options)
		}
		for _, o := range entry.Options {
			if out, code := run(t, guest, nil, entry.Name, o.Name+"=wrong"); code != 64 || !strings.Contains(out, "option "+o.Name) {
				t.Errorf("%s with %s=wrong: exit %d: %s", entry.Name, o.Name, code, out)
			}
			if _, err := entry.New(map[string]string{o.Name: "wrong"}); err == nil || !strings.Contains(err.Error(), "option "+o.Name) {
				t.Errorf("the catalog takes %s=wrong of %s: %v", o.Name, entry.Name, err)
			}
		}
	}
}

// A guest that is not built and an option that makes no sense are refused before anything starts.
func TestNpmAndPyPIBadInput(t *testing.T) {
	program := install(t, "")
	for _, test := range []struct{ lock, want string }{
		{"node-redlock-5", "`make guests` builds it"},
		{"sherlock", "`make guests` builds it"},
		{"redis-semaphore/refresh=often", `"often" is not a duration`},
		{"node-redlock-4/drift-factor=2", `"2" is not a share`},
		{"sherlock/expire=never", `"never" is not ttl or none`},
		{"pottery/retry-delay=1s", `pottery has no option "retry-delay"`},
	} {
		out, code := run(t, program, nil, "run", "steady", "--world", "local", "--episodes", "1", "--locks", test.lock)
		if code != 64 || !strings.Contains(strings.Join(strings.Fields(out), " "), test.want) {
			t.Errorf("%s: exit %d, want 64 and %q:\n%s", test.lock, code, test.want, out)
		}
	}
}
