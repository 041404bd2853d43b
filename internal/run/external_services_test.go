//go:build linux

package run

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/internal/trial/trialtest"
	"lockbench/internal/world/external/sitetest"
	"lockbench/locks"
	"lockbench/service"
	"lockbench/service/zookeeper"
)

// foreignServices are those of somebody else's on which scenarios are run, and the locks of
// lockbench in each. What is not for every day takes half a minute.
var foreignServices = []struct {
	service  service.Service
	topology locks.Topology
	scheme   string
	daily    bool
	runs     [][2]string // scenario and locks
	apart    func(t *testing.T, site *sitetest.Site)
}{
	{zookeeper.Service{}, locks.Single, "zookeeper://", true, [][2]string{{"kill-holder", "no-lock,zk-recipe"}}, zookeeperApart},
	{zookeeper.Service{}, zookeeper.Quorum, "zookeeper://", false, [][2]string{
		{"leader-kill", "no-lock,zk-recipe"}, {"failover", "no-lock,zk-recipe"}, {"steady", "no-lock,zk-recipe"}, {"handoff", "no-lock,zk-lock"},
	}, nil},
}

// On servers of other services, broken by hooks, locks do what they do on lockbench's own.
func TestServicesOfSomebodyElse(t *testing.T) {
	for _, on := range foreignServices {
		t.Run(on.service.Name()+"/"+string(on.topology), func(t *testing.T) {
			if !on.daily && os.Getenv("LOCKBENCH_LONG") == "" {
				t.Skip("it takes minutes: LOCKBENCH_LONG=1")
			}
			site := sitetest.New(t, on.service, on.topology, "")
			for _, run := range on.runs {
				t.Run(run[0], func(t *testing.T) {
					site.Run(t, trialtest.Program(t), run[0], on.scheme+site.Hosts(), "--locks", run[1])
				})
			}
			if on.apart != nil {
				on.apart(t, site)
			}
		})
	}
}

// refused wants doctor to refuse servers, for reasons.
func refused(t *testing.T, servers string, want ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), trialtest.Program(t), "doctor", "--servers", servers)
	said, _ := cmd.CombinedOutput()
	for _, text := range append(want, "nothing was changed there") {
		if code := cmd.ProcessState.ExitCode(); code != 3 || !strings.Contains(string(said), text) {
			t.Errorf("doctor ends with %d, want 3 and %q:\n%s", code, text, said)
		}
	}
}

// Nodes of somebody else's are told from those of a run, and left alone, wherever they are.
func zookeeperApart(t *testing.T, site *sitetest.Site) {
	c, _, err := zk.Connect([]string{site.Hosts()}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, path := range []string{"/apps", "/apps/of-lockbench:7:a", "/apps/of-lockbench:7:a/child", "/apps/lockbench"} {
		if _, err := c.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(path, err)
		}
	}
	url := "zookeeper://" + site.Hosts()
	refused(t, url, `"/apps/of-lockbench:7:a"`, "zkCli.sh")
	if n, err := site.Foreign(t, url, "lockbench:8:").Clear(t.Context()); n != 0 || err != nil {
		t.Errorf("of another run %d nodes were removed (%v)", n, err)
	}
	if n, err := site.Foreign(t, url, "lockbench:7:").Clear(t.Context()); n != 2 || err != nil {
		t.Errorf("%d nodes were removed (%v), want 2", n, err)
	}
	if kids, _, err := c.Children("/apps"); err != nil || !slices.Equal(kids, []string{"lockbench"}) {
		t.Errorf("of the owner's nodes there are %q (%v)", kids, err)
	}
}
