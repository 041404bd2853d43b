package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"lockbench/internal/service"
)

// servers are the running servers of one group.
type servers struct {
	*service.Cluster
	login service.Credentials // limits the requests to those of any client
}

var _ service.Servers = (*servers)(nil)

func newServers(t service.Topology, h service.Host, login service.Credentials) *servers {
	g := &servers{login: login}
	g.Cluster = service.NewCluster(t, h, func(ctx context.Context, node string) (service.State, error) {
		s, err := g.jetStream(ctx, node)
		return service.State{Leader: s.Meta.Leader, Leads: s.Meta.Leader == node}, err
	})
	return g
}

// Parameters of clients.
const (
	Bucket   = "bucket" // holds all keys
	User     = "user"   // absent: no user
	Password = "password"
	Token    = "token" // instead of a user
)

// bucketName is the bucket of servers that lockbench runs.
const bucketName = "locks"

// Params returns the bucket.
func (g *servers) Params() map[string]string { return map[string]string{Bucket: bucketName} }

// Abilities are what the API of JetStream offers.
func (g *servers) Abilities() service.Abilities {
	return service.Abilities{Promote: g.Promote, LeaderOf: g.LeaderOf, FollowersOf: g.FollowersOf, Identity: g.Identity}
}

// state is what a server reports about JetStream.
type state struct {
	Meta struct {
		Leader string `json:"leader"`
	} `json:"meta_cluster"`
	Accounts []struct {
		Streams []stream `json:"stream_detail"`
	} `json:"account_details"`
}

// stream is a stream in the view of a server that keeps it. Leader is empty if the server knows none.
type stream struct {
	Name    string `json:"name"`
	Cluster struct {
		Leader   string     `json:"leader"`
		Replicas []struct{} `json:"replicas"` // the other copies
	} `json:"cluster"`
}

// bucketPrefix begins the names of streams that are buckets of keys.
const bucketPrefix = "KV_"

func (s stream) bucket() string { return strings.TrimPrefix(s.Name, bucketPrefix) }

// buckets returns the streams of buckets that a server keeps.
func (s state) buckets() (all []stream) {
	for _, a := range s.Accounts {
		for _, stream := range a.Streams {
			if strings.HasPrefix(stream.Name, bucketPrefix) {
				all = append(all, stream)
			}
		}
	}
	return all
}

// jetStream returns the state of JetStream in the view of a server.
func (g *servers) jetStream(ctx context.Context, node string) (s state, err error) {
	err = g.monitor(ctx, node, "JSZ", map[string]bool{"accounts": true, "streams": true}, &s)
	return s, err
}

// states returns the states of all servers that answer, and why others do not.
func (g *servers) states(ctx context.Context) (map[string]state, error) {
	return service.AskAll(ctx, g.Nodes(), g.jetStream)
}

// Leaders returns all nodes that take themselves for the leader of a bucket. There are none before
// there is a bucket.
func (g *servers) Leaders(ctx context.Context) []string {
	if nodes := g.Nodes(); len(nodes) == 1 {
		if g.Answers(ctx, nodes[0].Name) == nil {
			return []string{nodes[0].Name}
		}
		return nil
	}
	all, _ := g.states(ctx)
	var lead []string
	for _, n := range g.Nodes() {
		if slices.ContainsFunc(all[n.Name].buckets(), func(s stream) bool { return s.Cluster.Leader == n.Name }) {
			lead = append(lead, n.Name)
		}
	}
	return lead
}

// LeaderOf returns the leader of the bucket that has a key, in the view of most servers that keep the
// bucket and answer.
func (g *servers) LeaderOf(ctx context.Context, key string) (string, error) {
	if nodes := g.Nodes(); len(nodes) == 1 {
		return nodes[0].Name, nil
	}
	all, err := g.states(ctx)
	buckets := named(all)
	var errs []error
	for bucket, leaders := range buckets {
		if len(buckets) > 1 {
			has, err := g.has(ctx, bucket, key)
			errs = append(errs, err)
			if !has {
				continue
			}
		}
		votes := map[string]int{}
		for _, leader := range leaders {
			votes[leader]++
		}
		if best, _ := service.Majority(votes, len(leaders)); best != "" && g.Host.Status(best).Running {
			return best, nil
		}
		errs = append(errs, fmt.Errorf("the bucket %s has no leader", bucket))
	}
	if len(buckets) == 0 {
		errs = append(errs, errors.New("there is no bucket"))
	}
	return "", errors.Join(append(errs, fmt.Errorf("no leader of the key %q is known", key), err)...)
}

// named returns the leaders that the servers name, by the buckets that they keep.
func named(all map[string]state) map[string][]string {
	leaders := map[string][]string{}
	for _, s := range all {
		for _, b := range s.buckets() {
			leaders[b.bucket()] = append(leaders[b.bucket()], b.Cluster.Leader)
		}
	}
	return leaders
}

// has reports whether a bucket knows a key, even if it was deleted there.
func (g *servers) has(ctx context.Context, bucket, key string) (has bool, err error) {
	subject := "$KV." + bucket + "." + key
	_, err = g.anywhere(ctx, service.AskLimit, func(ctx context.Context, js jetstream.JetStream) error {
		stream, err := js.Stream(ctx, bucketPrefix+bucket)
		if err != nil {
			return err
		}
		about, err := stream.Info(ctx, jetstream.WithSubjectFilter(subject))
		has = err == nil && about.State.Subjects[subject] > 0
		return err
	})
	return has, err
}

// FollowersOf returns all other nodes. If only one server keeps the bucket, they only follow its
// leader in the metadata.
func (g *servers) FollowersOf(_ context.Context, leader string) ([]string, error) {
	return g.Others(leader), nil
}

// Healthy returns the first defect of the group.
func (g *servers) Healthy(ctx context.Context) error {
	err := service.Each(g.Nodes(), func(n service.Node) error {
		var health struct {
			Status string `json:"status"`
			Error  string `json:"error"`
		}
		if err := g.monitor(ctx, n.Name, "HEALTHZ", struct{}{}, &health); err != nil {
			return err
		}
		if health.Status != "ok" {
			return fmt.Errorf("%s is %s: %s", n.Name, health.Status, health.Error)
		}
		return nil
	})
	if err != nil || len(g.Nodes()) == 1 {
		return err
	}
	all, err := g.states(ctx)
	if err != nil {
		return err
	}
	leaders := named(all)
	for _, s := range all {
		leaders["the metadata"] = append(leaders["the metadata"], s.Meta.Leader)
	}
	for what, names := range leaders {
		slices.Sort(names)
		if names = slices.Compact(names); len(names) != 1 || names[0] == "" {
			return fmt.Errorf("the servers do not agree on one leader of %s: they name %q", what, names)
		}
	}
	return nil
}

// Promote makes a server the leader of all buckets and of the metadata. It ignores servers that do not
// answer, because the old leader may just have been killed. It fails for a bucket that only another
// server keeps.
func (g *servers) Promote(ctx context.Context, node string) (string, error) {
	to := map[string]any{"placement": map[string]string{"preferred": node}}
	var never error // why a retry is useless
	err := service.Poll(ctx, func() error {
		all, err := g.states(ctx)
		if _, answers := all[node]; !answers {
			return err
		}
		lacks := map[string]string{} // the leaders that must step down, by the account that may order it
		if all[node].Meta.Leader != node {
			lacks["$JS.API.META.LEADER.STEPDOWN"] = operators
		}
		for name, s := range all {
			for _, b := range s.buckets() {
				if b.Cluster.Leader == name && name != node && len(b.Cluster.Replicas) == 0 {
					never = fmt.Errorf("only %s keeps the bucket %s, so no other server can lead it; it takes more than one replica", name, b.bucket())
					return nil
				}
				if b.Cluster.Leader != node {
					lacks["$JS.API.STREAM.LEADER.STEPDOWN."+b.Name] = clients
				}
			}
		}
		var errs []error
		for subject, account := range lacks {
			err := g.with(ctx, service.AskLimit, node, as(account), func(ctx context.Context, conn *nats.Conn) error {
				return request(ctx, conn, subject, to, nil)
			})
			errs = append(errs, fmt.Errorf("%s does not lead yet; %s: %w", node, subject, errors.Join(err, errNotYet)))
		}
		return errors.Join(errs...)
	})
	if err = cmp.Or(never, err); err != nil {
		return "", fmt.Errorf("promote %s: %w", node, err)
	}
	return node, nil
}

var errNotYet = errors.New("it was asked")
