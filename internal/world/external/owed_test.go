//go:build linux

package external

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/internal/service"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/locks"
)

// After a run whose undo failed, runs on the same servers are refused, and other worlds report the file, until its
// commands have succeeded. The file of a run in progress is not reported.
func TestOwed(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	site := redistest.NewSite(t, locks.Single, "", nil)
	fixed := filepath.Join(t.TempDir(), "fixed")
	given := Given{Servers: []string{site.URL()}, Hooks: site.Hooks("pause: 'true'", "resume: test -e "+fixed)}
	w := read(t, given, nil)
	if err := w.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := spec(1)
	s.LogDir = filepath.Join(t.TempDir(), "a lock")
	file := filepath.Join(s.LogDir, "owed.sh")
	err := w.Run(t.Context(), s, func(ctx context.Context, c world.Cluster) error {
		if err := c.PauseNode(ctx, "redis-1"); err != nil {
			t.Error(err)
		}
		if left := abandoned(); len(left) > 0 {
			t.Errorf("the run is alive, and %v is reported", left)
		}
		return nil
	})
	if err == nil {
		t.Error("the undo did not fail")
	}
	pending := func(want bool) {
		t.Helper()
		if err := read(t, given, nil).Ready(t.Context()); (err != nil) != want || want && !strings.Contains(err.Error(), "sh '"+file+"'") {
			t.Errorf("a run on the same servers: %v, want it refused with the file: %v", err, want)
		}
		for _, other := range []*World{New(Options{}), read(t, Given{Servers: []string{"redis://127.0.0.1:1"}}, nil)} {
			if report := strings.Join(other.Report(t.Context()), "\n"); strings.Contains(report, file) != want {
				t.Errorf("another world reports %q, want the file in it: %v", report, want)
			}
		}
	}
	pending(true)
	if out, err := exec.Command("sh", file).CombinedOutput(); err == nil {
		t.Errorf("the undo did not fail: %s", out)
	}
	pending(true)
	if err := os.WriteFile(fixed, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", file).CombinedOutput(); err != nil {
		t.Errorf("the undo: %v: %s", err, out)
	}
	pending(false)
	if left := owedFiles(t, file); len(left) > 0 {
		t.Errorf("the commands have succeeded, and %q is left", left)
	}
}

// A record is removed when its file is gone, except if the file may exist on another machine.
func TestOwedWithoutFile(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for file, host := range map[string]string{"/nowhere/here.sh": "", "/nowhere/there.sh": "another-machine"} {
		o, err := newOwed(file, service.Location{Addrs: []string{"a:1"}}, service.Site{})
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			o.Host = host
		}
		f, err := o.write()
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close() // as the kernel does when a process ends
	}
	if all := abandoned(); len(all) > 0 {
		t.Errorf("reported: %v", all)
	}
	left := owedFiles(t, "")
	if len(left) != 1 || !strings.Contains(readFile(t, left[0]), "there.sh") {
		t.Errorf("left are %q, want the record of the other machine", left)
	}
}

// owedFiles returns which of a file and all records exist.
func owedFiles(t *testing.T, file string) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "lockbench", "owed", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err == nil {
		left = append(left, file)
	}
	return left
}

func TestOwedConcerns(t *testing.T) {
	here, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		host, server, addr string
		want               bool
	}{
		{here, "a:1", "a:1", true},
		{here, "a:1", "a:2", false},
		{here, "a:1", "b:1", false},
		{here, "127.0.0.1:1", "localhost:1", true},
		{here, "127.0.0.1:1", "127.0.0.2:1", false},
		{"another-machine", "a:1", "a:1", true},
		{"another-machine", "127.0.0.1:1", "127.0.0.1:1", false},
		{"another-machine", "localhost:1", "localhost:1", false},
		{"another-machine", "[::1]:1", "[::1]:1", false},
	} {
		o := owed{Host: test.host, Servers: []string{"c:1", test.server}}
		if got := o.concerns([]string{test.addr}); got != test.want {
			t.Errorf("%s of %s concerns %s: %v, want %v", test.server, test.host, test.addr, got, test.want)
		}
	}
}

// A folder for records that cannot be used is reported before the run, and does not stop it.
func TestOwedCannotBeKept(t *testing.T) {
	state := filepath.Join(t.TempDir(), "a file")
	if err := os.WriteFile(state, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", state)
	site := redistest.NewSite(t, locks.Single, "", nil)
	w := read(t, Given{Servers: []string{site.URL()}, Hooks: site.Hooks()}, nil)
	var said []string
	w.options.Say = func(text string) { said = append(said, text) }
	if err := w.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(said) != 1 || !strings.Contains(said[0], "warning") || !strings.Contains(said[0], state) {
		t.Errorf("printed %q, want a warning with the folder", said)
	}
	s := spec(1)
	s.LogDir = t.TempDir()
	err := w.Run(t.Context(), s, func(ctx context.Context, c world.Cluster) error {
		if err := c.PauseNode(ctx, "redis-1"); err != nil {
			return err
		}
		if text := readFile(t, filepath.Join(s.LogDir, "owed.sh")); !strings.Contains(text, "resume") {
			return fmt.Errorf("the pending undos are %q", text)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// In the temporary folder lockbench refuses a folder that other users may have made or may write to.
func TestOwedWithoutHome(t *testing.T) {
	temp := t.TempDir()
	for name, value := range map[string]string{"XDG_STATE_HOME": "", "HOME": "", "TMPDIR": temp} {
		t.Setenv(name, value)
	}
	dir, err := makeOwedDir()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil || filepath.Dir(dir) != temp || info.Mode().Perm() != 0o700 {
		t.Fatalf("%s with %v: %v", dir, info.Mode(), err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := owedDir(); err == nil {
		t.Error("other users may write to the folder, and it is used")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := owedDir(); err == nil {
		t.Error("the folder is a link, and it is used")
	}
}
