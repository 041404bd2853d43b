package trialtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Module builds the guest of examples/go-lock as a module of WebAssembly. What simulated
// trials compile it to is kept in a folder of the test's own.
func Module(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "mylock.wasm")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", path, "lockbench/examples/go-lock/guest")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build a module: %v\n%s", err, out)
	}
	Program(t) // before its own build would find an empty cache
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	return path
}
