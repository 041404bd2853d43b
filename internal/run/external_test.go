//go:build linux

package run

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/testing/sitetest"
	"lockbench/internal/testing/trialtest"
	"lockbench/locks"
)

// sites are the external servers on which scenarios run, one set of each kind. One set requires passwords and TLS. One
// scenario of each set is short enough for every test run.
var sites = []struct {
	topology locks.Topology
	secret   string
	tls      bool
	daily    string
}{
	{locks.Sentinel, "s3cr3t-of-the-site", true, "failover"},
	{locks.Cluster, "", false, "pause-client"},
}

// Locks behave on external servers that hooks break as they do on lockbench's own servers. Afterwards the owner's keys are
// still there, lockbench's keys are gone, and no file contains the password.
func TestScenariosOnExternalServers(t *testing.T) {
	for _, on := range sites {
		t.Run(string(on.topology), func(t *testing.T) {
			t.Parallel()
			var certs *redistest.Certs
			if on.tls {
				certs = redistest.NewCerts(t, time.Now().Add(time.Hour))
			}
			site := redistest.NewSite(t, on.topology, on.secret, certs)
			args := []string{"--servers", site.URL(), "--hooks", site.Hooks(), "--locks", "no-lock,set-nx", "--seed", "42", "--keys", "1"}
			if on.tls {
				args = append(args, "--tls-ca", certs.CA, "--tls-cert", certs.Client.Cert, "--tls-key", certs.Client.Key, "--tls-name", redistest.CertName)
			}
			keep := keptKeys(t, site)
			for _, scenario := range []string{"failover", "pause-client"} {
				t.Run(scenario, func(t *testing.T) {
					if scenario != on.daily && os.Getenv("LOCKBENCH_LONG") == "" {
						t.Skip("takes half a minute; set LOCKBENCH_LONG=1")
					}
					out := t.TempDir()
					cmd := exec.CommandContext(t.Context(), trialtest.Program(t), append([]string{"run", scenario, "--episodes", "1", "--out", out}, args...)...)
					cmd.Env = append(os.Environ(), "LOCKBENCH_REDIS_PASSWORD="+on.secret)
					said, err := cmd.CombinedOutput()
					if err != nil && !sitetest.Pointless(err, said) {
						t.Errorf("%v, want exit code 0:\n%s", err, said)
					}
					bundle, err := report.Load(filepath.Join(out, report.LatestLink))
					if err != nil {
						t.Fatal(err)
					}
					for _, l := range bundle.Result.Locks {
						if l.Error != "" || l.Unsupported != "" {
							t.Errorf("%s: %s%s", l.Lock, l.Error, l.Unsupported)
						}
					}
					if on.secret != "" {
						sitetest.Absent(t, out, on.secret)
					}
					keep()
				})
			}
		})
	}
}

// Commands that do several runs, and scenarios that need capabilities, also work on external servers.
func TestCommandsOnExternalServers(t *testing.T) {
	site := redistest.NewSite(t, locks.Single, "", nil)
	keep := keptKeys(t, site)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"quietly.yaml": trialtest.Quietly,
		"nightly.yaml": "lockbench: campaign/1\nworlds: [external]\nservers: [" + site.URL() + "]\nhooks: hooks.yaml\nscenarios: [" + filepath.Join(dir, "quietly.yaml") + "]\n",
		"hooks.yaml":   "hooks: {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(want string, words ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), trialtest.Program(t), words...)
		cmd.Dir = filepath.Dir(dir)
		said, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(said), want) {
			t.Errorf("%q: %v, want exit code 0 and %q:\n%s", words, err, want, said)
		}
		keep()
	}
	run("world external, redis ", "matrix", "--servers", site.URL(), "--scenarios", filepath.Join(dir, "quietly.yaml"), "--out", dir)
	made, _ := filepath.Glob(filepath.Join(dir, "matrix", "*-*"))
	if len(made) != 1 {
		t.Fatalf("the matrix has left %q", made)
	}
	again, err := os.ReadFile(filepath.Join(made[0], "campaign.json"))
	if err != nil || !strings.Contains(string(again), "--servers "+site.URL()) {
		t.Errorf("the command that repeats a run does not name the servers: %v", err)
	}
	run("world external, redis ", "matrix", "--resume", made[0]) // the servers come from matrix.yaml
	run("1 run asked for, 1 run, 1 of these as expected", "matrix", "--file", filepath.Join(dir, "nightly.yaml"), "--out", dir)
	if os.Getenv("LOCKBENCH_LONG") == "" {
		return // the rest is slow
	}
	run("", "conform", "set-nx", "--servers", site.URL())
}

// TestStrayKeysOnExternalServers: keys that a guest makes under names of its own are noted, and not removed.
func TestStrayKeysOnExternalServers(t *testing.T) {
	site := redistest.NewSite(t, locks.Single, "", nil)
	program := trialtest.Program(t)
	scenario := filepath.Join(t.TempDir(), "quietly.yaml")
	if err := os.WriteFile(scenario, []byte(trialtest.Quietly), 0o644); err != nil {
		t.Fatal(err)
	}
	host, port, _ := strings.Cut(strings.TrimPrefix(site.URL(), "redis://"), ":")
	out := t.TempDir()
	command := fmt.Sprintf("redis-cli -h %s -p %s SET astray:$$ 1 >&2; exec %s guest set-nx", host, port, program)
	cmd := exec.CommandContext(t.Context(), program, "run", scenario, "--servers", site.URL(), "--seed", "1", "--locks", "no-lock,set-nx,mine=cmd:"+command, "--out", out)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, said)
	}
	bundle, err := report.Load(filepath.Join(out, report.LatestLink))
	if err != nil {
		t.Fatal(err)
	}
	for lock, want := range map[string]bool{"mine": true, "set-nx": false} {
		notes := strings.Join(bundle.Result.Find(lock).Notes, "\n")
		if strings.Contains(notes, `lockbench does not remove them: ["astray:`) != want {
			t.Errorf("notes of %s: %q, want a note on its key: %t", lock, notes, want)
		}
	}
	if n, err := site.Ask(t.Context(), site.Topology.Nodes()[0].Name, "DBSIZE"); err != nil || n == ":0" {
		t.Errorf("the keys are gone: %v, %v", n, err)
	}
}

// keptKeys writes an owner's key to each master. It returns a function that checks that masters have the owner's keys and
// none of lockbench's.
func keptKeys(t *testing.T, site *redistest.Site) func() {
	t.Helper()
	owned := 0
	for _, n := range site.Topology.Nodes() {
		for i := range 200 { // one of the names belongs to this node if it is a master
			if said, _ := site.Ask(t.Context(), n.Name, "SET", "owner:"+string(rune('a'+i)), "1"); said == "+OK" {
				owned++
				break
			}
		}
	}
	if owned == 0 {
		t.Fatal("no server accepted a key")
	}
	return func() {
		t.Helper()
		looked := 0
		for _, n := range site.Topology.Nodes() {
			if role, _ := site.Ask(t.Context(), n.Name, "ROLE"); role != "*3" {
				continue // not a master
			}
			if size, err := site.Ask(t.Context(), n.Name, "DBSIZE"); err != nil || size == ":0" {
				t.Errorf("%s lost its owner's key: DBSIZE returns %s (%v)", n.Name, size, err)
			}
			if left, err := site.Ask(t.Context(), n.Name, "KEYS", "*lockbench*"); err != nil || left != "*0" {
				t.Errorf("keys of lockbench at %s: %s (%v), want none", n.Name, left, err)
			}
			looked++
		}
		if looked == 0 {
			t.Error("no master was checked")
		}
	}
}

// After kill -9 in the middle of a hook's fault, the next run and doctor name the file with the undo commands.
func TestKilledWithPendingHook(t *testing.T) {
	state := t.TempDir()
	site := redistest.NewSite(t, locks.Single, "", nil)
	out := t.TempDir()
	scenario := filepath.Join(t.TempDir(), "endless.yaml")
	text := strings.Replace(trialtest.Quietly, "faults: none", "faults:\n  - {pause: master, when: acquired, for: 10m}", 1)
	if err := os.WriteFile(scenario, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	lockbench := func(words ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), trialtest.Program(t), append(words, "--servers", site.URL(), "--hooks", site.Hooks())...)
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state)
		return cmd
	}
	run := func() *exec.Cmd { return lockbench("run", scenario, "--out", out) }
	harness := run()
	harness.Stderr = os.Stderr
	if err := harness.Start(); err != nil {
		t.Fatal(err)
	}
	waitForText(t, out, `"phase":"bites"`)
	if err := harness.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = harness.Wait() // it was killed
	files, err := filepath.Glob(filepath.Join(out, "*", "*", "set-nx", "logs", "owed.sh"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no file with undo commands: %v", err)
	}
	file, err := filepath.EvalSymlinks(files[0])
	if err != nil {
		t.Fatal(err)
	}
	undo := "sh " + file
	for name, cmd := range map[string]*exec.Cmd{"run": run(), "doctor": lockbench("doctor")} {
		said, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != report.ExitHarness || !strings.Contains(string(said), undo) {
			t.Errorf("%s: %v, want exit code 3 and %q:\n%s", name, err, undo, said)
		}
	}
	if said, err := exec.CommandContext(t.Context(), "sh", file).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", undo, err, said)
	}
	if said, err := lockbench("doctor").CombinedOutput(); strings.Contains(string(said), file) {
		t.Errorf("doctor: %v, want nothing about %s:\n%s", err, file, said)
	}
}
