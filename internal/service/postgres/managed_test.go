//go:build linux

package postgres

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/internal/needs"
	"lockbench/internal/service"
	"lockbench/internal/testing/servicetest"
	"lockbench/internal/world"
	"lockbench/internal/world/local"
	"lockbench/locks"
)

var managed = servicetest.Managed{
	Service: Service,
	Write:   "CREATE TABLE mark (n INT)",
	Read:    "INSERT INTO mark VALUES (1)",
}

func TestSingle(t *testing.T)  { managed.Restarts(t) }
func TestManaged(t *testing.T) { managed.FailsOver(t) }

// TestClosedFolder has a folder for data that the server's user may not enter. The error comes before anything is started.
func TestClosedFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root starts the server as another user")
	}
	shut := filepath.Join(t.TempDir(), "shut")
	if err := os.Mkdir(shut, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", shut)
	w := local.New(local.Options{Services: []*service.Service{Service}})
	needs.OrSkip(t, Name, w.Ready(t.Context()))
	form, _ := service.Find(Service, locks.Single)
	err := w.Run(t.Context(), world.Spec{Service: Service, Topology: form, Clients: 1}, func(context.Context, world.Cluster) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "set TMPDIR") {
		t.Errorf("got error %v", err)
	}
}
