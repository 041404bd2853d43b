package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"lockbench/service"
)

// servers are the running members of one cluster.
type servers struct {
	topology service.Topology
	host     service.Host
	secure   bool // connections to them are TLS

	mu      sync.Mutex
	members map[string]string // names of nodes by the ids that they had last
}

// All that they can do beside serving.
var (
	_ service.Servers    = (*servers)(nil)
	_ service.Promoter   = (*servers)(nil)
	_ service.Rejoiner   = (*servers)(nil)
	_ service.Identifier = (*servers)(nil)
	_ service.Opaque     = (*servers)(nil)
)

// Nodes are all members.
func (g *servers) Nodes() []service.Node { return g.topology.Nodes() }

// Topology is what they form.
func (g *servers) Topology() service.Topology { return g.topology }

// Params are none: addresses say all.
func (g *servers) Params() map[string]string { return nil }

// Lead is nobody: clients are told all members.
func (g *servers) Lead() string { return "" }

// Opaque is why no client can be stopped between two requests.
func (g *servers) Opaque() string {
	return "clients of etcd talk gRPC, and nobody reads their requests on the way"
}

// status is what a member says of itself.
type status struct {
	Header struct {
		Member  string `json:"member_id"`
		Cluster string `json:"cluster_id"`
	} `json:"header"`
	Version   string   `json:"version"`
	Leader    string   `json:"leader"`
	IsLearner bool     `json:"isLearner"`
	Errors    []string `json:"errors"`
}

// knowsLeader says whether the member follows somebody, or leads.
func (s status) knowsLeader() bool { return s.Leader != "" && s.Leader != "0" }

func (g *servers) status(ctx context.Context, node string) (status, error) {
	var s status
	err := g.ask(ctx, node, statusPath, struct{}{}, &s)
	if err == nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.members[s.Header.Member] = node
	}
	return s, err
}

// statuses are those of all members that answer, by the names of the nodes; err is why
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

// Answers asks a member for a sign of life. It listens to clients when it is part of the
// cluster, and not before.
func (g *servers) Answers(ctx context.Context, node string) error {
	return g.look(ctx, node, "/version")
}

// Leaders are all that take themselves for the leader.
func (g *servers) Leaders(ctx context.Context) []string {
	all, _ := g.statuses(ctx)
	var leaders []string
	for _, n := range g.Nodes() {
		if s, answers := all[n.Name]; answers && s.knowsLeader() && s.Leader == s.Header.Member {
			leaders = append(leaders, n.Name)
		}
	}
	return leaders
}

// Leader is the member that a majority of all takes for the leader.
func (g *servers) Leader(ctx context.Context) (string, error) {
	if nodes := g.Nodes(); len(nodes) == 1 {
		return nodes[0].Name, nil
	}
	all, err := g.statuses(ctx)
	votes := map[string]int{}
	for _, s := range all {
		if s.knowsLeader() {
			votes[s.Leader]++
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, n := range votes {
		if name := g.members[id]; n > len(g.Nodes())/2 && name != "" {
			return name, nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("no leader is named by a majority of the members: %w", err)
	}
	return "", fmt.Errorf("no leader is named by a majority of the members: they name %d", len(votes))
}

// Healthy tells what the cluster lacks, asked past all faults.
func (g *servers) Healthy(ctx context.Context) error {
	all, err := g.statuses(ctx)
	if err != nil {
		return err
	}
	var leaders, ids []string
	for _, n := range g.Nodes() {
		s := all[n.Name]
		switch {
		case !s.knowsLeader():
			return fmt.Errorf("%s knows no leader", n.Name)
		case len(s.Errors) > 0:
			return fmt.Errorf("%s: %s", n.Name, strings.Join(s.Errors, ", "))
		case !slices.Contains(leaders, s.Leader):
			leaders = append(leaders, s.Leader)
		}
		ids = append(ids, s.Header.Member)
	}
	if len(leaders) != 1 || !slices.Contains(ids, leaders[0]) {
		return errors.New("the members do not agree on one leader")
	}
	// Each can read what was written last, which takes the leader and a majority.
	return service.Each(g.Nodes(), func(n service.Node) error { return g.look(ctx, n.Name, "/health") })
}

// Form returns when members that were just started are one cluster.
func (g *servers) Form(ctx context.Context) error { return service.AwaitHealthy(ctx, g) }

// Started and Resumed have nothing to do: a member knows from its files who the others are.
func (g *servers) Started(context.Context, string) error { return nil }
func (g *servers) Resumed(context.Context, string) error { return nil }
