package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"lockbench/internal/guest"
	"lockbench/internal/world"
	"lockbench/internal/world/local"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// roleVariable makes the test binary something else than the tests: a guest
// ("guest"), or a harness that is going to be killed ("harness").
const roleVariable = "LOCKBENCH_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "guest":
		os.Exit(beGuest(os.Args[1]))
	case "bad-guest":
		os.Exit(beBadGuest(os.Args[1]))
	case "foreign-guest":
		os.Exit(beForeignGuest())
	case "harness":
		os.Exit(beHarness(os.Args[1]))
	case "broken-redlock":
		os.Exit(serveTrial(context.Background(), os.Stdin, os.Stdout, openBrokenRedlock))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		removeProgram()
		os.Exit(code)
	}))
}

// beGuest is `lockbench guest NAME`, without the program around it.
func beGuest(name string) int {
	lock, ok := catalog.Find(name)
	if !ok {
		fmt.Fprintln(os.Stderr, catalog.NotFound(name))
		return 1
	}
	hello := guest.Hello{Name: name, Family: string(lock.Family), Claims: lock.Claims, Model: lock.Model, SourceAddress: true}
	err := guest.Main(context.Background(), hello, func(_ context.Context, r guest.Request) (locks.Opener, locks.Client, error) {
		opener, err := lock.New(r.Options)
		if err != nil {
			return nil, locks.Client{}, err
		}
		client, err := guest.NewClient(r)
		return opener, client, err
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// localWorld is the local world with this binary as its guests. Without a
// redis-server the test is skipped, unless the world is required.
func localWorld(t testing.TB) world.World {
	t.Helper()
	w := local.New(local.Options{Self: []string{"/usr/bin/env", roleVariable + "=guest", os.Args[0]}})
	if err := w.Ready(t.Context()); err != nil {
		if strings.Contains(os.Getenv("LOCKBENCH_REQUIRE"), "local") {
			t.Fatalf("the local world is required: %v", err)
		}
		t.Skipf("no local world: %v", err)
	}
	return w
}

// load reads an embedded scenario, or a text.
func load(t testing.TB, nameOrText string) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Load(nameOrText, scenarios.AllCatalogs())
	if strings.Contains(nameOrText, "\n") {
		s, err = scenarios.Read("test.yaml", []byte(nameOrText), scenarios.AllCatalogs())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// runIt runs and fails the test if the harness does.
func runIt(t testing.TB, ctx context.Context, o Options) *Outcome {
	t.Helper()
	o.Out = t.TempDir()
	out, err := Run(ctx, o)
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
