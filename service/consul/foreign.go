package consul

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"lockbench/service"
)

var _ service.Foreign = Service{}

// usualPort is the default port of URLs.
const usualPort = "8500"

// noLogin is why users and passwords are not supported.
const noLogin = "Consul asks for a token in each request of each client, and the relay does not put one there; " +
	"what can be used is an agent whose own token (acl.tokens.default) may write keys and sessions, " +
	"or a client certificate, consuls://HOST:PORT with --tls-cert FILE --tls-key FILE"

// Schemes returns the schemes without and with TLS.
func (Service) Schemes() []string { return []string{Name, "consuls"} }

// Locate reads
//
//	consul://host:port    an agent, of a server or of a client
//
// and consuls for TLS. An agent knows the servers and forwards requests to the leader.
func (Service) Locate(urls []string) (l service.Location, err error) {
	u, err := service.OneGroup(urls, usualPort)
	if err != nil {
		return l, err
	}
	switch {
	case u.Scheme != Name && u.Scheme != "consuls":
		return l, fmt.Errorf("%s: an agent is named as consul://HOST:PORT or consuls://HOST:PORT", urls[0])
	case len(u.Addrs) > 1:
		return l, fmt.Errorf("name one agent of Consul, and not %d: it knows the servers, and forwards requests to the leader", len(u.Addrs))
	case u.Path != "":
		return l, fmt.Errorf("the path /%s means nothing here: keys of a run have a prefix of lockbench's own", u.Path)
	}
	return service.Location{Topology: topologies[0], Addrs: u.Addrs, User: u.User, TLS: u.Scheme == "consuls", NoLogin: noLogin}, nil
}

// Login only does TLS.
func (Service) Login(ctx context.Context, c net.Conn, how service.Access) (net.Conn, error) {
	return how.Secure(ctx, c)
}

// Survey asks the agent for its version.
func (Service) Survey(ctx context.Context, l service.Location, dial func(context.Context, service.Role, string) (net.Conn, error)) (service.Site, error) {
	node, addr := l.Topology.Nodes()[0].Name, l.Addrs[0]
	site := service.Site{Location: l, Topology: l.Topology, Addrs: map[string]string{node: addr}, Called: map[string]string{addr: node}}
	ctx, cancel := context.WithTimeout(ctx, 5*service.AskLimit)
	defer cancel()
	var self struct {
		Config struct {
			Version string
			Server  bool
		}
	}
	reach := func(ctx context.Context) (net.Conn, error) { return dial(ctx, service.Data, addr) }
	err := service.AskHTTP(ctx, false, reach, http.MethodGet, "/v1/agent/self", "", &self)
	switch {
	case err != nil:
		return site, permitted(fmt.Errorf("%s: %w", addr, err))
	case self.Config.Version == "":
		return site, fmt.Errorf("%s answers, and not as a Consul does", addr)
	}
	site.About = Name + " " + self.Config.Version
	if !self.Config.Server {
		site.About += " through an agent of a client"
	}
	return site, nil
}

// permitted adds a hint to errors about tokens.
func permitted(err error) error {
	if no := (*service.HTTPRefusal)(nil); errors.As(err, &no) && no.Code == http.StatusForbidden {
		return fmt.Errorf("%w: this Consul wants a token, and none can be given: %s", err, noLogin)
	}
	return err
}

// foreign is an external agent, which has fewer abilities.
type foreign struct {
	service.Servers
	own    *servers
	prefix string
}

func (Service) OpenForeign(site service.Site, prefix string, h service.Host) service.ForeignServers {
	g := newServers(site.Topology, h, true)
	return foreign{g, g, prefix}
}

// under returns the path of all keys that begin with a text.
func under(text string) string { return "/v1/kv/" + url.PathEscape(text) }

// Under searches keys that begin with a text, because the key of a lock is its name.
func (f foreign) Under(ctx context.Context, text string, most int) (map[string][]string, error) {
	node := f.Nodes()[0].Name
	var keys []string
	err := f.own.ask(ctx, node, http.MethodGet, under(text)+"?keys&consistent", "", &keys)
	if no := (*service.HTTPRefusal)(nil); errors.As(err, &no) && no.Code == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, permitted(err)
	}
	return map[string][]string{node: keys[:min(most, len(keys))]}, nil
}

// clearMax is much more than the keys of a run.
const clearMax = 1 << 20

// Clear removes the keys that begin with the prefix. Sessions end by themselves, because no client
// renews them.
func (f foreign) Clear(ctx context.Context) (int, error) {
	there, err := f.Under(ctx, f.prefix, clearMax)
	if err != nil || len(there) == 0 {
		return 0, err
	}
	node := f.Nodes()[0].Name
	var done bool
	err = f.own.ask(ctx, node, http.MethodDelete, under(f.prefix)+"?recurse", "", &done)
	if err == nil && !done {
		err = errors.New(node + " has deleted nothing")
	}
	if err != nil {
		return 0, permitted(err)
	}
	return len(there[node]), nil
}

func (f foreign) ByHand(text string) string {
	return fmt.Sprintf("consul kv delete -http-addr=HOST:PORT -recurse '%s'", text)
}
