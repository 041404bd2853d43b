package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
)

// Foreign is a service whose servers may be external. Lockbench sends such servers only requests
// that a guest may send: it changes no setting, and touches only keys under its own prefix.
type Foreign interface {
	Service
	// Schemes returns the schemes of URLs, up to a plus: "redis", "rediss".
	Schemes() []string
	// Locate reads the URLs of servers, as a user passes them to --servers. Its errors are errors of usage.
	Locate(urls []string) (Location, error)
	// Login prepares a new connection for a client that has no credentials: it does TLS, see
	// [Access.Secure], and logs in. A refusal is a [LoginError]. The result has a method CloseWrite,
	// as connections of TCP and TLS have. If Login fails, the caller closes c.
	Login(ctx context.Context, c net.Conn, how Access) (net.Conn, error)
	// Survey asks the servers for their identities and whether all servers are named.
	Survey(ctx context.Context, l Location, dial Dialer) (Site, error)
	// OpenForeign returns the servers of a site. They touch only keys under the prefix.
	OpenForeign(s Site, prefix string, h Host) ForeignServers
}

// Dialer connects to an external server of a role and starts TLS, see [Foreign.Login].
type Dialer func(ctx context.Context, r Role, addr string) (net.Conn, error)

// Ask runs do with a new connection to a data server, and interrupts it at a limit. The limit is longer
// than [AskLimit], because nothing is known about the server yet.
func (dial Dialer) Ask(ctx context.Context, addr string, do func(context.Context, net.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, 5*AskLimit)
	defer cancel()
	c, err := dial(ctx, Data, addr)
	if err == nil {
		err = Interrupt(ctx, c, func() error { return do(ctx, c) })
		c.Close()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", addr, err)
	}
	return nil
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

// Secure starts TLS on a new connection if a.TLS is set.
func (a Access) Secure(ctx context.Context, c net.Conn) (net.Conn, error) {
	if a.TLS == nil {
		return c, nil
	}
	secure := tls.Client(c, a.TLS)
	return secure, secure.HandshakeContext(ctx)
}

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

// Site returns the site whose nodes are the servers that the user named, in that order.
func (l Location) Site() Site {
	s := Site{Location: l, Topology: l.Topology, Addrs: map[string]string{}, Called: map[string]string{}}
	for i, n := range l.Topology.Nodes() {
		s.Addrs[n.Name], s.Called[l.Addrs[i]] = l.Addrs[i], n.Name
	}
	return s
}

// Roomed are [ForeignServers] that need a container for the keys of a run, such as a schema. It is
// created after no keys were found under the prefix.
type Roomed interface {
	MakeRoom(ctx context.Context) error
}

// ForeignServers are external servers.
type ForeignServers interface {
	Servers
	// Under returns up to most keys that contain a text, in all runs, by the leader that holds them.
	// A service whose locks begin all keys with their names may look only there.
	Under(ctx context.Context, text string, most int) (map[string][]string, error)
	// Clear removes all keys under the prefix and returns their number.
	Clear(ctx context.Context) (int, error)
	// ByHand returns the shell command with which a user removes all keys that contain a text.
	ByHand(text string) string
}

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
