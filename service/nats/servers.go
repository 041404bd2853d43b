package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"lockbench/service"
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
		Streams []struct {
			Name    string `json:"name"`
			Cluster struct {
				Leader   string `json:"leader"`
				Replicas []struct {
					Name string `json:"name"`
				} `json:"replicas"` // the other copies
			} `json:"cluster"`
		} `json:"stream_detail"`
	} `json:"account_details"`
}

// bucketPrefix begins the names of streams that are buckets of keys.
const bucketPrefix = "KV_"

// leaders returns the leaders that a server names, by the streams of the buckets that it keeps. "" if
// it knows none.
func (s state) leaders() map[string]string {
	all := map[string]string{}
	for _, a := range s.Accounts {
		for _, stream := range a.Streams {
			if strings.HasPrefix(stream.Name, bucketPrefix) {
				all[stream.Name] = stream.Cluster.Leader
			}
		}
	}
	return all
}

// alone returns a bucket that only this server keeps and leads.
func (s state) alone(leader string) (bucket string, ok bool) {
	for _, a := range s.Accounts {
		for _, stream := range a.Streams {
			name, isBucket := strings.CutPrefix(stream.Name, bucketPrefix)
			if isBucket && stream.Cluster.Leader == leader && len(stream.Cluster.Replicas) == 0 {
				return name, true
			}
		}
	}
	return "", false
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
		if slices.Contains(slices.Collect(maps.Values(all[n.Name].leaders())), n.Name) {
			lead = append(lead, n.Name)
		}
	}
	return lead
}

// LeaderOf returns the leader of the bucket that has a key, in the view of most servers that keep the
// bucket.
func (g *servers) LeaderOf(ctx context.Context, key string) (string, error) {
	if nodes := g.Nodes(); len(nodes) == 1 {
		return nodes[0].Name, nil
	}
	all, err := g.states(ctx)
	buckets := map[string]map[string]int{} // votes for each
	for _, s := range all {
		for stream, leader := range s.leaders() {
			if buckets[stream] == nil {
				buckets[stream] = map[string]int{}
			}
			buckets[stream][leader]++
		}
	}
	var errs []error
	for stream, votes := range buckets {
		if len(buckets) > 1 {
			has, err := g.has(ctx, stream, key)
			errs = append(errs, err)
			if !has {
				continue
			}
		}
		best := mostNamed(votes)
		if best != "" && g.Host.Status(best).Running {
			return best, nil
		}
		errs = append(errs, fmt.Errorf("the bucket %s has no leader", strings.TrimPrefix(stream, bucketPrefix)))
	}
	if len(buckets) == 0 {
		errs = append(errs, errors.New("there is no bucket"))
	}
	return "", errors.Join(append(errs, fmt.Errorf("no leader of the key %q is known", key), err)...)
}

// mostNamed returns the leader with the most votes; "" without votes.
func mostNamed(votes map[string]int) (best string) {
	for _, name := range slices.Sorted(maps.Keys(votes)) {
		if name != "" && (best == "" || votes[name] > votes[best]) {
			best = name
		}
	}
	return best
}

// has reports whether a bucket knows a key, even if it was deleted there.
func (g *servers) has(ctx context.Context, stream, key string) (bool, error) {
	subject := "$KV." + strings.TrimPrefix(stream, bucketPrefix) + "." + key
	var about jetstream.StreamInfo
	var errs []error
	for _, n := range g.Nodes() {
		err := g.with(ctx, service.AskLimit, n.Name, g.login, func(ctx context.Context, conn *nats.Conn) error {
			return request(ctx, conn, "$JS.API.STREAM.INFO."+stream, map[string]string{"subjects_filter": subject}, &about)
		})
		if err == nil {
			return about.State.Subjects[subject] > 0, nil
		}
		errs = append(errs, err)
	}
	return false, errors.Join(errs...)
}

// FollowersOf returns all other nodes. If only one server keeps the bucket, they only follow its
// leader in the metadata.
func (g *servers) FollowersOf(_ context.Context, leader string) ([]string, error) {
	var others []string
	for _, n := range g.Nodes() {
		if n.Name != leader {
			others = append(others, n.Name)
		}
	}
	return others, nil
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
	named := map[string][]string{} // named leaders by their buckets
	for _, n := range g.Nodes() {
		s := all[n.Name]
		named["the metadata"] = append(named["the metadata"], s.Meta.Leader)
		for stream, leader := range s.leaders() {
			named[stream] = append(named[stream], leader)
		}
	}
	for what, leaders := range named {
		slices.Sort(leaders)
		if leaders = slices.Compact(leaders); len(leaders) != 1 || leaders[0] == "" {
			return fmt.Errorf("the servers do not agree on one leader of %s: they name %q", what, leaders)
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
		for name, s := range all {
			if bucket, ok := s.alone(name); ok && name != node {
				never = fmt.Errorf("only %s keeps the bucket %s, so no other server can lead it; it takes more than one replica", name, bucket)
				return nil
			}
		}
		if _, answers := all[node]; !answers {
			return err
		}
		lacks := map[string]string{} // the leaders that must step down, by the account that may order it
		if leader := all[node].Meta.Leader; leader != node {
			lacks["$JS.API.META.LEADER.STEPDOWN"] = operators
		}
		for _, s := range all {
			for stream, leader := range s.leaders() {
				if leader != node {
					lacks["$JS.API.STREAM.LEADER.STEPDOWN."+stream] = clients
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
