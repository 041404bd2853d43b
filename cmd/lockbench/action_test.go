package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"lockbench/internal/testing/trialtest"
)

// action is the part of action.yml that a runner uses.
type action struct {
	Inputs map[string]struct {
		Required bool
		Default  string
	}
	Runs struct {
		Using string
		Steps []struct {
			If, Shell, Run, Uses string
			Env                  map[string]string
		}
	}
}

// The steps of the action work on a guest.
func TestActionTriesALock(t *testing.T) {
	trialtest.LocalWorld(t) // or skip
	var a action
	if err := yaml.UnmarshalWithOptions([]byte(read(t, "action/action.yml")), &a); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		with  map[string]string
		code  int
		wants []string // in the summary
	}{
		{"as expected", map[string]string{"expect": "\n  tiny/mine=valid\n", "seed": "7"}, 0, []string{"mine"}},
		{"not as expected", map[string]string{"expect": "mine=violated"}, 1, []string{"mine"}},
		{"a lock of its own", map[string]string{"lock": "set-nx", "world": "sim"}, 0, []string{"set-nx"}},
		{"nothing of it is a command", map[string]string{"expect": "$(touch hacked)"}, 64, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, temp := t.TempDir(), t.TempDir()
			if err := os.Symlink(trialtest.Program(t), filepath.Join(temp, "lockbench")); err != nil {
				t.Fatal(err)
			}
			text := strings.Replace(trialtest.Quietly, "locks: [set-nx]", "locks: [no-lock, set-nx]\nexpect: {no-lock: violated}", 1)
			if err := os.WriteFile(filepath.Join(dir, "tiny.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			with := map[string]string{"lock": "cmd:" + trialtest.Program(t) + " guest set-nx", "scenarios": "./tiny.yaml", "episodes": "1"}
			for name, input := range a.Inputs {
				if _, given := with[name]; !given {
					with[name] = input.Default
				}
			}
			for name, value := range c.with {
				if _, known := a.Inputs[name]; !known {
					t.Fatalf("the action has no input %s", name)
				}
				with[name] = value
			}
			code, steps := 0, 0
			for _, s := range a.Runs.Steps {
				if s.Run == "" || fromElsewhere.MatchString(s.Run) || code != 0 && s.If != "always()" {
					continue
				}
				steps++
				if s.Shell != "bash" || strings.Contains(s.Run, "${{") {
					t.Errorf("a step of the shell %q has an input of the action in its text: %s", s.Shell, s.Run)
				}
				cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "RUNNER_TEMP="+temp, "GITHUB_ACTION_PATH="+top+"action",
					"GITHUB_OUTPUT="+filepath.Join(dir, "output"), "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary"))
				for name, value := range s.Env {
					for input, is := range with {
						value = strings.ReplaceAll(value, fmt.Sprintf("${{ inputs.%s }}", input), is)
					}
					if strings.Contains(value, "${{") {
						t.Errorf("%s: %s is nothing that the action takes", name, value)
					}
					cmd.Env = append(cmd.Env, name+"="+value)
				}
				out, _ := cmd.CombinedOutput() // the exit code is looked at
				t.Logf("%s\n%s", s.Run, out)
				if now := cmd.ProcessState.ExitCode(); code == 0 {
					code = now
				}
			}
			summary, _ := os.ReadFile(filepath.Join(dir, "summary"))
			if code != c.code || steps < 3 {
				t.Errorf("it ends with %d after %d steps, want %d", code, steps, c.code)
			}
			for _, want := range c.wants {
				if !strings.Contains(string(summary), want) {
					t.Errorf("the summary lacks %q:\n%s", want, summary)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "hacked")); err == nil {
				t.Error("an input was run")
			}
			if output, _ := os.ReadFile(filepath.Join(dir, "output")); string(output) != "results=results/matrix\n" {
				t.Errorf("its output is %q", output)
			}
		})
	}
}
