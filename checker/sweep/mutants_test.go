package sweep

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMutants changes package sweep in one place at a time and expects its tests to fail. testdata/mutants has the changes, each
// in the form
//
//	file: old text --> new text    # the mistake
//
// The test takes minutes, so it runs only with LOCKBENCH_VERIFY=1.
func TestMutants(t *testing.T) {
	if os.Getenv("LOCKBENCH_VERIFY") == "" {
		t.Skip("takes minutes; LOCKBENCH_VERIFY=1 runs it")
	}
	data, err := os.ReadFile("testdata/mutants")
	if err != nil {
		t.Fatal(err)
	}
	work := copied(t)
	// The unchanged copy must pass.
	if out, err := tested(work); err != nil {
		t.Fatalf("the copy fails before it is changed: %v\n%s", err, out)
	}
	killed := 0
	for n, line := range strings.Split(string(data), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		file, from, to, err := mutant(line)
		if err != nil {
			t.Fatalf("testdata/mutants, line %d: %v", n+1, err)
		}
		path := filepath.Join(work, file)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Count(before, []byte(from)) != 1 {
			t.Fatalf("testdata/mutants, line %d: %q stands %d times in %s; expected once", n+1, from, bytes.Count(before, []byte(from)), file)
		}
		if err := os.WriteFile(path, bytes.Replace(before, []byte(from), []byte(to), 1), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := tested(work)
		switch {
		case err == nil:
			t.Errorf("no test notices that %s says %q instead of %q", file, to, from)
		case bytes.Contains(out, []byte("build failed")):
			t.Errorf("testdata/mutants, line %d does not compile:\n%s", n+1, out)
		default:
			killed++
		}
		if err := os.WriteFile(path, before, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d mutants were noticed", killed)
	if killed < 10 {
		t.Errorf("only %d", killed)
	}
}

// mutant parses a line.
func mutant(line string) (file, from, to string, err error) {
	line, _, _ = strings.Cut(line, "    # ")
	file, change, ok := strings.Cut(line, ": ")
	if ok {
		from, to, ok = strings.Cut(change, " --> ")
	}
	unescape := strings.NewReplacer(`\n`, "\n", `\t`, "\t")
	from, to = unescape.Replace(from), unescape.Replace(to)
	if !ok {
		return "", "", "", fmt.Errorf("%q is not of the form file: from --> to", line)
	}
	return file, from, strings.TrimSpace(to), nil
}

// copied copies the package into a separate module.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		// Files that need the rest of the module cannot be copied, and this test would
		// run itself again.
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if file == "mutants_test.go" || bytes.Contains(data, []byte("\"lockbench/")) || bytes.Contains(data, []byte("\"github.com/")) {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module sweep\n\ngo 1.26\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func tested(dir string) ([]byte, error) {
	cmd := exec.Command("go", "test", "-count=1", "-vet=off", "-failfast", "-timeout=5m", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LOCKBENCH_VERIFY=", "GOWORK=off", "SWEEP_HISTORIES=4000")
	return cmd.CombinedOutput()
}
