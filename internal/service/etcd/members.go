package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"

	"lockbench/internal/service"
)

// Promote moves the leadership to a member. A leader that was just killed is named until another is
// elected, so Promote asks the named leader again until the member leads.
func (g *servers) Promote(ctx context.Context, node string) (string, error) {
	err := service.Poll(ctx, func() error {
		leader, err := g.Leader(ctx)
		if err != nil || leader == node {
			return err
		}
		to, err := g.status(ctx, node)
		if err != nil {
			return err
		}
		move := map[string]string{"targetID": to.Header.Member}
		if err := g.ask(ctx, leader, "/v3/maintenance/transfer-leadership", move, nil); err != nil {
			return err
		}
		return fmt.Errorf("%s was asked to hand over, and is the leader", leader)
	})
	if err != nil {
		return "", fmt.Errorf("promote %s: %w", node, err)
	}
	return node, nil
}

// Rejoin removes a member that lost its data and adds it as a new member: under its old identity it
// would have forgotten its votes, and the others would reject it. A single server has no others to
// join.
func (g *servers) Rejoin(ctx context.Context, node string) (joins bool, err error) {
	if len(g.Nodes()) == 1 {
		return false, nil
	}
	err = service.Poll(ctx, func() error {
		var errs []error
		for _, other := range g.Others(node) {
			err := g.replace(ctx, other, node)
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
	if err != nil {
		return false, fmt.Errorf("add %s again: %w", node, err)
	}
	return true, nil
}

// memberListPath returns a memberList.
const memberListPath = "/v3/cluster/member/list"

type memberList struct {
	Members []struct {
		ID      string   `json:"ID"`
		Name    string   `json:"name"`
		Peers   []string `json:"peerURLs"`
		Clients []string `json:"clientURLs"`
		Learner bool     `json:"isLearner"`
	} `json:"members"`
}

// replace makes one member replace another by an empty one at its address. It can be repeated.
func (g *servers) replace(ctx context.Context, by, node string) error {
	at := g.Host.Addr(node)
	peer := url(at, 1)
	var list memberList
	if err := g.ask(ctx, by, memberListPath, struct{}{}, &list); err != nil {
		return err
	}
	for _, m := range list.Members {
		switch {
		case !slices.Contains(m.Peers, peer):
		case m.Name == "":
			return nil // added, and never started
		default:
			if err := g.ask(ctx, by, "/v3/cluster/member/remove", map[string]string{"ID": m.ID}, nil); err != nil {
				return err
			}
		}
	}
	return g.ask(ctx, by, "/v3/cluster/member/add", map[string][]string{"peerURLs": {peer}}, nil)
}

// Identity returns the ID of the member behind a connection.
func (g *servers) Identity(ctx context.Context, c net.Conn) (string, error) {
	var s status
	err := exchange(ctx, c, g.secure, http.MethodPost, statusPath, "{}", &s)
	return s.Header.Member, err
}
