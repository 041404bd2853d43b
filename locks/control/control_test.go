package control_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"lockbench/locks"
	"lockbench/locks/control"
)

func ask(key string) locks.Request {
	return locks.Request{Keys: []string{key}, TTL: time.Second}
}

// exclusive are the controls that must always pass.
func exclusive(t *testing.T) map[string]locks.Opener {
	all := map[string]locks.Opener{"in-process": control.NewTable().Open}
	if runtime.GOOS != "windows" {
		dir := t.TempDir()
		all["flock"] = func(ctx context.Context, c locks.Client) (locks.Locker, error) {
			c.Store.Dir = dir
			return control.OpenFlock(ctx, c)
		}
	}
	return all
}

func open(t *testing.T, opener locks.Opener, id int) locks.Locker {
	t.Helper()
	l, err := opener(t.Context(), locks.Client{ID: id, Store: locks.Store{Topology: locks.None}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestNoLockGrantsEverything(t *testing.T) {
	a, b := open(t, control.OpenNoLock, 1), open(t, control.OpenNoLock, 2)
	for _, l := range []locks.Locker{a, b, a} {
		lease, err := l.Acquire(t.Context(), ask("a"))
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// The suite of locktest runs for both locks, in locks/locktest. This test is about what it does not see.
func TestExclusiveControls(t *testing.T) {
	for name, opener := range exclusive(t) {
		t.Run(name, func(t *testing.T) {
			a, b := open(t, opener, 1), open(t, opener, 2)
			held, err := b.Acquire(t.Context(), ask("a"))
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := held.(locks.Bounded); ok {
				t.Error("the lease has an end, and nothing that would end it")
			}
			// Names that a careless file name would confuse are names of their own.
			for _, other := range []string{"A", "../a", "a/", strings.Repeat("a", 1000)} {
				if _, err := b.Acquire(t.Context(), ask(other)); err != nil {
					t.Errorf("acquire %.10q: %v", other, err)
				}
			}
			if _, err := a.Acquire(t.Context(), locks.Request{Keys: []string{"a", "b"}}); !errors.Is(err, locks.ErrUnsupported) {
				t.Errorf("two names: got %v, want unsupported", err)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Acquire(t.Context(), ask("a")); err != nil {
				t.Errorf("acquire what a closed client held: %v", err)
			}
		})
	}
}

// The kernel frees a flock when its holder's process is killed, and not before.
func TestFlockEndsWithItsProcess(t *testing.T) {
	if dir := os.Getenv("FLOCK_HOLDER_DIR"); dir != "" {
		l, err := control.OpenFlock(t.Context(), locks.Client{Store: locks.Store{Dir: dir}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Acquire(t.Context(), ask("a")); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("held\n")
		select {} // until killed
	}
	if runtime.GOOS == "windows" {
		t.Skip("windows has no flock(2)")
	}
	dir := t.TempDir()
	holder := exec.Command(os.Args[0], "-test.run=^TestFlockEndsWithItsProcess$")
	holder.Env = append(os.Environ(), "FLOCK_HOLDER_DIR="+dir)
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	defer func() {
		if !killed {
			holder.Process.Kill()
			holder.Wait()
		}
	}()
	said := make([]byte, len("held\n"))
	if _, err := out.Read(said); err != nil || string(said) != "held\n" {
		t.Fatalf("the holder said %q, %v", said, err)
	}
	l, err := control.OpenFlock(t.Context(), locks.Client{Store: locks.Store{Dir: dir}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Acquire(t.Context(), ask("a")); err != locks.ErrTaken {
		t.Errorf("while another process holds: got %v, want taken", err)
	}
	holder.Process.Kill()
	holder.Wait()
	killed = true
	if _, err := l.Acquire(t.Context(), ask("a")); err != nil {
		t.Errorf("after the holder was killed: %v", err)
	}
}

func TestFlockNeedsADirectory(t *testing.T) {
	if _, err := control.OpenFlock(t.Context(), locks.Client{}); err == nil {
		t.Error("opened without a directory")
	}
}
