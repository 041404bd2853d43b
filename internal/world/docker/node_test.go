//go:build linux

package docker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"regexp"
	"sync"
	"testing"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	"lockbench/service"
	"lockbench/service/redis"
)

// boxed is a container by name only, and filesOnly a daemon that takes files for it.
type (
	boxed     struct{ testcontainers.Container }
	filesOnly struct{ client.APIClient }
)

func (boxed) GetContainerID() string { return "box" }

func (filesOnly) CopyToContainer(_ context.Context, _ string, o client.CopyToContainerOptions) (client.CopyToContainerResult, error) {
	_, err := io.Copy(io.Discard, o.Content)
	return client.CopyToContainerResult{}, err
}

// newBoxed is a node in such a container. Every command of its shell succeeds and prints 7.
func newBoxed(t *testing.T) *node {
	t.Helper()
	ours, theirs := net.Pipe()
	out, in := io.Pipe()
	s := &shell{conn: client.HijackedResponse{Conn: ours}, waiting: map[string]chan<- answer{}}
	go s.listen(out)
	go func() {
		id := regexp.MustCompile(`set -f; echo (\d+) \$rc`)
		for lines := bufio.NewScanner(theirs); lines.Scan(); {
			if m := id.FindStringSubmatch(lines.Text()); m != nil {
				fmt.Fprintf(in, "%s 0 7\n", m[1])
			}
		}
	}()
	t.Cleanup(func() { s.close(errors.New("the test is over")); in.Close() })
	c := &Cluster{api: filesOnly{}}
	c.Spec.Service = redis.Service{}
	on, _ := service.Find(redis.Service{}, redis.Replicated)
	n := &node{Node: on.Nodes()[0], cluster: c, container: boxed{}, shell: s}
	n.place = service.Place{Node: n.Node, Topology: on, Config: folder, Data: dataDir}
	n.program = c.Spec.Service.Program(n.place)
	return n
}

// TestFollowWhileLaunching: a failover manager changes the leader of a node while a fault starts it. The race
// detector reports it if they do not wait for each other.
func TestFollowWhileLaunching(t *testing.T) {
	n := newBoxed(t)
	leader := netip.MustParseAddrPort("10.0.0.1:6379")
	var all sync.WaitGroup
	for _, do := range []func() error{
		func() error { n.setPID(""); return n.Launch(t.Context(), false) },
		func() error { return n.Follow(t.Context(), &leader) },
		func() error { return n.Rejoin(t.Context()) },
	} {
		all.Go(func() {
			for range 100 { // or the locks of the shell may keep them apart by chance
				if err := do(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n.place.Leader == nil || !n.place.Rejoins || n.process() != "7" {
		t.Errorf("the node ended with the leader %v, rejoins %t, process %q", n.place.Leader, n.place.Rejoins, n.process())
	}
}
