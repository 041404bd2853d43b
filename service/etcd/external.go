package etcd

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"lockbench/service"
)

// usualPort is the default port of URLs.
const usualPort = "2379"

// noLogin is why users and passwords are not supported.
const noLogin = "etcd asks for them inside its own protocol, in each request of each client, and the relay does not read that; " +
	"what can be used is a client certificate, etcds://HOST:PORT with --tls-cert FILE --tls-key FILE, of an etcd without `auth enable`"

// Schemes returns the schemes without and with TLS.
func (Service) Schemes() []string { return []string{"etcd", "etcds"} }

// Locate reads
//
//	etcd://host:port,...    all members of one cluster, or one server
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
	l.Topology = topologies[0]
	if n := len(l.Addrs); n > 1 {
		l.Topology = topologies[1].Sized(n)
	}
	return l, nil
}

// Login only does TLS.
func (Service) Login(ctx context.Context, c net.Conn, how service.Access) (net.Conn, error) {
	return how.Secure(ctx, c)
}

// Survey asks each server for its identity, and one of them whether there are more members.
func (Service) Survey(ctx context.Context, l service.Location, dial service.Dialer) (service.Site, error) {
	site := l.Site()
	ask := func(addr, path string, answer any) error {
		return dial.Ask(ctx, addr, func(ctx context.Context, c net.Conn) error {
			return exchange(ctx, c, l.TLS, http.MethodPost, path, "{}", answer)
		})
	}
	seen, cluster := map[string]string{}, "" // addresses by the IDs of members
	for _, addr := range l.Addrs {
		var s status
		if err := ask(addr, statusPath, &s); err != nil {
			return site, err
		}
		switch id := s.Header.Member; {
		case id == "":
			return site, fmt.Errorf("%s answers, and not as an etcd does", addr)
		case s.IsLearner:
			return site, fmt.Errorf("%s is a learner, which serves no client: leave it out", addr)
		case seen[id] != "":
			return site, fmt.Errorf("%s is the same server as %s", addr, seen[id])
		case len(seen) > 0 && s.Header.Cluster != cluster:
			return site, fmt.Errorf("%s and %s are of two clusters: name the members of one", l.Addrs[0], addr)
		}
		seen[s.Header.Member], cluster = addr, s.Header.Cluster
		site.About = Name + " " + s.Version
	}
	var list memberList
	if err := ask(l.Addrs[0], memberListPath, &list); err != nil {
		return site, err
	}
	for _, m := range list.Members {
		if !m.Learner && seen[m.ID] == "" {
			return site, fmt.Errorf("%s has a member %s (%s) that --servers does not name: name all members, by where clients reach them",
				l.Addrs[0], m.Name, strings.Join(m.Clients, ", "))
		}
	}
	return site, nil
}

// external are external servers, which have fewer abilities.
type external struct {
	service.Servers
	own    *servers
	prefix string
}

func (s Service) OpenExternal(site service.Site, prefix string, h service.Host) service.ExternalServers {
	g := s.Open(site.Topology, h).(*servers)
	g.secure = site.TLS
	f := external{g, g, prefix}
	return service.ExternalServers{Servers: f, Under: f.Under, Clear: f.Clear, ByHand: f.ByHand}
}

// Abilities returns none: lockbench orders external servers nothing.
func (external) Abilities() service.Abilities { return service.Abilities{} }

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
func (f external) Under(ctx context.Context, text string, most int) (map[string][]string, error) {
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
func (f external) Clear(ctx context.Context) (int, error) {
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

func (f external) ByHand(text string) string {
	return fmt.Sprintf("ETCDCTL_API=3 etcdctl --endpoints HOST:PORT del --prefix '%s'", text)
}
