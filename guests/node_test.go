//go:build unix

package guests

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/locks/catalog"
)

func TestNpmOptions(t *testing.T) { sameOptions(t, "node/npm") }

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
		for _, o := range entry.Options() {
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
		for i, o := range entry.Options() {
			if _, err := entry.New(map[string]string{o.Name: "wrong"}); err == nil || !strings.Contains(err.Error(), "option "+o.Name) {
				t.Errorf("the catalog takes %s=wrong of %s: %v", o.Name, entry.Name, err)
			}
			if i > 0 && os.Getenv("LOCKBENCH_LONG") == "" {
				continue // each start of a guest takes a second on a busy machine
			}
			if out, code := run(t, guest, nil, entry.Name, o.Name+"=wrong"); code != 64 || !strings.Contains(out, "option "+o.Name) {
				t.Errorf("%s with %s=wrong: exit %d: %s", entry.Name, o.Name, code, out)
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
		if strings.Contains(test.want, "make guests") {
			if _, err := exec.LookPath("redis-server"); err != nil {
				continue // without servers the world is refused first
			}
		}
		out, code := run(t, program, nil, "run", "steady", "--world", "local", "--episodes", "1", "--locks", test.lock)
		if code != 64 || !strings.Contains(strings.Join(strings.Fields(out), " "), test.want) {
			t.Errorf("%s: exit %d, want 64 and %q:\n%s", test.lock, code, test.want, out)
		}
	}
}
