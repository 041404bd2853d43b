package wasm

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// spins is the smallest program that never ends: memory, and a loop.
var spins = []byte("\x00asm\x01\x00\x00\x00" +
	"\x01\x04\x01\x60\x00\x00" + // a function of nothing
	"\x03\x02\x01\x00" +
	"\x05\x03\x01\x00\x01" +
	"\x07\x13\x02\x06_start\x00\x00\x06memory\x02\x00" +
	"\x0a\x09\x01\x07\x00\x03\x40\x0c\x00\x0b\x0b")

var garbage []byte

// A program that computes before its first line is given up, even where garbage is
// collected: a collection would wait for it for ever, and with it the test that gives it up.
func TestFirstLineOfOneThatSpins(t *testing.T) {
	const inside = "LOCKBENCH_TEST_SPINS"
	if os.Getenv(inside) == "" {
		// In a process of its own, for nothing ends such a program.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), inside+"=yes", "GOGC=1")
		out, err := cmd.CombinedOutput()
		if !strings.Contains(string(out), "it computed for 1s and wrote nothing") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	path := filepath.Join(t.TempDir(), "spins.wasm")
	if err := os.WriteFile(path, spins, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Load(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			garbage = make([]byte, 1<<20)
			time.Sleep(time.Millisecond)
		}
	}()
	_, err = m.firstLineWithin(t.Context(), time.Second, Program{Args: []string{"spins"}})
	println(err.Error())
	os.Exit(0)
}
