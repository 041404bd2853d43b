//go:build linux

package process

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds every wait of these tests. No test passes because of it.
const patience = time.Minute

// family starts a shell that starts others in the given way. Each prints its PID.
func family(t *testing.T, script string, count int) (p *Process, pids []int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	t.Cleanup(func() { out.Close() })
	cmd.Stdout = in
	if p, err = Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(context.Background()); err != nil {
			t.Error(err)
		}
		for _, pid := range pids { // also if Kill does not work
			if Alive(pid) {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	})
	lines := bufio.NewScanner(out)
	for len(pids) < count && lines.Scan() {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if len(pids) < count {
		t.Fatalf("only %v have started", pids)
	}
	return p, pids
}

const child = `sh -c 'echo $$; while :; do :; done'`

// families are the ways in which a program may start others.
var families = map[string]string{
	"in its group":        child + ` & wait`,
	"setsid":              `setsid ` + child + ` & wait`,
	"setsid, without env": `setsid env -i ` + child + ` & wait`,
	"re-parented":         `(` + child + ` &) ; sleep 1000`,
	"re-parented, setsid": `(setsid ` + child + ` &) ; sleep 1000`,
	"below one of those":  `(setsid sh -c "setsid env -i ` + "sh -c 'echo \\$\\$; while :; do :; done'" + ` & wait" &) ; sleep 1000`,
}

func TestTreeIsPausedAndKilled(t *testing.T) {
	for name, script := range families {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			p, pids := family(t, script, 1)
			if members := p.Members(); !slices.Contains(members, pids[0]) || !slices.Contains(members, p.PID()) {
				t.Fatalf("the tree of %d is %v, without %d", p.PID(), members, pids[0])
			}
			if err := p.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			if !still(pids[0]) || !p.Still() {
				t.Error("it was paused, and runs")
			}
			if err := p.Resume(); err != nil {
				t.Fatal(err)
			}
			if still(pids[0]) { // it never sleeps, so only a stop explains this
				t.Error("it was resumed, and is frozen")
			}
			if err := p.Stop(ctx); err != nil { // a stopped process dies as well
				t.Fatal(err)
			}
			if err := p.Kill(ctx); err != nil {
				t.Fatal(err)
			}
			if Alive(pids[0]) || len(p.Members()) > 0 {
				t.Errorf("it was killed, and lives on: %v", p.Members())
			}
			if err := errors.Join(p.Stop(ctx), p.Resume()); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("it is dead: %v", err)
			}
		})
	}
}

// When a program ends by itself, all processes that it has started are ended.
func TestTreeEndsWithItsRoot(t *testing.T) {
	for name, script := range families {
		if name == "setsid, without env" {
			continue // it loses its parent, its group and its environment, so it cannot be found
		}
		t.Run(name, func(t *testing.T) {
			p, pids := family(t, script, 1)
			if err := unix.Kill(p.PID(), unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			<-p.exited
			if Alive(pids[0]) {
				t.Error("it lives on")
			}
		})
	}
}

// A program that starts others all the time starts none while it is paused, and none survives
// its kill.
func TestTreeThatGrows(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p, _ := family(t, `for i in $(seq 300); do setsid sh -c 'echo $$; exec sleep 1000' & done; wait`, 20)
	if err := p.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	first := p.Members()
	if !p.Still() {
		t.Error("one of them runs")
	}
	for range 5 {
		if now := p.Members(); len(now) != len(first) {
			t.Fatalf("there were %d, and then %d", len(first), len(now))
		}
	}
	t.Logf("%d processes", len(first))
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	if left := p.Members(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A process that has just started a child by vfork waits in the kernel for it and cannot be
// stopped. Its tree counts as stopped all the same.
func TestTreeIsPausedWithinVfork(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p, _ := family(t, `echo $$; while :; do /bin/true; done`, 1)
	for range 300 {
		if err := p.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		if err := p.Resume(); err != nil {
			t.Fatal(err)
		}
	}
}

// Two trees are independent of each other.
func TestTreesAreApart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	a, ours := family(t, families["re-parented, setsid"], 1)
	b, theirs := family(t, families["re-parented, setsid"], 1)
	whose := trees(a, b)
	if whose[ours[0]].root != a || whose[theirs[0]].root != b || whose[os.Getpid()].root != nil || whose[1].root != nil {
		t.Errorf("%v", whose)
	}
	if err := a.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	if Alive(ours[0]) || !Alive(theirs[0]) {
		t.Errorf("in the killed tree: alive %v; in the other: alive %v", Alive(ours[0]), Alive(theirs[0]))
	}
}
