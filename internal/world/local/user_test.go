//go:build linux

package local

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"lockbench/internal/service"
	"lockbench/internal/service/mariadb"
	"lockbench/internal/world"
	"lockbench/locks"
)

// ordinaryEnv marks the process of a test that runs as an ordinary user.
const ordinaryEnv = "LOCKBENCH_TEST_ORDINARY"

// noRights is the UID of a user without rights on any system.
const noRights = 65534

// TestMariaDBOfAnOrdinaryUser checks that MariaDB starts for a user who is not root. If root runs the test, it repeats
// the test as such a user.
func TestMariaDBOfAnOrdinaryUser(t *testing.T) {
	w := New(Options{Services: []*service.Service{mariadb.Service}, Self: []string{os.Args[0]}})
	if err := w.Ready(t.Context()); err != nil {
		if strings.Contains(os.Getenv("LOCKBENCH_REQUIRE"), "local") {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	if os.Geteuid() == 0 {
		asNobody(t)
		return
	}
	on, _ := service.Find(mariadb.Service, locks.Single)
	s := world.Spec{Service: mariadb.Service, Topology: on, LogDir: t.TempDir()}
	err := w.Run(t.Context(), s, func(ctx context.Context, c world.Cluster) error {
		return c.Healthy(ctx)
	})
	if err != nil {
		t.Error(err)
	}
}

// asNobody runs the test that calls it in a process of an ordinary user.
func asNobody(t *testing.T) {
	if os.Getenv(ordinaryEnv) != "" {
		t.Fatal("the process of an ordinary user is root's")
	}
	// Only root can use the folders of go test and of testing.
	dir, err := os.MkdirTemp("", "lockbench-ordinary-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "local.test")
	if err := os.WriteFile(copied, program, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, noRights, noRights); err != nil {
		t.Skip(err) // root in a container need not have all rights
	}
	cmd := exec.CommandContext(t.Context(), copied, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, guestEnv+"=") }),
		ordinaryEnv+"=1", "TMPDIR="+dir, "HOME="+dir)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: noRights, Gid: noRights}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as user %d: %v\n%s", noRights, err, out)
	}
}
