package etcd

import (
	"context"
	"errors"
	"strings"

	"lockbench/internal/service"
)

// servers are the running members of one cluster.
type servers struct {
	*service.Cluster
	secure bool // connections to them are TLS
}

var _ service.Servers = (*servers)(nil)

func newServers(t service.Topology, h service.Host, secure bool) *servers {
	g := &servers{secure: secure}
	g.Cluster = service.NewCluster(t, h, g.state)
	return g
}

// Abilities are what the API of etcd offers.
func (g *servers) Abilities() service.Abilities {
	return service.Abilities{Promote: g.Promote, Identity: g.Identity}
}

// status is what a member reports about itself.
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

func (g *servers) status(ctx context.Context, node string) (status, error) {
	var s status
	err := g.ask(ctx, node, statusPath, struct{}{}, &s)
	return s, err
}

func (g *servers) state(ctx context.Context, node string) (service.State, error) {
	s, err := g.status(ctx, node)
	if err != nil {
		return service.State{}, err
	}
	state := service.State{ID: s.Header.Member, Leader: s.Leader, Leads: s.Leader == s.Header.Member}
	switch {
	case s.Leader == "" || s.Leader == "0":
		state.Leader, state.Lacks = "", errors.New("knows no leader")
	case len(s.Errors) > 0:
		state.Lacks = errors.New("has errors: " + strings.Join(s.Errors, ", "))
	}
	return state, nil
}

// Answers checks that a member serves clients. It does so once it is part of the cluster.
func (g *servers) Answers(ctx context.Context, node string) error {
	return g.look(ctx, node, "/version")
}

// Healthy also checks that each member can read what was written last, which takes the leader
// and a majority.
func (g *servers) Healthy(ctx context.Context) error {
	if err := g.Cluster.Healthy(ctx); err != nil {
		return err
	}
	return service.Each(g.Nodes(), func(n service.Node) error { return g.look(ctx, n.Name, "/health") })
}
