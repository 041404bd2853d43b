package trialtest

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// Module builds the guest of examples/go-lock as a module of WebAssembly. It is built once
// for all tests of a package, and the compiled code of simulated trials is cached next to it.
func Module(t testing.TB) string { return keptModule(t, "lockbench/examples/go-lock/guest", "mylock") }

// SetNX is the catalog's set-nx as a module, kept like [Module].
func SetNX(t testing.TB) string {
	return keptModule(t, "lockbench/internal/virtual/child/testdata/setnx", "set-nx")
}

func keptModule(t testing.TB, what, name string) string {
	t.Helper()
	module := filepath.Join(filepath.Dir(Program(t)), name+".wasm")
	if _, err := os.Stat(module); err != nil {
		buildTo(t, what, module)
	}
	// Builds that come later must not find the folder of the tests' own.
	built, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(built)))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(filepath.Dir(module), "cache"))
	return module
}

// Build builds a package of lockbench as a module.
func Build(t testing.TB, what string) string {
	t.Helper()
	module := filepath.Join(t.TempDir(), path.Base(what)+".wasm")
	buildTo(t, what, module)
	return module
}

func buildTo(t testing.TB, what, module string) {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", module, what)
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build a module: %v\n%s", err, out)
	}
}
