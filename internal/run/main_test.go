package run

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"lockbench/internal/report"
	"lockbench/internal/testing/trialtest"
)

func TestMain(m *testing.M) {
	trialtest.Main(m, map[string]func() int{
		"bad-guest":     func() int { return beBadGuest(os.Args[1]) },
		"foreign-guest": beForeignGuest,
		"leaky-guest":   func() int { return beLeakyGuest(os.Args[1]) },
		"pick":          func() int { return bePick(os.Args[1], os.Args[2]) },
	})
}

// runIt runs the options and fails the test if the harness fails.
func runIt(t testing.TB, ctx context.Context, o Options) *Outcome {
	t.Helper()
	return observe(t, ctx, o, nil)
}

// observe is runIt with a screen.
func observe(t testing.TB, ctx context.Context, o Options, show func(report.Tick)) *Outcome {
	t.Helper()
	o.Out = t.TempDir()
	out, err := Run(ctx, o, show)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	for _, l := range out.Result.Locks {
		if l.Error != "" {
			logText, _ := os.ReadFile(filepath.Join(out.Bundle.Dir, l.Lock, "logs", "lockbench.log"))
			t.Errorf("%s: the harness failed: %s\n%s", l.Lock, l.Error, logText)
		}
	}
	return out
}
