//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"lockbench/internal/needs"
	"lockbench/internal/world"
	"lockbench/internal/world/shim"
)

// stayEnv makes TestStay the Go program of the clock tests.
const stayEnv = "LOCKBENCH_TEST_STAY"

func TestStay(t *testing.T) {
	if os.Getenv(stayEnv) == "" {
		return
	}
	for range time.Tick(20 * time.Millisecond) {
		fmt.Println(float64(time.Now().UnixMilli()) / 1000)
	}
}

// tellers are programs that print the time in seconds repeatedly.
func tellers(t *testing.T) map[string]string {
	java := filepath.Join(t.TempDir(), "Teller.java")
	err := os.WriteFile(java, []byte(`class Teller { public static void main(String[] a) throws Exception {
		for (;;) { System.out.println(System.currentTimeMillis() / 1000.0); Thread.sleep(20); } } }`), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"python3": `exec /usr/bin/python3 -u -c "import time
while True:
	print(time.time())
	time.sleep(.02)"`,
		"node": `node -e "setInterval(() => console.log(Date.now() / 1000), 20)"; exit`,
		"java": "java " + java + "; exit",
		"go":   "exec env " + stayEnv + "=1 " + os.Args[0] + " -test.run '^TestStay$'",
	}
}

// TestClientClock shifts the clock of one client and sets it right again. This works with every
// runtime that calls the C library; a Go program is recognised as one that does not.
func TestClientClock(t *testing.T) {
	needs.OrSkip(t, "local", shim.Ready())
	for program, command := range tellers(t) {
		t.Run(program, func(t *testing.T) {
			if required, asked := map[string]string{"python3": "local", "java": "zookeeper", "node": "node"}[program]; asked {
				_, err := exec.LookPath(program)
				needs.OrSkip(t, required, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			c := &Clients{LogDir: t.TempDir()}
			if err := c.MakeClocks(ctx, world.Spec{ClientClocks: true, AsksLibc: true}, t.TempDir()); err != nil {
				t.Fatal(err)
			}
			said := make(chan string)
			ch, err := startClient(world.ClientSpec{ID: 1, Command: command, Log: func(line string) {
				select {
				case said <- line:
				case <-ctx.Done():
				}
			}}, nil, c.LogDir, nil, c.clockEnv)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				cancel()
				if err := ch.end(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			c.clients = map[int]ender{1: ch}
			// off waits until the program prints a time with this offset.
			off := func(want time.Duration) {
				t.Helper()
				for {
					select {
					case line := <-said:
						seconds, err := strconv.ParseFloat(line, 64)
						if err != nil {
							continue // another message of the runtime
						}
						wrong := time.Until(time.UnixMilli(int64(seconds * 1000)))
						if (wrong - want).Abs() < 10*time.Minute {
							return
						}
					case <-ctx.Done():
						t.Fatalf("its clock was never seen to be off by %s", want)
					}
				}
			}
			off(0)
			if got := asksLibc(ch.process); got != (program != "go") {
				t.Errorf("that it asks the C library is %t", got)
			}
			if err := c.ShiftClientClock(1, time.Hour, 0); err != nil {
				t.Fatal(err)
			}
			told, err := c.ClientClockOffset(1)
			if program == "go" {
				if err == nil {
					t.Error("a Go program's clock is said to be wrong")
				}
				off(0)
				return
			}
			if err != nil || told != time.Hour {
				t.Errorf("its clock is said to be off by %s, %v", told, err)
			}
			off(time.Hour)
			if err := c.ShiftClientClock(1, -time.Hour, 0); err != nil {
				t.Fatal(err)
			}
			off(-time.Hour)
			if err := c.ShiftClientClock(1, 0, 0); err != nil {
				t.Fatal(err)
			}
			off(0)
		})
	}
}

// Clients that ask the kernel for the time get no clock, and the reason.
func TestClockReady(t *testing.T) {
	c, kernel := &Clients{}, world.Spec{ClientClocks: true}
	if err := ClockReady(kernel); !errors.Is(err, world.ErrClientClock) {
		t.Errorf("%v; want %v", err, world.ErrClientClock)
	}
	if err := c.MakeClocks(t.Context(), kernel, t.TempDir()); err != nil || c.preload != "" {
		t.Errorf("made the library %q, %v", c.preload, err)
	}
}
