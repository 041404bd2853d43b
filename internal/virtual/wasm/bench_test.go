package wasm

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// example is a real guest, with a client library: 13 MB.
func example(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "guest.wasm")
	build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-o", path, "lockbench/examples/go-lock/guest")
	build.Env = append(build.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("build a module: %v\n%s", err, out)
	}
	return path
}

// BenchmarkLoad is what a module costs that was compiled before.
func BenchmarkLoad(b *testing.B) {
	path, cache := example(b), b.TempDir()
	began := time.Now()
	for i := 0; b.Loop(); i++ {
		m, err := Load(b.Context(), path, cache)
		if err != nil {
			b.Fatal(err)
		}
		if i == 0 {
			b.ReportMetric(time.Since(began).Seconds(), "s/compiled")
			b.ResetTimer()
		}
		_ = m.Close(b.Context())
	}
}

// BenchmarkStart is what a client costs until it has said who it is.
func BenchmarkStart(b *testing.B) {
	m, err := Load(b.Context(), example(b), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := m.FirstLine(b.Context(), Program{Args: []string{"guest"}}); err != nil {
			b.Fatal(err)
		}
	}
}
