package nats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"lockbench/service"
)

var _ service.Foreign = Service{}

// usualPort is the default port of URLs.
const usualPort = "4222"

// Schemes returns the schemes without and with TLS; tls is NATS' own name of the latter.
func (Service) Schemes() []string { return []string{"nats", "natss", "tls"} }

// Locate reads
//
//	nats://user@host:port,...    all servers of one group, or one server
//
// and natss or tls instead of nats for TLS.
func (s Service) Locate(urls []string) (l service.Location, err error) {
	u, err := service.OneGroup(urls, usualPort)
	if err != nil {
		return l, err
	}
	l = service.Location{Addrs: u.Addrs, User: u.User, TLS: u.Scheme != Name}
	switch {
	case !slices.Contains(s.Schemes(), u.Scheme):
		return l, fmt.Errorf("%s: servers are named as nats://HOST:PORT, or natss://HOST:PORT for TLS, with commas between hosts", urls[0])
	case u.Path != "":
		return l, fmt.Errorf("the path /%s means nothing here: a run has a bucket of its own", u.Path)
	}
	l.Topology = topologies[0]
	if n := len(l.Addrs); n > 1 {
		l.Topology = topologies[1].Sized(n)
	}
	return l, nil
}

// Survey asks each server for its identity. NATS lists its peers only to the system account, so
// --servers must name all of them.
func (Service) Survey(ctx context.Context, l service.Location, dial func(context.Context, service.Role, string) (net.Conn, error)) (service.Site, error) {
	site := service.Site{Location: l, Topology: l.Topology, Addrs: map[string]string{}, Called: map[string]string{}}
	var first info
	seen := map[string]string{}
	for i, n := range l.Topology.Nodes() {
		addr := l.Addrs[i]
		is, err := look(ctx, addr, l.Logins[service.Data], dial)
		if i == 0 {
			first = is
		}
		switch {
		case err != nil:
			return site, fmt.Errorf("%s: %w", addr, err)
		case is.ID == "":
			return site, fmt.Errorf("%s answers, and not as a NATS server does", addr)
		case !is.JetStream:
			return site, fmt.Errorf("%s serves no JetStream, in which locks are kept", addr)
		case seen[is.ID] != "":
			return site, fmt.Errorf("%s is the same server as %s", addr, seen[is.ID])
		case is.Cluster != first.Cluster:
			return site, fmt.Errorf("%s and %s are of two clusters: name the servers of one", l.Addrs[0], addr)
		case len(l.Addrs) > 1 && is.Cluster == "":
			return site, fmt.Errorf("%s is a server alone, and no cluster: name one server, or all of a cluster", addr)
		case len(l.Addrs) == 1 && is.Cluster != "":
			return site, fmt.Errorf("%s is one server of the cluster %q: name all that keep streams, by where clients reach them", addr, is.Cluster)
		}
		seen[is.ID] = addr
		site.Addrs[n.Name], site.Called[addr] = addr, n.Name
	}
	site.About = "NATS " + first.Version
	return site, nil
}

// look logs in to a server and asks for its identity.
func look(ctx context.Context, addr string, as service.Credentials, dial func(context.Context, service.Role, string) (net.Conn, error)) (is info, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*service.AskLimit)
	defer cancel()
	c, err := dial(ctx, service.Data, addr)
	if err != nil {
		return is, err
	}
	defer c.Close()
	err = service.Interrupt(ctx, c, func() error {
		t, err := meet(c, loginOf(as))
		if err != nil {
			return err
		}
		is = t.info
		return t.ping()
	})
	if err != nil && (strings.Contains(err.Error(), "Authorization") || strings.Contains(err.Error(), "Authentication")) {
		err = &service.LoginError{Said: err.Error()}
	}
	return is, err
}

// foreign are external servers, which have fewer abilities. All requests are such that any client may
// send them. They do not show the leader of the metadata.
type foreign struct {
	service.Servers
	service.Opaque
	own    *servers
	as     service.Credentials
	prefix string

	mu    sync.Mutex
	names map[string]string // the nodes by their server names
}

var (
	_ service.ForeignServers = (*foreign)(nil)
	_ service.Sharded        = (*foreign)(nil)
)

func (Service) OpenForeign(site service.Site, prefix string, h service.Host) service.ForeignServers {
	as := site.Logins[service.Data]
	g := newServers(site.Topology, h, loginOf(as))
	return &foreign{Servers: g, Opaque: g, own: g, as: as, prefix: prefix, names: map[string]string{}}
}

// inName replaces the colons of a text, which names of buckets cannot have.
func inName(text string) string { return strings.ReplaceAll(text, ":", "-") }

// bucket returns the bucket of the run.
func (f *foreign) bucket() string { return inName(f.prefix) + bucketName }

// Params returns the bucket of the run and the login of clients.
func (f *foreign) Params() map[string]string {
	params := map[string]string{Bucket: f.bucket()}
	switch {
	case f.as.User != "":
		params[User], params[Password] = f.as.User, f.as.Password
	case f.as.Password != "":
		params[Token] = f.as.Password
	}
	return params
}

// Form waits until the servers are healthy.
func (f *foreign) Form(ctx context.Context) error { return service.AwaitHealthy(ctx, f) }

// view is the answer about the bucket of the run through one server, which asks the leader.
type view struct {
	missing bool
	Cluster struct {
		Leader   string `json:"leader"`
		Replicas []struct {
			Name    string `json:"name"`
			Current bool   `json:"current"`
			Offline bool   `json:"offline"`
		} `json:"replicas"`
	} `json:"cluster"`
}

// streamNotFound is the reason of a refusal.
const streamNotFound = 10059

// views returns the answers about the bucket through each server, by the names of the servers, and why
// others did not answer.
func (f *foreign) views(ctx context.Context) (map[string]view, error) {
	return service.AskAll(ctx, f.Nodes(), func(ctx context.Context, node string) (v view, err error) {
		err = f.own.with(ctx, node, f.own.who, func(t *talk) error {
			f.mu.Lock()
			f.names[t.info.Name] = node
			f.mu.Unlock()
			err := t.ask(streamInfo+bucketPrefix+f.bucket(), struct{}{}, &v)
			if no := (*refusal)(nil); errors.As(err, &no) && no.Reason == streamNotFound {
				v.missing, err = true, nil
			}
			if err != nil {
				return fmt.Errorf("the bucket of the run: %w", err)
			}
			return nil
		})
		return v, err
	})
}

// node returns the node with a server name, or "" if no node with that name has answered.
func (f *foreign) node(name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.names[name]
}

// Leaders returns the nodes that answer as the leader of the bucket of the run. There are none before
// there is a bucket.
func (f *foreign) Leaders(ctx context.Context) []string {
	if len(f.Nodes()) == 1 {
		return f.own.Leaders(ctx)
	}
	all, _ := f.views(ctx)
	var lead []string
	for _, v := range all {
		if node := f.node(v.Cluster.Leader); node != "" && !slices.Contains(lead, node) {
			lead = append(lead, node)
		}
	}
	slices.Sort(lead)
	return lead
}

// Leader returns the leader of the bucket of the run.
func (f *foreign) Leader(ctx context.Context) (string, error) { return f.LeaderOf(ctx, "") }

// LeaderOf returns the same node for all keys, because they are in one bucket.
func (f *foreign) LeaderOf(ctx context.Context, _ string) (string, error) {
	if nodes := f.Nodes(); len(nodes) == 1 {
		return nodes[0].Name, nil
	}
	all, err := f.views(ctx)
	votes := map[string]int{}
	for _, v := range all {
		votes[v.Cluster.Leader]++
	}
	best := mostNamed(votes)
	node := f.node(best)
	switch {
	case best == "":
		return "", errors.Join(fmt.Errorf("the bucket %s has no leader, or is not there", f.bucket()), err)
	case node == "":
		return "", errors.Join(fmt.Errorf("the bucket %s is led by a server %s, which --servers does not name, or which was not heard yet", f.bucket(), best), err)
	case !f.own.Host.Status(node).Running:
		return "", errors.Join(fmt.Errorf("the bucket %s has no leader: %s is down", f.bucket(), node), err)
	}
	return node, nil
}

// FollowersOf returns all other nodes.
func (f *foreign) FollowersOf(ctx context.Context, leader string) ([]string, error) {
	return f.own.FollowersOf(ctx, leader)
}

// Healthy checks that a request through each server reaches the leader of the JetStream metadata.
func (f *foreign) Healthy(ctx context.Context) error {
	err := service.Each(f.Nodes(), func(n service.Node) error {
		return f.own.with(ctx, n.Name, f.own.who, func(t *talk) error { return t.ask("$JS.API.INFO", struct{}{}, nil) })
	})
	if err != nil || len(f.Nodes()) == 1 {
		return err
	}
	all, err := f.views(ctx)
	if err != nil {
		return err
	}
	var named []string
	for _, v := range all {
		if v.missing {
			named = append(named, "")
			continue
		}
		if v.Cluster.Leader == "" {
			return fmt.Errorf("the bucket %s has no leader", f.bucket())
		}
		named = append(named, v.Cluster.Leader)
		for _, r := range v.Cluster.Replicas {
			if r.Offline || !r.Current {
				return fmt.Errorf("%s keeps the bucket %s and is behind", r.Name, f.bucket())
			}
		}
	}
	slices.Sort(named)
	if named = slices.Compact(named); len(named) != 1 {
		return fmt.Errorf("the servers do not agree on one leader of the bucket %s: they name %q", f.bucket(), named)
	}
	return nil
}

// anywhere returns the first answer through any server, and the name of the server. Each has a limit.
func (f *foreign) anywhere(ctx context.Context, limit time.Duration, do func(*talk) error) (string, error) {
	var errs []error
	for _, n := range f.Nodes() {
		err := f.own.within(ctx, limit, n.Name, f.own.who, do)
		if err == nil {
			return n.Name, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// Under searches the names of buckets.
func (f *foreign) Under(ctx context.Context, text string, most int) (map[string][]string, error) {
	var found []string
	node, err := f.anywhere(ctx, service.AskLimit, func(t *talk) (err error) {
		found, err = t.buckets(inName(text), most)
		return err
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return map[string][]string{node: found}, nil
}

// buckets returns up to most buckets that contain a text in their names. Servers list the names of
// streams in pages.
func (t *talk) buckets(text string, most int) (found []string, err error) {
	for offset := 0; ; {
		var page struct {
			Total   int      `json:"total"`
			Streams []string `json:"streams"`
		}
		if err := t.ask("$JS.API.STREAM.NAMES", map[string]int{"offset": offset}, &page); err != nil {
			return nil, err
		}
		for _, stream := range page.Streams {
			bucket, is := strings.CutPrefix(stream, bucketPrefix)
			if is && strings.Contains(bucket, text) && len(found) < most {
				found = append(found, bucket)
			}
		}
		offset += len(page.Streams)
		if len(page.Streams) == 0 || offset >= page.Total {
			return found, nil
		}
	}
}

const (
	// clearMax is how many buckets are looked for when the buckets of a run are removed: one, and
	// those that a guest has made.
	clearMax = 1000
	// clearLimit is how long that may take through one server.
	clearLimit = 20 * time.Second
)

// Clear removes the bucket of the run, and others whose names begin with its name.
func (f *foreign) Clear(ctx context.Context) (n int, err error) {
	_, err = f.anywhere(ctx, clearLimit, func(t *talk) error {
		all, err := t.buckets(inName(f.prefix), clearMax)
		if err != nil {
			return err
		}
		for _, bucket := range all {
			if !strings.HasPrefix(bucket, inName(f.prefix)) {
				continue
			}
			if err := t.ask("$JS.API.STREAM.DELETE."+bucketPrefix+bucket, struct{}{}, nil); err != nil {
				return fmt.Errorf("remove the bucket %s: %w", bucket, err)
			}
			n++
		}
		return nil
	})
	return n, err
}

func (*foreign) ByHand(text string) string {
	return fmt.Sprintf("nats kv del BUCKET -f, for each bucket of which the name has %q in it (nats kv ls lists them)", inName(text))
}
