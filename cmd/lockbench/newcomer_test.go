package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"lockbench/internal/testing/trialtest"
)

// TestNewcomerWithGoAlone follows docs/test-your-lock.md, from an empty module to a verdict on a user's lock: as a test,
// and as a guest.
func TestNewcomerWithGoAlone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has other worlds, which are not to be taken here")
	}
	dir, bin := t.TempDir(), t.TempDir()
	lockbench := trialtest.Program(t)
	goTool, err := exec.LookPath("go")
	if err == nil {
		err = os.Symlink(goTool, filepath.Join(bin, "go"))
	}
	if err != nil {
		t.Fatal(err)
	}
	home, err := exec.CommandContext(t.Context(), goTool, "env", "GOROOT", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Fields(string(home))
	env := []string{"PATH=" + bin, "HOME=" + dir, "GOROOT=" + at[0], "GOCACHE=" + at[1], "GOMODCACHE=" + at[2], "GOFLAGS=-mod=mod", "TMPDIR=" + os.TempDir()}
	run := func(program string, args ...string) (string, int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir, cmd.Env = dir, env
		if args[0] == "build" {
			cmd.Env = append(env, "GOOS=wasip1", "GOARCH=wasm")
		}
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatalf("%s does not start", program)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	wants := func(text string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}

	here, err := filepath.Abs(top)
	if err != nil {
		t.Fatal(err)
	}
	all := pages(t)
	put := func(name string, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("mylock.go", read(t, "examples/go-lock/mylock.go"))
	put("mylock_test.go", "package mylock_test\n\nimport (\n\t\"testing\"\n\n\tmylock \"example.org/mylock\"\n\t\"lockbench\"\n)\n\n"+
		shown(t, all[top+"docs/test-your-lock.md"], "func TestMyLockSurvivesACrash"))
	put("guest/main.go", "package main\n\nimport (\n\t\"context\"\n\t\"log\"\n\n\tmylock \"example.org/mylock\"\n\t\"lockbench\"\n\t\"lockbench/locks\"\n)\n\n"+
		shown(t, all[top+"docs/test-your-lock.md"], "func main()"))
	// go mod tidy would need the network for the tests of dependencies.
	put("go.sum", read(t, "go.sum"))

	for _, args := range [][]string{
		{"mod", "init", "example.org/mylock"},
		{"mod", "edit", "-require", "lockbench@v0.0.0", "-replace", "lockbench=" + here},
		{"build", "-o", "guest.wasm", "./guest"},
	} {
		if out, code := run("go", args...); code != 0 {
			t.Fatalf("go %v: exit %d\n%s", args, code, out)
		}
	}
	out, code := run("go", "test", "-vet=off", ".")
	wants(out, "violated double-grant", "Why      Client ")
	if code != 1 {
		t.Errorf("the test of a lock on one server: exit %d\n%s", code, out)
	}
	out, code = run(lockbench, "run", "steady", "--episodes", "1", "--locks", "no-lock,mine=wasm:./guest.wasm")
	wants(out, "world sim", "not local: no redis-server found", "mine     1 master  valid", "Exit 0: as expected.")
	if code != 0 {
		t.Errorf("a guest that is a module: exit %d", code)
	}
	// The simulation cannot run programs, and the error contains the remedy.
	out, code = run(lockbench, "run", "steady", "--locks", "no-lock,mine=cmd:./guest")
	wants(out, "GOOS=wasip1 GOARCH=wasm go build -o guest.wasm ./guest", "mine=wasm:./guest.wasm")
	if code != 3 {
		t.Errorf("a guest that is a program: exit %d", code)
	}
}

// shown returns the code block of a page that begins with a text.
func shown(t *testing.T, page, begins string) string {
	t.Helper()
	code := regexp.MustCompile("(?s)```go\n(" + regexp.QuoteMeta(begins) + ".*?)```").FindStringSubmatch(page)
	if code == nil {
		t.Fatalf("no page shows %q", begins)
	}
	return code[1]
}

// read returns a file of this repository.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(top + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
