package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync/atomic"
)

// External is how lockbench uses servers that it does not run. It sends them only requests that a guest may
// send: it changes no setting, and touches only keys under its own prefix.
type External struct {
	Schemes []string // of URLs, up to a plus: "redis", "rediss"
	// Locate reads the URLs of servers, as a user passes them to --servers. Its errors are errors of usage.
	Locate func(urls []string) (Location, error)
	// Login prepares a new connection for a client: it does TLS, see [Secure], and may log in. A refusal
	// is a [LoginError]. The result has a method CloseWrite, as connections of TCP and TLS have. If Login
	// fails, the caller closes c.
	Login func(ctx context.Context, c net.Conn, how Access) (net.Conn, error)
	// Survey asks the servers for their identities and whether all servers are named.
	Survey func(ctx context.Context, l Location, dial Dialer) (Site, error)
	// Open returns the servers of a site. They touch only keys under the prefix.
	Open func(s Site, prefix string, h Host) ExternalServers
}

// Dialer connects to an external server of a role and starts TLS, see [External.Login].
type Dialer func(ctx context.Context, r Role, addr string) (net.Conn, error)

// Ask runs do with a new connection to a data server, and interrupts it at a limit. The limit is longer
// than [AskLimit], because nothing is known about the server yet.
func (dial Dialer) Ask(ctx context.Context, addr string, do func(context.Context, net.Conn) error) error {
	return ask(ctx, addr, 5*AskLimit, func(ctx context.Context) (net.Conn, error) { return dial(ctx, Data, addr) }, do)
}

// Location is where external servers are looked for.
type Location struct {
	Topology Topology
	Addrs    []string // host:port, of the nodes whose addresses clients get
	Master   string   // the name of the leader in watchers such as Sentinel; empty: there are no watchers
	User     string   // of the data nodes; empty: the default user
	TLS      bool
	Database string // in services that have several
	// Logins are the users and passwords by role. They reach servers and guests, and never a
	// result, a history or a log.
	Logins map[Role]Credentials
	// Passwordless reports that a user without a password is allowed: the server decides.
	Passwordless bool
	// ALPN are the protocols that TLS offers; empty: the extension is not sent.
	ALPN []string
	// NoLogin is why the service takes no user and password, and which alternative there is; empty: it
	// takes them.
	NoLogin string
}

// Credentials are the user and the password of one role. Empty fields are not sent.
type Credentials struct{ User, Password string }

// String hides the password.
func (c Credentials) String() string { return c.User + ":xxxxx" }

// Access is how to secure a connection to a server and log in to it.
type Access struct {
	Credentials
	TLS      *tls.Config // nil: none
	Database string
}

// Secure starts TLS on a new connection if how.TLS is set. It is [External.Login] of services whose
// connections begin with TLS.
func Secure(ctx context.Context, c net.Conn, how Access) (net.Conn, error) {
	if how.TLS == nil {
		return c, nil
	}
	secure := tls.Client(c, how.TLS)
	if err := secure.HandshakeContext(ctx); err != nil {
		return secure, fmt.Errorf("%w: %w", ErrHandshake, err)
	}
	return secure, nil
}

// ErrHandshake reports that TLS could not be started.
var ErrHandshake = errors.New("TLS handshake")

// LoginError reports that a server refused the login.
type LoginError struct {
	Said string
	Role Role // of the server, if it is known
}

func (e *LoginError) Error() string { return "it refuses the login: " + e.Said }

// Site describes the servers that Survey found at a location.
type Site struct {
	Location
	// Topology has as many nodes as were found. Addrs are their addresses by node.
	Topology Topology
	Addrs    map[string]string
	// Called maps the addresses by which the servers call each other, and to which they redirect
	// clients, to the names of the nodes.
	Called map[string]string
	About  string // the version
}

// Identity is what an external server reports about itself.
type Identity struct {
	About string // the product and the version
	ID    string // no other server has it; empty: the server does not report one
	Group string // the cluster that it is part of
	// Also is another address of the server, which the members of the cluster use.
	Also string
	// Members are descriptions of all members that serve clients, by their IDs; nil: the server does not know.
	Members map[string]string
}

// Survey asks each server that the user named for its identity. All must be different members of one
// group, and must be all members.
func (l Location) Survey(ctx context.Context, identify func(ctx context.Context, addr string) (Identity, error)) (Site, error) {
	site := Site{Location: l, Topology: l.Topology, Addrs: map[string]string{}, Called: map[string]string{}}
	var first Identity
	seen := map[string]string{} // addresses by the IDs of servers
	for i, n := range l.Topology.Nodes() {
		addr := l.Addrs[i]
		site.Addrs[n.Name], site.Called[addr] = addr, n.Name
		is, err := identify(ctx, addr)
		if i == 0 {
			first = is
		}
		switch {
		case err != nil:
			return site, err
		case is.ID != "" && seen[is.ID] != "":
			return site, fmt.Errorf("%s is the same server as %s", addr, seen[is.ID])
		case is.Group != first.Group:
			return site, fmt.Errorf("%s and %s are of two clusters, %q and %q: name the members of one", l.Addrs[0], addr, first.Group, is.Group)
		}
		seen[is.ID], site.About = addr, is.About
		if is.Also != "" {
			site.Called[is.Also] = n.Name
		}
	}
	for _, id := range slices.Sorted(maps.Keys(first.Members)) {
		if seen[id] == "" {
			return site, fmt.Errorf("%s has a member %s that --servers does not name: name all members, by the addresses that clients use", l.Addrs[0], first.Members[id])
		}
	}
	return site, nil
}

// ExternalServers are running external servers, and the keys of a run on them.
type ExternalServers struct {
	Servers
	// MakeRoom makes a container for the keys of a run, such as a schema. It is called after no keys
	// were found under the prefix. Nil: keys need no container.
	MakeRoom func(ctx context.Context) error
	// Under returns up to most keys that contain a text, in all runs, by the leader that holds them.
	// A service whose locks begin all keys with their names may look only there.
	Under func(ctx context.Context, text string, most int) (map[string][]string, error)
	// All returns the names of up to most keys of any program. Nil: the service has no cheap list of them.
	All func(ctx context.Context, most int) ([]string, error)
	// Clear removes all keys under the prefix and returns their number.
	Clear func(ctx context.Context) (int, error)
	// ByHand returns the shell command with which a user removes all keys that contain a text.
	ByHand func(text string) string
	// Can are the abilities that external servers have: those that order nothing.
	Can Abilities
}

// Abilities returns the abilities that external servers have.
func (s ExternalServers) Abilities() Abilities { return s.Can }

// ClearEach is [ExternalServers.Clear] for services that remove keys one by one. It lists the keys under
// the prefix until there are none; remove removes one and returns how many keys went with it.
func (s ExternalServers) ClearEach(ctx context.Context, prefix string, remove func(ctx context.Context, node, key string) (int, error)) (n int, err error) {
	const atOnce = 1000
	for {
		under, err := s.Under(ctx, prefix, atOnce)
		if err != nil || len(under) == 0 {
			return n, err
		}
		for node, keys := range under {
			for _, key := range keys {
				removed, err := remove(ctx, node, key)
				if n += removed; err != nil {
					return n, fmt.Errorf("remove %q of %s: %w", key, node, err)
				}
			}
		}
	}
}

// The methods below do nothing: lockbench changes no setting of external servers, and no membership.
func (ExternalServers) Form(context.Context) error                   { return nil }
func (ExternalServers) Started(context.Context, string) error        { return nil }
func (ExternalServers) Rejoin(context.Context, string) (bool, error) { return false, nil }
func (ExternalServers) Operate(context.Context)                      {}

// Once returns a dial function that returns c, and fails when it is called again. A library calls it
// again after the connection has failed.
func Once(c net.Conn) func(context.Context) (net.Conn, error) {
	var used atomic.Bool
	return func(context.Context) (net.Conn, error) {
		if used.Swap(true) {
			return nil, errors.New("the server closed the connection")
		}
		return c, nil
	}
}
