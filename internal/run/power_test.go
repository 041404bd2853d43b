package run

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/needs"
	"lockbench/internal/testing/trialtest"
	"lockbench/internal/world/unsynced"
)

// Without the right to mount, a lock gets no verdict, and the reason says what helps.
func TestPowerLossWithoutRights(t *testing.T) {
	trialtest.LocalWorld(t) // or skip
	needs.OrSkip(t, "fuse", unsynced.Ready())
	err := needs.Programs("setpriv")
	if os.Geteuid() != 0 {
		err = errors.New("only root can drop the right to mount")
	}
	needs.OrSkip(t, "mount", err)
	cmd := exec.Command("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-all", trialtest.Program(t), "run", "power-loss", "--world", "local",
		"--seed", "1", "--episodes", "1", "--locks", "set-nx", "--out", t.TempDir())
	text, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code == 0 || code == 1 {
		t.Errorf("exit code %d, %v", code, err)
	}
	if said := strings.Join(strings.Fields(string(text)), " "); !strings.Contains(said, "docker run --cap-add SYS_ADMIN") || strings.Contains(said, "violated") {
		t.Errorf("it says\n%s", text)
	}
}

// Redis loses its power in each episode, the history says what that took, and nothing stays mounted. With always it
// forgets no grant.
func TestPowerLoss(t *testing.T) {
	trialtest.LocalWorld(t) // or skip
	needs.OrSkip(t, "fuse", unsynced.Ready())
	out, tmp := t.TempDir(), t.TempDir()
	cmd := exec.Command(trialtest.Program(t), "run", "power-loss-durable", "--world", "local", "--seed", "1", "--episodes", "2",
		"--locks", "no-lock,set-nx", "--out", out)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	files := must(filepath.Glob(filepath.Join(out, "*", "*", "set-nx", "history.jsonl")))
	if len(files) != 1 {
		t.Fatalf("%d histories", len(files))
	}
	h, _, err := readJudged(files[0], checker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lost := regexp.MustCompile(`^redis-1 \(nodes\) gone; redis-1 lost \d+ unsynced bytes of \d+ files, and the unsynced of two markers$`)
	took := 0
	for _, f := range h.Faults {
		if !lost.MatchString(f.Text) || f.Bites < 0 || !strings.Contains(strings.Join(f.Effect, " "), history.EffectData) {
			t.Errorf("%q with the effects %q, in effect at %d", f.Text, f.Effect, f.Bites)
		}
		took++
	}
	if took != 2 {
		t.Errorf("%d faults in 2 episodes", took)
	}
	if left := disksBelow(tmp); len(left) > 0 {
		t.Errorf("still mounted: %q", left)
	}
}
