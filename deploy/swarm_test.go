package deploy

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"lockbench/internal/needs"
)

// image makes the image lockbench, as people do.
func image(t *testing.T, name string) {
	t.Helper()
	err := needs.Programs("docker", "make")
	if err == nil {
		if out, failed := exec.Command("docker", "version").CombinedOutput(); failed != nil {
			err = fmt.Errorf("no Docker daemon: %w: %s", failed, out)
		}
	}
	needs.OrSkip(t, name, err)
	command(t, nil, "make", "-C", "..", "image")
}

// TestImage: lockbench runs in its own image as an ordinary user, and leaves its results.
func TestImage(t *testing.T) {
	image(t, "image")
	size, err := strconv.Atoi(strings.TrimSpace(command(t, nil, "docker", "image", "inspect", "--format", "{{.Size}}", "lockbench")))
	if err != nil || size > 200<<20 {
		t.Errorf("the image has %d bytes, %v", size, err)
	}
	results := shared(t)
	out := command(t, nil, "docker", "run", "--rm", "-v", results+":/results", "lockbench", "run", "failover", "--locks", "no-lock,set-nx", "--episodes", "1", "--seed", "1")
	if !strings.Contains(out, "Exit 0: as expected") || !strings.Contains(out, "world local") {
		t.Errorf("it said:\n%s", out)
	}
	if all, _ := filepath.Glob(filepath.Join(results, "failover", "*", "result.json")); len(all) != 1 {
		t.Errorf("results of %d runs", len(all))
	}
	t.Logf("the image has %d MB", size>>20)
}

// TestImageOfAnotherProcessor checks that the Dockerfile copies the files of the target platform. With
// LOCKBENCH_LONG=1 the file is lockbench, built for arm64, which the test cannot run.
func TestImageOfAnotherProcessor(t *testing.T) {
	err := needs.Programs("docker", "tar")
	if err == nil {
		_, err = exec.Command("docker", "version").Output()
	}
	needs.OrSkip(t, "image", err)
	dir := t.TempDir()
	program := filepath.Join(dir, "bin", "lockbench")
	if err := os.Mkdir(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("LOCKBENCH_LONG") != "" {
		command(t, []string{"GOARCH=arm64", "CGO_ENABLED=0"}, "go", "build", "-ldflags", "-s -w", "-o", program, "lockbench/cmd/lockbench")
		f, err := elf.Open(program)
		if err != nil {
			t.Fatal(err)
		}
		if f.Machine != elf.EM_AARCH64 {
			t.Errorf("the program is for %v", f.Machine)
		}
		_ = f.Close()
	} else if err := os.WriteFile(program, []byte("arm64"), 0o755); err != nil {
		t.Fatal(err)
	}
	command(t, nil, "tar", "-C", dir, "-cf", filepath.Join(dir, "rootfs-arm64.tar"), "bin")
	// The image must not get the files of another platform.
	if err := os.WriteFile(filepath.Join(dir, "rootfs-amd64.tar"), []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	const image = "lockbench-test-arm64"
	command(t, nil, "docker", "build", "--quiet", "--build-arg", "TARGETARCH=arm64", "--tag", image, "-f", "../Dockerfile", dir)
	t.Cleanup(func() { command(t, nil, "docker", "rmi", image) })
	container := strings.TrimSpace(command(t, nil, "docker", "create", image))
	t.Cleanup(func() { command(t, nil, "docker", "rm", container) })
	copied := filepath.Join(dir, "copied")
	command(t, nil, "docker", "cp", container+":/bin/lockbench", copied)
	want, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(copied); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the image has %d bytes of the program, want %d: %v", len(got), len(want), err)
	}
}

// shared is a folder that the image's user may write to.
func shared(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for up := filepath.Dir(dir); strings.HasPrefix(up, filepath.Join(os.TempDir(), "Test")); up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ownDaemon is the shell in whose namespaces a separate Docker daemon runs: its network
// has a loopback alone, what it mounts and keeps is gone with the shell, and so is every process. Its input ends
// with the test, however that ends, and the containers' groups are removed by a daemon that ends in order.
const ownDaemon = `set -e
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /etc/docker || true
ip link set lo up
exec 3<&0
dockerd --host "$1" --data-root /run/data --iptables=false --ip6tables=false &
daemon=$!
{ cat <&3 >/dev/null; kill $daemon; } &
wait $daemon`

// TestSwarm: a job of eight tasks on a swarm of a daemon of its own, one worker of which is killed, says the
// same as one process.
func TestSwarm(t *testing.T) {
	onlyInLong(t)
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	err := needs.Programs("docker", "dockerd", "containerd", "unshare", "ip", "make")
	if err == nil && os.Getuid() != 0 {
		err = errors.New("who starts a daemon must be root")
	}
	if err == nil {
		if out, failed := exec.Command("unshare", "--net", "--mount", "--pid", "--fork", "true").CombinedOutput(); failed != nil {
			err = fmt.Errorf("no namespaces for a daemon: %w: %s", failed, out)
		}
	}
	needs.OrSkip(t, "swarm", err)
	socket := filepath.Join(t.TempDir(), "docker.socket")
	t.Setenv("DOCKER_HOST", "unix://"+socket)
	background(t, nil, "unshare", "--net", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child", "sh", "-c", ownDaemon, "sh", "unix://"+socket)
	await(t, "dockerd", func() (bool, string) {
		out, err := exec.Command("docker", "version").CombinedOutput()
		return err == nil, string(out)
	})
	command(t, nil, "make", "-C", "..", "image")
	command(t, nil, "docker", "swarm", "init", "--advertise-addr", "127.0.0.1", "--listen-addr", "127.0.0.1:2377")
	results := shared(t)
	file, err := filepath.Abs("campaign.yaml")
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"SHARDS=8", "CAMPAIGN=" + file, "RESULTS=" + results, "NAME=lockbench-test"}
	command(t, env, "swarm/campaign.sh")
	killOne(t, results, "/results")
	await(t, "the end of all parts", func() (bool, string) {
		out := commandOutput(nil, "docker", "service", "ps", "--format", "{{.Name}} {{.CurrentState}} {{.Error}}", "lockbench-test")
		return strings.Count(out, " Complete ") >= 8, out
	})
	if out := commandOutput(nil, "docker", "service", "ps", "--format", "{{.CurrentState}}", "lockbench-test"); !strings.Contains(out, "Failed") {
		t.Errorf("no task failed, and one was killed:\n%s", out)
	}
	merged := filepath.Join(results, "merged")
	t.Log(command(t, nil, "docker", "run", "--rm", "--network", "none", "-v", results+":/results", "lockbench", "merge", "/results/matrix/campaign", "--out", "/results/merged"))
	inOneProcess(t, merged)
}
