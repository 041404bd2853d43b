//go:build unix

package guests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/internal/needs"
)

// pathOf returns a PATH on which scripts/guests finds its own tools and some programs of shell script.
func pathOf(t *testing.T, programs map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, tool := range []string{"bash", "sh", "cat", "cp", "cut", "dirname", "env", "find", "grep", "mkdir", "mv", "rm", "sed", "sha256sum", "sort", "xargs"} {
		found, err := exec.LookPath(tool)
		needs.OrSkip(t, "guests", err)
		if err := os.Symlink(found, filepath.Join(dir, tool)); err != nil {
			t.Fatal(err)
		}
	}
	for name, script := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return "PATH=" + dir
}

// scripts/guests gives a reason in one line for each guest that it cannot build, and tries the others.
func TestBuildReasons(t *testing.T) {
	for name, test := range map[string]struct {
		programs map[string]string
		code     int
		want     []string
	}{
		"no tools": {nil, 0, []string{
			"guests/java: no mvn found, not built (on Debian or Ubuntu: apt-get install maven default-jdk-headless)",
			"guests/node: no node found, not built (on Debian or Ubuntu: apt-get install nodejs npm)",
			"guests/python: no python3 of 3.10 or newer with venv found, not built (on Debian or Ubuntu: apt-get install python3-venv)",
			"guests/rust: no cargo found, not built (on Debian or Ubuntu: apt-get install cargo)",
		}},
		"old Node": {map[string]string{"node": "test $1 = -p && echo 16 || echo v16.20.0", "npm": "exit 1"}, 0, []string{
			"guests/node: node is v16.20.0, not built (the libraries need Node 18 or newer)",
		}},
		"no network": {map[string]string{
			"mvn": "echo '[ERROR] ... Unknown host repo: Temporary failure in name resolution'; exit 1", "java": "", "javac": "",
			"npm": "echo 'npm error code EAI_AGAIN' >&2; exit 1", "node": "echo 20",
			"python3": "echo 'NewConnectionError: Failed to establish a new connection: Temporary failure in name resolution'; test \"$1\" = -c",
		}, 1, []string{
			"guests/java: redisson 4.7.0 was not built: its registry of packages cannot be reached",
			"guests/java: redisson 3.13.6 was not built: its registry of packages cannot be reached",
			"guests/node: npm was not built: its registry of packages cannot be reached",
			"guests/python: pypi was not built: its registry of packages cannot be reached",
		}},
		"no such version": {map[string]string{
			"mvn":  `case "$*" in *3.13.6*) echo "[ERROR] Could not find artifact org.redisson:redisson:jar:3.13.6"; exit 1; esac`,
			"java": "", "javac": "", "npm": "", "node": "echo 20", "python3": "exit 1",
		}, 1, []string{
			"guests/java: redisson 3.15.6 built",
			"guests/java: redisson 3.13.6 was not built: [ERROR] Could not find artifact org.redisson:redisson:jar:3.13.6",
			"guests/node: npm built",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			out, code := run(t, mustAbs(t, "../scripts/guests"), []string{pathOf(t, test.programs), "GUESTS=" + t.TempDir()})
			if code != test.code {
				t.Errorf("exit %d, want %d:\n%s", code, test.code, out)
			}
			for _, want := range test.want {
				if !strings.Contains(out, want) {
					t.Errorf("it does not print %q:\n%s", want, out)
				}
			}
		})
	}
}
