//go:build linux

package docker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lockbench/internal/needs"
)

// TestOrdinaryUser runs tests of this package as a user without rights who is in the group of the daemon's socket.
func TestOrdinaryUser(t *testing.T) {
	cmd := asUser(t, true, "-test.run", "^(TestStartWithAndWithoutData|TestPauseNode)$", "-test.v")
	cmd.Env = append(cmd.Env, "LOCKBENCH_REQUIRE=docker")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestPauseNode") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestUserWithoutPermission: the error explains how to get the permission.
func TestUserWithoutPermission(t *testing.T) {
	cmd := asUser(t, false)
	cmd.Env = append(cmd.Env, harnessEnv+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "join the group docker") {
		t.Errorf("%v, %s", err, out)
	}
}

// asUser returns a command that runs this program as a user without rights, who may be in the group of the daemon's
// socket. The test needs root to change the user.
func asUser(t *testing.T, member bool, args ...string) *exec.Cmd {
	t.Helper()
	w := newWorld(t)
	host := strings.TrimPrefix(w.state.provider.Client().DaemonHost(), "unix://")
	info, err := os.Stat(host)
	if err != nil {
		needs.OrSkip(t, "docker", fmt.Errorf("the daemon's socket is not a file: %w", err))
	}
	group := info.Sys().(*syscall.Stat_t).Gid
	if os.Getuid() != 0 || group == 0 || info.Mode().Perm()&0o066 != 0o060 {
		t.Skipf("this is user %d, and %s belongs to group %d with mode %v: no user can be tried here who is its member only",
			os.Getuid(), host, group, info.Mode())
	}
	// Only root can use the folders of the test.
	dir, err := os.MkdirTemp("", "lockbench-test-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "docker.test")
	if err := errors.Join(os.Chmod(dir, 0o777), copyFile(program, testProgram)); err != nil {
		t.Fatal(err)
	}
	const noRights = 65534
	user := &syscall.Credential{Uid: noRights, Gid: noRights}
	if member {
		user.Groups = []uint32{group}
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir, "HOME=" + dir, "DOCKER_HOST=unix://" + host}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: user}
	return cmd
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
