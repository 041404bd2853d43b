package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"lockbench/internal/needs"
	"lockbench/internal/testing/trialtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) {
	if way := os.Getenv(crashVariable); way != "" {
		crash(way)
	}
	code := m.Run()
	trialtest.RemoveProgram()
	os.Exit(code)
}

// TestScripts runs the program without servers and checks its output and exit codes. internal/run tests runs with servers.
// The program is built without the race detector, which makes simulated trials ten times slower.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Setup: func(e *testscript.Env) error {
			program := trialtest.Program(t)
			e.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("LOCKBENCH", program) // for scripts that take PATH away
			// The sequence clears a terminal, so it must not be printed.
			e.Setenv("ESCAPE", "\x1b[2J")
			return nil
		},
		// [needs:local] is true if there are servers for world local, or if they are required.
		Condition: func(cond string) (bool, error) {
			if cond != "needs:local" {
				return false, fmt.Errorf("unknown condition %s", cond)
			}
			return needs.Required("local") || needs.Programs("redis-server") == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"folder": folder,
			"jsons":  jsons,
			"tears":  tears,
		},
	})
}

// exits runs a program and requires an exact exit code: exits 64 lockbench run. Its
// output can be matched with stdout and stderr afterwards. A plain "!" would accept a
// crash where the script means wrong usage.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s: got exit code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// folder sets $FOLDER to the only path that matches a pattern, for names that contain a time: folder results/matrix/*-7.
func folder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: folder PATTERN")
	}
	found, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%s: got %v, want one", args[0], found)
	}
	ts.Setenv("FOLDER", found[0])
}

// jsons checks that a file has a number of JSON values with the given keys: jsons stdout 1 schema verdict.
func jsons(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: jsons FILE COUNT [KEY...]")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	got := 0
	for {
		var value map[string]any
		err := d.Decode(&value)
		if errors.Is(err, io.EOF) {
			break
		}
		ts.Check(err)
		got++
		for _, key := range args[2:] {
			if _, ok := value[key]; !ok {
				ts.Fatalf("%s: value %d has no %q", args[0], got, key)
			}
		}
	}
	if got != want {
		ts.Fatalf("%s: got %d JSON values, want %d", args[0], got, want)
	}
}

// tears removes a file's last byte, the last newline, which a txtar archive always adds.
func tears(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tears FILE")
	}
	text := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text[:len(text)-1]), 0o644))
}

// The plan of a seed must not change by accident, because seeds in bug reports would change their meaning. Scenarios
// without a golden plan are not compared.
func TestPlansOfEmbeddedScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/plan/*.txt")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d golden plans, %v", len(files), err)
	}
	for _, golden := range files {
		name := strings.TrimSuffix(filepath.Base(golden), ".txt")
		t.Run(name, func(t *testing.T) {
			got := printed(t, "run", name, "--dry-run", "--seed", "7", "--world", "sim")
			if again := printed(t, "run", name, "--dry-run", "--seed", "7", "--world", "sim"); again != got {
				t.Errorf("the same seed planned twice: (-first +second)\n%s", cmp.Diff(got, again))
			}
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("plan of %s with seed 7 (-want +got):\n%s", name, diff)
			}
		})
	}
}

// Every command has an example with existing commands and flags.
func TestEveryCommandHasAnExample(t *testing.T) {
	root := newRoot()
	root.InitDefaultHelpCmd()
	commands := append(root.Commands(), root)
	if len(commands) < 12 {
		t.Fatalf("got %d commands, want all of them", len(commands))
	}
	for _, c := range commands {
		if c.Name() == "help" {
			continue // it is cobra's
		}
		if !strings.Contains(c.Example, "lockbench") {
			t.Errorf("%s has no example", c.Name())
		}
		if c.Short == "" {
			t.Errorf("%s does not say what it does", c.Name())
		}
		for _, line := range strings.Split(c.Example, "\n") {
			if err := exists(root, line); err != nil {
				t.Errorf("example of %s: %q: %v", c.Name(), line, err)
			}
		}
	}
}

// The commands have at most 100 flags together.
func TestFlagsAreFew(t *testing.T) {
	const most = 100
	all := 0
	for _, c := range newRoot().Commands() {
		if c.GroupID != "" {
			all += len(flagNames(c))
		}
	}
	if all > most || all < most/2 {
		t.Errorf("the commands have %d flags, want at most %d", all, most)
	}
}

// exists returns an error if a command line uses a command or a flag that does not exist.
func exists(root *cobra.Command, line string) error {
	_, call, found := strings.Cut(line, "lockbench ")
	if !found {
		return nil
	}
	words := strings.Fields(call)
	c, _, err := root.Find(words)
	if err != nil {
		return err
	}
	if c == root && words[0] != "--version" && words[0] != "--help" {
		return errors.New("no such command: " + words[0])
	}
	for _, word := range words {
		name, isFlag := strings.CutPrefix(strings.Trim(word, "`'\".,;:()[]"), "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && name != "" && name != "help" && name != "version" && c.Flags().Lookup(name) == nil {
			return errors.New(c.Name() + " has no flag --" + name)
		}
	}
	return nil
}

// printed is what a command writes to standard output; it must succeed.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	root := newRoot()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs(args)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("lockbench %s: %v", strings.Join(args, " "), err)
	}
	return out.String()
}
