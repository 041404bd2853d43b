//go:build unix

package guests

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/needs"
)

// kits are the examples that authors of a lock start from. scripts/guests builds a copy of each in build/guests/LANGUAGE/kit.
var kits = []string{"java", "node", "rust"}

// kitCommand returns the command by which the README of a kit starts its guest, and fails unless it is the same in all commands.
func kitCommand(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile("../examples/" + language + "-guest/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range []string{"steady", "failover"} {
		if !strings.Contains(string(text), "\nlockbench run "+scenario+" ") {
			t.Errorf("the README of the kit for %s does not run %s", language, scenario)
		}
	}
	var commands []string
	for _, found := range regexp.MustCompile(`mine=cmd:([^']+)'`).FindAllStringSubmatch(string(text), -1) {
		commands = append(commands, found[1])
	}
	if commands = slices.Compact(commands); len(commands) != 1 {
		t.Fatalf("the README of the kit for %s starts its guest by %q, want one command", language, commands)
	}
	return commands[0]
}

// Each kit keeps clients apart without faults, and loses the lock in a failover, as every lock on one master does. The
// commands are those of the READMEs. All kits run under one plan: an episode may show nothing, so one violation is enough.
func TestKits(t *testing.T) {
	var names, locks []string
	for _, language := range kits {
		t.Run(language, func(t *testing.T) {
			need(t, language+"/kit")
			command := kitCommand(t, language)
			here := strings.ReplaceAll(command, "examples/"+language+"-guest", filepath.Join(mustAbs(t, built), language, "kit"))
			if here == command {
				t.Fatalf("the command %q does not name its folder", command)
			}
			names, locks = append(names, language), append(locks, language+"=cmd:"+here)
		})
	}
	if len(locks) == 0 {
		needs.OrSkip(t, "guests", errors.New("no kit is built: scripts/guests builds them"))
	}
	needServer(t)
	for scenario, allowed := range map[string][]string{"steady": {"valid"}, "failover": {"valid", "double-grant"}} {
		t.Run(scenario, func(t *testing.T) {
			dir := t.TempDir()
			out, code := run(t, install(t, ""), nil, "run", scenario, "--world", "local", "--seed", "1", "--episodes", "1",
				"--locks", "no-lock,"+strings.Join(locks, ","), "--out", dir)
			t.Logf("exit %d:\n%s", code, out)
			got := verdicts(t, dir)
			broken := 0
			for _, name := range names {
				if !slices.Contains(allowed, got[name]) {
					t.Errorf("%s is %q, want %q", name, got[name], allowed)
				}
				if got[name] == "double-grant" {
					broken++
				}
			}
			if scenario == "failover" && broken == 0 {
				t.Error("no kit lost its lock")
			}
		})
	}
}
