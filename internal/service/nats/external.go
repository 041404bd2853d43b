package nats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"lockbench/internal/service"
)

// urls are such as nats://user@host:port,... for all servers of one group, or one server. tls is NATS' own
// name of natss.
var urls = service.URLForm{
	Plain: []string{Name}, TLS: []string{"natss", "tls"}, Port: "4222",
	Named:  "servers are named as nats://HOST:PORT, or natss://HOST:PORT for TLS, with commas between hosts",
	NoPath: "a run has a bucket of its own",
	One:    topologies[0], Several: topologies[1],
}

// survey asks each server for its identity. NATS lists its peers only to the system account, so
// --servers must name all of them.
func survey(ctx context.Context, l service.Location, dial service.Dialer) (service.Site, error) {
	return l.Survey(ctx, func(ctx context.Context, addr string) (service.Identity, error) {
		is, err := look(ctx, addr, l.Logins[service.Data], dial)
		switch {
		case err != nil:
		case is.ID == "":
			err = fmt.Errorf("%s answers, but is not a NATS server", addr)
		case !is.JetStream:
			err = fmt.Errorf("%s serves no JetStream, in which locks are kept", addr)
		case len(l.Addrs) > 1 && is.Cluster == "":
			err = fmt.Errorf("%s is a single server without a cluster: name one server, or all servers of a cluster", addr)
		case len(l.Addrs) == 1 && is.Cluster != "":
			err = fmt.Errorf("%s is one server of the cluster %q: name all servers that keep streams, by the addresses that clients use", addr, is.Cluster)
		}
		return service.Identity{About: "NATS " + is.Version, ID: is.ID, Group: is.Cluster}, err
	})
}

// look logs in to a server and returns its greeting.
func look(ctx context.Context, addr string, as service.Credentials, dial service.Dialer) (is info, err error) {
	err = dial.Ask(ctx, addr, func(ctx context.Context, c net.Conn) error {
		greeting, text, rest, err := readInfo(c)
		if err != nil {
			return err
		}
		is = greeting
		err = connect(ctx, greeted(c, text, rest), as, func(context.Context, *nats.Conn) error { return nil })
		if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) {
			return &service.LoginError{Said: strings.TrimPrefix(err.Error(), "nats: ")}
		}
		return err
	})
	return is, err
}

// external are external servers, which have fewer abilities. All requests are such that any client may
// send them. They do not show the leader of the metadata.
type external struct {
	*servers
	buckets *service.Cluster // decides who leads the bucket of the run
	prefix  string
}

func openExternal(site service.Site, prefix string, h service.Host) service.ExternalServers {
	g := newServers(site.Topology, h, site.Logins[service.Data])
	f := external{servers: g, prefix: prefix}
	f.buckets = service.NewCluster(site.Topology, h, f.state)
	can := service.Abilities{LeaderOf: f.LeaderOf, FollowersOf: g.FollowersOf}
	return service.ExternalServers{Servers: f, Under: f.Under, Clear: f.Clear, ByHand: f.ByHand, Can: can}
}

// inName replaces the colons of a text, which names of buckets cannot have.
func inName(text string) string { return strings.ReplaceAll(text, ":", "-") }

// bucket returns the bucket of the run.
func (f external) bucket() string { return inName(f.prefix) + bucketName }

// Params returns the bucket of the run and the login of clients.
func (f external) Params() map[string]string {
	params := map[string]string{Bucket: f.bucket()}
	switch login := f.login; {
	case login.User != "":
		params[User], params[Password] = login.User, login.Password
	case login.Password != "":
		params[Token] = login.Password
	}
	return params
}

// state returns the leader of the bucket of the run in the view of a node. There is none before there is
// a bucket.
func (f external) state(ctx context.Context, node string) (s service.State, err error) {
	err = f.js(ctx, service.AskLimit, node, func(ctx context.Context, conn *nats.Conn, js jetstream.JetStream) error {
		s.ID = conn.ConnectedServerName()
		stream, err := js.Stream(ctx, bucketPrefix+f.bucket())
		if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("the bucket of the run: %w", err)
		}
		if s.Leads = len(f.Nodes()) == 1; s.Leads || err != nil {
			return nil
		}
		cluster := stream.CachedInfo().Cluster
		s.Leader, s.Leads = cluster.Leader, cluster.Leader == s.ID
		if s.Leader == "" {
			s.Lacks = fmt.Errorf("knows no leader of the bucket %s", f.bucket())
		}
		for _, r := range cluster.Replicas {
			if r.Offline || !r.Current {
				s.Lacks = fmt.Errorf("says that %s keeps the bucket %s and is behind", r.Name, f.bucket())
			}
		}
		return nil
	})
	return s, err
}

// Leaders returns the nodes that take themselves for the leader of the bucket.
func (f external) Leaders(ctx context.Context) []string { return f.buckets.Leaders(ctx) }

// Leader returns the running leader of the bucket.
func (f external) Leader(ctx context.Context) (string, error) {
	leader, err := f.buckets.Leader(ctx)
	if err != nil {
		return "", fmt.Errorf("the bucket %s: %w", f.bucket(), err)
	}
	if len(f.Nodes()) > 1 && !f.Host.Status(leader).Running {
		return "", fmt.Errorf("the bucket %s has no leader: %s is down", f.bucket(), leader)
	}
	return leader, nil
}

// LeaderOf returns the same node for all keys, because they are in one bucket.
func (f external) LeaderOf(ctx context.Context, _ string) (string, error) { return f.Leader(ctx) }

// Healthy checks that each server can answer for the leader of the JetStream metadata, and that the
// bucket is healthy if there is one.
func (f external) Healthy(ctx context.Context) error {
	all, err := service.AskAll(ctx, f.Nodes(), f.state)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Leader != "" || s.Lacks != nil {
			return f.buckets.Healthy(ctx)
		}
	}
	return nil
}

// matching returns the buckets whose names a function accepts.
func matching(ctx context.Context, js jetstream.JetStream, accepts func(bucket string) bool) (found []string, err error) {
	all := js.StreamNames(ctx)
	for stream := range all.Name() {
		if bucket, is := strings.CutPrefix(stream, bucketPrefix); is && accepts(bucket) {
			found = append(found, bucket)
		}
	}
	return found, all.Err()
}

// Under searches the names of buckets.
func (f external) Under(ctx context.Context, text string, most int) (map[string][]string, error) {
	var found []string
	node, err := f.anywhere(ctx, service.AskLimit, func(ctx context.Context, js jetstream.JetStream) (err error) {
		found, err = matching(ctx, js, func(bucket string) bool { return strings.Contains(bucket, inName(text)) })
		return err
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return map[string][]string{node: found[:min(most, len(found))]}, nil
}

// clearLimit is how long removing the buckets of a run may take through one server.
const clearLimit = 20 * time.Second

// Clear removes the bucket of the run, and buckets of guests whose names begin with the same prefix.
func (f external) Clear(ctx context.Context) (n int, err error) {
	_, err = f.anywhere(ctx, clearLimit, func(ctx context.Context, js jetstream.JetStream) error {
		all, err := matching(ctx, js, func(bucket string) bool { return strings.HasPrefix(bucket, inName(f.prefix)) })
		if err != nil {
			return err
		}
		for _, bucket := range all {
			if err := js.DeleteStream(ctx, bucketPrefix+bucket); err != nil {
				return fmt.Errorf("remove the bucket %s: %w", bucket, err)
			}
			n++
		}
		return nil
	})
	return n, err
}

func (external) ByHand(text string) string {
	return fmt.Sprintf("nats kv del BUCKET -f, for each bucket of which the name has %q in it (nats kv ls lists them)", inName(text))
}
