package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"lockbench/internal/campaign"
	"lockbench/internal/testing/trialtest"
)

// fromElsewhere are the lines of workflows that prepare a machine. The test has a prepared one.
var fromElsewhere = regexp.MustCompile(`^(sudo )?apt-get |^bash scripts/setup$|^git clone|^go build|^make build$|lockbench doctor( --images redis)?$`)

// pipeline is the content of a workflow file: the commands of the shards and of the following steps.
type pipeline struct {
	parts, after []string
	of           int
	file         string
	// part returns the environment variables of a shard.
	part func(i int) []string
}

// githubNightly reads the workflow of this repository.
func githubNightly(t *testing.T) pipeline {
	t.Helper()
	type job struct {
		Strategy struct{ Matrix struct{ Part []int } }
		Steps    []struct{ Run string }
	}
	var w struct{ Jobs map[string]job }
	if err := yaml.Unmarshal([]byte(read(t, ".github/workflows/nightly.yml")), &w); err != nil {
		t.Fatal(err)
	}
	lines := func(j job) (all []string) {
		for _, s := range j.Steps {
			if s.Run != "" {
				all = append(all, strings.NewReplacer("${{ matrix.part }}", "${PART}", "${{ github.run_number }}", "${NIGHT}").Replace(s.Run))
			}
		}
		return all
	}
	return pipeline{
		parts: lines(w.Jobs["part"]), after: lines(w.Jobs["report"]), of: len(w.Jobs["part"].Strategy.Matrix.Part), file: ".github/nightly.yaml",
		part: func(i int) []string { return []string{fmt.Sprintf("PART=%d", i)} },
	}
}

// gitlabNightly reads the example for GitLab.
func gitlabNightly(t *testing.T) pipeline {
	t.Helper()
	type job struct {
		Parallel int
		Script   []string
	}
	var w struct{ Part, Night job }
	if err := yaml.Unmarshal([]byte(read(t, "examples/ci/gitlab-nightly.yml")), &w); err != nil {
		t.Fatal(err)
	}
	return pipeline{
		parts: w.Part.Script, after: w.Night.Script, of: w.Part.Parallel, file: "nightly.yaml",
		part: func(i int) []string {
			return []string{fmt.Sprintf("CI_NODE_INDEX=%d", i), fmt.Sprintf("CI_NODE_TOTAL=%d", w.Part.Parallel)}
		},
	}
}

// TestNightlyWorkflows runs the commands of both files for several nights, with a campaign of one scenario and two seeds.
// The test keeps and passes on the folders as the engines do.
func TestNightlyWorkflows(t *testing.T) {
	for name, of := range map[string]func(*testing.T) pipeline{"github": githubNightly, "gitlab": gitlabNightly} {
		t.Run(name, func(t *testing.T) {
			p := of(t)
			dir := t.TempDir()
			at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
			put := func(name, text string) {
				t.Helper()
				if err := errors.Join(os.MkdirAll(filepath.Dir(at(name)), 0o755), os.WriteFile(at(name), []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			for _, link := range []string{"lockbench", "build/lockbench"} {
				_ = os.MkdirAll(filepath.Dir(at(link)), 0o755)
				if err := os.Symlink(trialtest.Program(t), at(link)); err != nil {
					t.Fatal(err)
				}
			}
			put(p.file, "lockbench: campaign/1\nworlds: [sim]\nscenarios: [./tiny.yaml]\nseeds: 2\n")
			run := func(line string, env ...string) int {
				t.Helper()
				if fromElsewhere.MatchString(line) {
					return 0
				}
				cmd := exec.Command("bash", "-e", "-c", line)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), append(env, "GITHUB_STEP_SUMMARY="+at("summary.md"))...)
				out, err := cmd.CombinedOutput()
				if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
					t.Fatal(err)
				}
				t.Logf("%s\n%s", line, out)
				return cmd.ProcessState.ExitCode()
			}
			night := func(n int, scenario string, wantCode int, wants string) {
				t.Helper()
				put("tiny.yaml", scenario)
				for _, gone := range []string{"part", "parts", "night", "summary.md"} {
					if err := os.RemoveAll(at(gone)); err != nil {
						t.Fatal(err)
					}
				}
				nights := []string{fmt.Sprintf("NIGHT=%d", n), fmt.Sprintf("CI_PIPELINE_IID=%d", n)}
				for i := 1; i <= p.of; i++ {
					for _, line := range p.parts {
						if code := run(line, append(nights, p.part(i)...)...); code != 0 {
							t.Errorf("night %d, part %d: exit code %d of %s", n, i, code, line)
						}
					}
				}
				if name == "github" { // artifacts have what is below the folder of the campaign
					if code := run("mkdir -p parts && for p in part/matrix/nightly/*; do mkdir parts/${p##*/} && mv $p parts/${p##*/}/; done"); code != 0 {
						t.Fatal("the parts are not handed on")
					}
				}
				code := 0
				for _, line := range p.after {
					if code == 0 {
						code = run(line, nights...)
					}
				}
				summary, err := os.ReadFile(at("summary.md"))
				if code != wantCode || err != nil || !strings.HasPrefix(string(summary), wants) {
					t.Errorf("night %d ends with %d, want %d; its summary should begin with %q, and is (%v)\n%s", n, code, wantCode, wants, err, summary)
				}
				if figures := readFile(t, at("kept/"+campaign.NightsFile)); strings.Count(figures, ",tiny,") != n {
					t.Errorf("after night %d there are %s", n, figures)
				}
			}
			night(1, trialtest.Quietly, 0, "# lockbench: no green one to compare with yet\n")
			if name == "gitlab" { // what comes after the parts is the same, and was tried with the other
				night(2, strings.Replace(trialtest.Breaking, "episodes: 6", "episodes: 2", 1), 1, "# lockbench: 1 change for the worse\n")
				return
			}
			night(2, trialtest.Quietly, 0, "# lockbench: nothing changed\n")
			night(3, strings.Replace(trialtest.Breaking, "episodes: 6", "episodes: 2", 1), 1,
				"# lockbench: 1 change for the worse\n\n```\nbefore  ")
			if text := readFile(t, at("summary.md")); !strings.Contains(text, "✗ tiny, set-nx: verdict was valid, is violated ") || !strings.Contains(text, "This one is not green") {
				t.Errorf("it says\n%s", text)
			}
			// The night that was worse is not what the next is compared with.
			night(4, trialtest.Quietly, 0, "# lockbench: nothing changed\n")
		})
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
