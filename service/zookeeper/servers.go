package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"lockbench/service"
)

// servers are the running servers of one cluster.
type servers struct {
	topology service.Topology
	host     service.Host
}

// Beside serving they can nothing: ZooKeeper has no order by which a member becomes the
// leader, and forgets a key at nobody's word but its client's.
var _ service.Servers = (*servers)(nil)

// Nodes are all members.
func (g *servers) Nodes() []service.Node { return g.topology.Nodes() }

// Topology is what they form.
func (g *servers) Topology() service.Topology { return g.topology }

// Params are none: addresses say all.
func (g *servers) Params() map[string]string { return nil }

// Lead is nobody: clients are told all members.
func (g *servers) Lead() string { return "" }

// What servers say that they are.
const (
	standalone = "standalone"
	leader     = "leader"
	follower   = "follower"
)

// status is what a server says of itself.
type status struct {
	mode    string
	version string
	zxid    uint64 // of the last transaction; its upper half counts the leaders that there were
}

// status asks a server what it is. One that has no leader says nothing of the kind.
func (g *servers) status(ctx context.Context, node string) (status, error) {
	said, err := g.ask(ctx, node, "srvr")
	if err != nil {
		return status{}, err
	}
	s, err := readStatus(said)
	if err != nil {
		return s, fmt.Errorf("%s %w", node, err)
	}
	return s, nil
}

// readStatus reads what a server says to srvr.
func readStatus(said string) (s status, err error) {
	for line := range strings.Lines(said) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "Zookeeper version":
			s.version, _, _ = strings.Cut(value, "-")
		case "Mode":
			s.mode = value
		case "Zxid":
			if s.zxid, err = strconv.ParseUint(value, 0, 64); err != nil {
				return s, fmt.Errorf("says to srvr: %w", err)
			}
		}
	}
	if s.mode == "" {
		return s, fmt.Errorf("serves nobody: %.80s", strings.TrimSpace(said))
	}
	return s, nil
}

// statuses are those of all servers that serve, by the names of the nodes; err is why
// others do not.
func (g *servers) statuses(ctx context.Context) (map[string]status, error) {
	var mu sync.Mutex
	all := map[string]status{}
	err := service.Each(g.Nodes(), func(n service.Node) error {
		s, err := g.status(ctx, n.Name)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		all[n.Name] = s
		return nil
	})
	return all, err
}

// leads says whether a server takes itself for the leader.
func (s status) leads() bool { return s.mode == leader || s.mode == standalone }

// Leaders are all that take themselves for the leader.
func (g *servers) Leaders(ctx context.Context) []string {
	all, _ := g.statuses(ctx)
	var leaders []string
	for _, n := range g.Nodes() {
		if all[n.Name].leads() {
			leaders = append(leaders, n.Name)
		}
	}
	return leaders
}

// Leader is the one that leads. Of two, the later elected one: the other has not noticed.
func (g *servers) Leader(ctx context.Context) (string, error) {
	if nodes := g.Nodes(); len(nodes) == 1 {
		return nodes[0].Name, nil
	}
	all, err := g.statuses(ctx)
	newest := ""
	for _, n := range g.Nodes() {
		if s := all[n.Name]; s.leads() && (newest == "" || s.zxid>>32 > all[newest].zxid>>32) {
			newest = n.Name
		}
	}
	if newest == "" {
		return "", errors.Join(errors.New("no server takes itself for the leader"), err)
	}
	return newest, nil
}

// Healthy tells what the cluster lacks, asked past all faults.
func (g *servers) Healthy(ctx context.Context) error {
	all, err := g.statuses(ctx)
	if err != nil {
		return err
	}
	leading := ""
	for _, n := range g.Nodes() {
		switch s := all[n.Name]; {
		case s.leads() && leading != "":
			return fmt.Errorf("%s and %s both take themselves for the leader", leading, n.Name)
		case s.leads():
			leading = n.Name
		case s.mode != follower:
			return fmt.Errorf("%s is %s", n.Name, s.mode)
		}
	}
	if leading == "" {
		return errors.New("no server takes itself for the leader")
	}
	if followers := len(g.Nodes()) - 1; followers > 0 {
		return g.followed(ctx, leading, followers)
	}
	return nil
}

// followed is nil if the leader has so many followers that have all it has.
func (g *servers) followed(ctx context.Context, node string, want int) error {
	said, err := g.ask(ctx, node, "mntr")
	if err != nil || denied(said) {
		return err // who does not tell is believed: all others have said that they follow
	}
	for line := range strings.Lines(said) {
		fields := strings.Fields(line)
		if len(fields) == 2 && fields[0] == "zk_synced_followers" {
			// Versions differ in whether they write a fraction.
			if n, err := strconv.ParseFloat(fields[1], 64); err != nil || int(n) != want {
				return fmt.Errorf("%s, the leader, has %s followers in sync, and not %d", node, fields[1], want)
			}
			return nil
		}
	}
	return fmt.Errorf("%s does not say how many followers it has", node)
}

// Form returns when servers that were just started are one cluster.
func (g *servers) Form(ctx context.Context) error { return service.AwaitHealthy(ctx, g) }

// Started and Resumed have nothing to do: a member knows from its files who the others are.
func (g *servers) Started(context.Context, string) error { return nil }
func (g *servers) Resumed(context.Context, string) error { return nil }
