package etcd

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	neturl "net/url"
	"slices"
	"strconv"
	"strings"

	"lockbench/service"
)

var _ service.Foreign = Service{}

// usualPort is the default port of URLs.
const usualPort = "2379"

// noLogin is why users and passwords are not supported.
const noLogin = "etcd asks for them inside its own protocol, in each request of each client, and the relay does not read that; " +
	"what can be used is a client certificate, etcds://HOST:PORT with --tls-cert FILE --tls-key FILE, of an etcd without `auth enable`"

// Schemes returns the schemes without and with TLS.
func (Service) Schemes() []string { return []string{"etcd", "etcds"} }

// Locate reads
//
//	etcd://host:port,...    members of one cluster, or one server
//
// and etcds instead of etcd for TLS.
func (Service) Locate(urls []string) (l service.Location, err error) {
	u, err := service.OneGroup(urls, usualPort)
	if err != nil {
		return l, err
	}
	l = service.Location{Addrs: u.Addrs, User: u.User, TLS: u.Scheme == "etcds", NoLogin: noLogin}
	// With TLS a client must offer HTTP/2 for gRPC, so lockbench uses HTTP/2 there as well.
	l.ALPN = []string{"h2"}
	switch {
	case u.Scheme != "etcd" && u.Scheme != "etcds":
		return l, fmt.Errorf("%s: servers are named as etcd://HOST:PORT or etcds://HOST:PORT, with commas between hosts", urls[0])
	case u.Path != "":
		return l, fmt.Errorf("the path /%s means nothing here: keys of a run have a prefix of lockbench's own", u.Path)
	}
	l.Topology = sized(len(l.Addrs))
	return l, nil
}

// sized returns the topology of n members.
func sized(n int) service.Topology {
	if n == 1 {
		return topologies[0]
	}
	return topologies[1].Sized(n)
}

// Login only does TLS.
func (Service) Login(ctx context.Context, c net.Conn, how service.Access) (net.Conn, error) {
	return how.Secure(ctx, c)
}

// found is a server that has answered.
type found struct{ addr, id, cluster, version string }

// Survey asks each server for its identity, and one of them for the other members.
func (Service) Survey(ctx context.Context, l service.Location, dial func(context.Context, service.Role, string) (net.Conn, error)) (service.Site, error) {
	site := service.Site{Location: l, Topology: l.Topology, Addrs: map[string]string{}, Called: map[string]string{}}
	ask := func(addr, path string, question string, answer any) error {
		ctx, cancel := context.WithTimeout(ctx, 5*service.AskLimit)
		defer cancel()
		reach := func(ctx context.Context) (net.Conn, error) { return dial(ctx, service.Data, addr) }
		if err := service.AskHTTP(ctx, l.TLS, reach, "POST", path, question, answer); err != nil {
			return fmt.Errorf("%s: %w", addr, err)
		}
		return nil
	}
	var all []found
	look := func(addr string) error {
		var s status
		if err := ask(addr, statusPath, "{}", &s); err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(f found) bool { return f.id == s.Header.Member })
		switch {
		case s.Header.Member == "":
			return fmt.Errorf("%s answers, and not as an etcd does", addr)
		case s.IsLearner:
			return fmt.Errorf("%s is a learner, which serves no client: leave it out", addr)
		case at >= 0:
			return fmt.Errorf("%s is the same server as %s", addr, all[at].addr)
		case len(all) > 0 && all[0].cluster != s.Header.Cluster:
			return fmt.Errorf("%s and %s are of two clusters: name the members of one", all[0].addr, addr)
		}
		all = append(all, found{addr, s.Header.Member, s.Header.Cluster, s.Version})
		return nil
	}
	for _, addr := range l.Addrs {
		if err := look(addr); err != nil {
			return site, err
		}
	}
	var members memberList
	if err := ask(l.Addrs[0], memberListPath, "{}", &members); err != nil {
		return site, err
	}
	// Members that the user did not name are looked up at the addresses that they announce to clients.
	for _, m := range members.Members {
		if m.Learner || slices.ContainsFunc(all, func(f found) bool { return f.id == m.ID }) {
			continue
		}
		addr := firstOf(m.Clients)
		if addr == "" {
			return site, fmt.Errorf("%s reports a member %s without an address for clients: name it as well", l.Addrs[0], m.ID)
		}
		if err := look(addr); err != nil {
			return site, fmt.Errorf("%s has a member that --servers does not name: %w; name all members, by where clients reach them", l.Addrs[0], err)
		}
	}
	slices.SortFunc(all, func(a, b found) int { return strings.Compare(a.addr, b.addr) })
	site.Topology = sized(len(all))
	for i, n := range site.Topology.Nodes() {
		site.Addrs[n.Name] = all[i].addr
		site.Called[all[i].addr] = n.Name
	}
	for i, n := range site.Topology.Nodes() {
		for _, m := range members.Members {
			// Several members may announce the same address, such as localhost.
			if addr := firstOf(m.Clients); addr != "" && m.ID == all[i].id && site.Called[addr] == "" {
				site.Called[addr] = n.Name
			}
		}
	}
	site.About = Name + " " + all[0].version
	return site, nil
}

// firstOf returns host:port of the first URL.
func firstOf(urls []string) string {
	if len(urls) == 0 {
		return ""
	}
	u, err := neturl.Parse(urls[0])
	if err != nil {
		return ""
	}
	return u.Host
}

// foreign are external servers, which have fewer abilities.
type foreign struct {
	service.Servers
	service.Opaque
	own    *servers
	prefix string
}

var _ service.ForeignServers = foreign{}

func (s Service) OpenForeign(site service.Site, prefix string, h service.Host) service.ForeignServers {
	g := s.Open(site.Topology, h).(*servers)
	g.secure = site.TLS
	return foreign{g, g, g, prefix}
}

// Paths for keys.
const (
	rangePath  = "/v3/kv/range"
	deletePath = "/v3/kv/deleterange"
)

// begins returns the range of all keys that begin with a text, in the form of the gateway.
func begins(text string) map[string]any {
	end := []byte(text)
	end[len(end)-1]++ // it ends with a colon
	return map[string]any{"key": []byte(text), "range_end": end}
}

// Under searches keys that begin with a text. Locks on etcd begin all keys with their names.
func (f foreign) Under(ctx context.Context, text string, most int) (map[string][]string, error) {
	leader, err := f.own.Leader(ctx)
	if err != nil {
		return nil, err
	}
	question := begins(text)
	question["limit"], question["keys_only"] = strconv.Itoa(most), true
	var answer struct {
		Kvs []struct{ Key string } `json:"kvs"`
	}
	if err := f.own.ask(ctx, leader, rangePath, question, &answer); err != nil {
		return nil, permitted(err)
	}
	var keys []string
	for _, kv := range answer.Kvs {
		key, err := base64.StdEncoding.DecodeString(kv.Key)
		if err != nil {
			return nil, fmt.Errorf("%s answers with a key %.80q: %w", leader, kv.Key, err)
		}
		keys = append(keys, string(key))
	}
	if len(keys) == 0 {
		return nil, nil
	}
	return map[string][]string{leader: keys}, nil
}

// permitted adds a hint to errors about users.
func permitted(err error) error {
	if strings.Contains(err.Error(), "user name is empty") || strings.Contains(err.Error(), "permission denied") {
		return fmt.Errorf("%w: this etcd wants a user (`auth enable`), and none can be given: %s", err, noLogin)
	}
	return err
}

// Clear removes the keys that begin with the prefix. Leases end by themselves, because no client keeps
// them alive.
func (f foreign) Clear(ctx context.Context) (int, error) {
	leader, err := f.own.Leader(ctx)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Deleted string `json:"deleted"`
	}
	if err := f.own.ask(ctx, leader, deletePath, begins(f.prefix), &answer); err != nil {
		return 0, permitted(err)
	}
	if answer.Deleted == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(answer.Deleted)
	if err != nil {
		return 0, errors.Join(fmt.Errorf("%s answers that it has deleted %q keys", leader, answer.Deleted), err)
	}
	return n, nil
}

func (f foreign) ByHand(text string) string {
	return fmt.Sprintf("ETCDCTL_API=3 etcdctl --endpoints HOST:PORT del --prefix '%s'", text)
}
