package sweep

import (
	"bytes"
	"encoding/json"
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
	// The unchanged package must pass.
	if out, err := tested(t, "", nil); err != nil {
		t.Fatalf("the package fails before it is changed: %v\n%s", err, out)
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
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Count(before, []byte(from)) != 1 {
			t.Fatalf("testdata/mutants, line %d: %q stands %d times in %s; expected once", n+1, from, bytes.Count(before, []byte(from)), file)
		}
		out, err := tested(t, file, bytes.Replace(before, []byte(from), []byte(to), 1))
		switch {
		case err == nil:
			t.Errorf("no test notices that %s says %q instead of %q", file, to, from)
		case bytes.Contains(out, []byte("build failed")):
			t.Errorf("testdata/mutants, line %d does not compile:\n%s", n+1, out)
		default:
			killed++
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

// tested runs the tests that need no porcupine, with other content for a file, unless file is empty.
func tested(t *testing.T, file string, content []byte) ([]byte, error) {
	t.Helper()
	replaced := map[string]string{}
	if file != "" {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		replaced[path] = filepath.Join(t.TempDir(), file)
		if err := os.WriteFile(replaced[path], content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(name, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-overlay", name, "-run", "TestFindings|TestOwners|TestDenied|TestAgainstDefinition",
		"-count=1", "-vet=off", "-failfast", "-timeout=5m", ".")
	cmd.Env = append(os.Environ(), "LOCKBENCH_VERIFY=", "SWEEP_HISTORIES=4000")
	return cmd.CombinedOutput()
}
