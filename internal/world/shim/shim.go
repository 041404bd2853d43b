//go:build linux

// Package shim shifts the wall clock of a single program: it preloads a small library, which adds the offset in a
// file that the program has mapped. It affects programs that ask the C library for the time. The library is built
// on demand by a C compiler. The machine's clock is never changed.
package shim

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"lockbench/internal/output"
)

//go:embed preload/clock.c
var source []byte

// compileLimit bounds the build.
const compileLimit = 30 * time.Second

// FileSize is the size of the file. All zeros mean a clock that is right.
const FileSize = 32

var errNoCompiler = errors.New("no C compiler (cc, gcc or clang) to build what shifts a server's clock")

func compiler() (string, error) {
	for _, name := range []string{"cc", "gcc", "clang"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errNoCompiler
}

// Ready returns why clocks cannot be shifted on this machine, or nil.
func Ready() error {
	_, err := compiler()
	return err
}

// Build builds the library in a directory and returns its path.
func Build(ctx context.Context, dir string) (string, error) {
	cc, err := compiler()
	if err != nil {
		return "", err
	}
	text, library := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	if err := os.WriteFile(text, source, 0o644); err != nil {
		return "", fmt.Errorf("write the source of what shifts clocks: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, compileLimit)
	defer cancel()
	out, err := output.Combined(exec.CommandContext(ctx, cc, "-shared", "-fPIC", "-O2", "-o", library, text, "-ldl"))
	if err != nil {
		return "", fmt.Errorf("build what shifts clocks: %s: %w: %.500s", cc, err, out)
	}
	return library, nil
}

// Env returns the environment that makes a program use the clock in a file.
func Env(library, file string) []string {
	return []string{"LD_PRELOAD=" + library, "LOCKBENCH_CLOCK=" + file}
}

// Write is a write into the file.
type Write struct {
	At   int64
	Data []byte
}

// Change returns the writes that change the file, in order. While the first number is odd, a program reads the
// file again. Each change has its own number, from 1.
func Change(number int64, by time.Duration, drift float64) ([]Write, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return nil, fmt.Errorf("read this machine's clock: %w", err)
	}
	numbers := func(all ...int64) (b []byte) {
		for _, n := range all {
			b = binary.NativeEndian.AppendUint64(b, uint64(n))
		}
		return b
	}
	return []Write{
		{0, numbers(2*number - 1)},
		{8, numbers(int64(by), int64(drift*1e9), now.Nano())},
		{0, numbers(2 * number)},
	}, nil
}
