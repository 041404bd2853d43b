package sim_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/service"
	"lockbench/internal/virtual/sim"
	"lockbench/internal/world"
	"lockbench/locks"
)

// modulesDir is the folder in which a module was built, or empty.
var modulesDir string

func TestMain(m *testing.M) {
	code := m.Run()
	if modulesDir != "" {
		_ = os.RemoveAll(modulesDir)
	}
	os.Exit(code)
}

// built returns a WASM guest of this module, which is built once for all tests.
var built = sync.OnceValues(func() (dir string, err error) {
	dir, err = os.MkdirTemp("", "lockbench-modules-")
	if err != nil {
		return "", err
	}
	modulesDir = dir
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, "probe.wasm"), "./testdata/probe")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build a module: %w\n%s", err, out)
	}
	return dir, nil
})

// said is a line of a probe: a word, and the monotonic and wall clocks in milliseconds.
type said struct {
	client, what string
	steady, wall int64
}

// probes runs WASM clients on a cluster without servers, and returns the output of each. body gets a function that opens
// a client.
func probes(t *testing.T, body func(ctx context.Context, c world.Cluster, open func(id int) world.Client) error) ([]said, error) {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	w := sim.New(sim.Options{ModuleCache: filepath.Join(dir, "cache")})
	spec := world.ClientSpec{Module: filepath.Join(dir, "probe.wasm")}
	if hello, err := w.Meet(t.Context(), spec); err != nil || hello.Name != "probe" {
		t.Fatalf("the module says that it is %+v (%v)", hello, err)
	}
	var lines []said
	err = w.Run(t.Context(), world.Spec{Topology: service.None, Seed: 7}, func(ctx context.Context, c world.Cluster) error {
		return body(ctx, c, func(id int) world.Client {
			s := spec
			s.ID = id
			s.Log = func(line string) { lines = append(lines, parse(line)) }
			client, err := c.Open(ctx, s)
			if err != nil {
				t.Errorf("open client %d: %v", id, err)
				panic("no client")
			}
			return client
		})
	})
	return lines, err
}

func parse(line string) said {
	client, text, _ := strings.Cut(line, ": ")
	words := append(strings.Fields(text), "", "", "")
	steady, _ := strconv.ParseInt(words[1], 10, 64)
	wall, _ := strconv.ParseInt(words[2], 10, 64)
	return said{client, words[0], steady, wall}
}

// linesOf returns the lines of one client that contain a text.
func linesOf(lines []said, client, what string) (list []said) {
	for _, l := range lines {
		if l.client == client && l.what == what {
			list = append(list, l)
		}
	}
	return list
}

// A paused module is frozen with its timers: its ticker fires late, once, when
// it goes on. Another one does not notice.
func TestPausedModule(t *testing.T) {
	lines, err := probes(t, func(ctx context.Context, _ world.Cluster, open func(int) world.Client) error {
		a := open(1)
		open(2)
		time.Sleep(time.Second)
		_ = a.Pause(ctx)
		time.Sleep(3050 * time.Millisecond)
		_ = a.Resume(ctx)
		time.Sleep(time.Second)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ticks, others := linesOf(lines, "client-1", "tick"), linesOf(lines, "client-2", "tick")
	if len(others) != 50 {
		t.Errorf("the other one ticked %d times in 5.05 s, want 50", len(others))
	}
	late := 0
	for i, tick := range ticks[1:] {
		switch gap := tick.steady - ticks[i].steady; {
		case gap >= 3000:
			late++
			if i+2 < len(ticks) && ticks[i+2].steady-tick.steady > 100 {
				t.Errorf("after the pause it ticked at %d and then at %d", tick.steady, ticks[i+2].steady)
			}
		case gap > 101:
			t.Errorf("between two ticks there are %d ms", gap)
		}
	}
	if late != 1 || len(ticks) < 18 || len(ticks) > 22 {
		t.Errorf("it ticked %d times, %d of them late; want some 20, and one", len(ticks), late)
	}
}

// A shifted clock affects time.Now of one WASM guest, but not its timers. A fast clock makes timers fire early.
func TestModuleClocks(t *testing.T) {
	lines, err := probes(t, func(ctx context.Context, c world.Cluster, open func(int) world.Client) error {
		for id := 1; id <= 3; id++ {
			open(id)
		}
		shifter := c
		time.Sleep(1050 * time.Millisecond)
		if err := errors.Join(shifter.ShiftClientClock(1, time.Hour, 0), shifter.ShiftClientClock(3, 0, 1)); err != nil {
			return err
		}
		time.Sleep(time.Second)
		if off, err := shifter.ClientClockOffset(1); err != nil || off != time.Hour {
			t.Errorf("the clock of client 1 is off by %v (%v)", off, err)
		}
		_ = errors.Join(shifter.ShiftClientClock(1, 0, 0), shifter.ShiftClientClock(3, 0, 0))
		time.Sleep(time.Second)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for client, want := range map[string]int{"client-1": 30, "client-2": 30, "client-3": 40} {
		if got := len(linesOf(lines, client, "tick")); got < want-1 || got > want+1 {
			t.Errorf("%s ticked %d times, want %d", client, got, want)
		}
	}
	epoch := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for _, l := range lines {
		ahead := l.wall-epoch > 10_000
		if shifted := l.client == "client-1" && l.steady > 1050 && l.steady < 2050; ahead != shifted {
			t.Errorf("%s took it for %v, %d ms after it began", l.client, time.UnixMilli(l.wall).UTC(), l.steady)
		}
	}
}

// The timers of goroutine clients follow virtual time. A drift affects only the time that the lock writes.
func TestWhoseClocksDrift(t *testing.T) {
	for name, test := range map[string]struct {
		spec world.Spec
		want error
	}{
		"goroutines":     {world.Spec{}, world.ErrClientDrift},
		"a lock's times": {world.Spec{WritesTime: true}, nil},
		"modules":        {world.Spec{Modules: true}, nil},
	} {
		test.spec.Topology = service.None
		w := sim.New(sim.Options{})
		sketch := w.Sketch(test.spec)
		if err := cmp.Or(sketch.ClientClocks, sketch.ClientDrift); !errors.Is(err, test.want) {
			t.Errorf("%s, drift: %v, want %v", name, err, test.want)
		}
		if err := sketch.ClientClocks; err != nil {
			t.Errorf("%s, jump: %v", name, err)
		}
	}
}

// A killed WASM guest ends at once, without its pending answers. A guest that ends by itself reports the reason.
func TestKilledModule(t *testing.T) {
	lines, err := probes(t, func(ctx context.Context, _ world.Cluster, open func(int) world.Client) error {
		a, b := open(1), open(2)
		time.Sleep(time.Second)
		_ = a.Kill(ctx)
		began := time.Now()
		if _, err := a.Conn().Acquire(ctx, "1.1", locks.Request{Keys: []string{"a"}}); !errors.Is(err, guest.ErrGone) || time.Since(began) > 0 {
			t.Errorf("asked after its end it says %v, after %v", err, time.Since(began))
		}
		if _, err := b.Conn().Acquire(ctx, "2.1", locks.Request{Keys: []string{"panic"}}); !errors.Is(err, guest.ErrGone) {
			t.Errorf("a module that panics says %v", err)
		}
		time.Sleep(time.Second)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range []string{"client-1", "client-2"} {
		if n := len(linesOf(lines, client, "tick")); n > 11 {
			t.Errorf("%s ticked %d times in a second", client, n)
		}
	}
	if len(linesOf(lines, "client-2", "the")) != 1 || len(linesOf(lines, "client-2", "panic:")) != 1 {
		t.Errorf("the panic is not reported: %v", lines)
	}
}
