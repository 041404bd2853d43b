package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"lockbench/internal/service"
)

// servers are the running servers of one cluster. They have no optional abilities: no command changes
// the leader, and only its client deletes a node that goes with a session.
type servers struct{ *service.Cluster }

var _ service.Servers = (*servers)(nil)

func newServers(t service.Topology, h service.Host) *servers {
	g := new(servers)
	g.Cluster = service.NewCluster(t, h, g.state)
	return g
}

// Modes of servers.
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

// state asks a server for its mode. A server without a leader reports none.
func (g *servers) state(ctx context.Context, node string) (service.State, error) {
	said, err := g.ask(ctx, node, "srvr")
	if err != nil {
		return service.State{}, err
	}
	s, err := readStatus(said)
	if err != nil {
		return service.State{}, fmt.Errorf("%s %w", node, err)
	}
	state := service.State{Leads: s.mode == leader || s.mode == standalone, Term: s.zxid >> 32}
	if !state.Leads && s.mode != follower {
		state.Lacks = errors.New("is " + s.mode)
	}
	return state, nil
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
		return s, fmt.Errorf("serves no clients: %.80s", strings.TrimSpace(said))
	}
	return s, nil
}

// Healthy also checks that the followers have all that the leader has.
func (g *servers) Healthy(ctx context.Context) error {
	if err := g.Cluster.Healthy(ctx); err != nil {
		return err
	}
	leader, err := g.Leader(ctx)
	if followers := len(g.Nodes()) - 1; err == nil && followers > 0 {
		err = g.followed(ctx, leader, followers)
	}
	return err
}

// followed is nil if the leader has so many followers that have all it has.
func (g *servers) followed(ctx context.Context, node string, want int) error {
	said, err := g.ask(ctx, node, "mntr")
	if err != nil || denied(said) {
		return err // a server that does not answer mntr is believed: all others have said that they follow
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
