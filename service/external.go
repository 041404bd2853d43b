package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
)

// Dialer connects to an external server of a role and starts TLS, see [Service.Login].
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

// ExternalServers are running external servers, and the keys of a run on them.
type ExternalServers struct {
	Servers
	// MakeRoom makes a container for the keys of a run, such as a schema. It is called after no keys
	// were found under the prefix. Nil: keys need no container.
	MakeRoom func(ctx context.Context) error
	// Under returns up to most keys that contain a text, in all runs, by the leader that holds them.
	// A service whose locks begin all keys with their names may look only there.
	Under func(ctx context.Context, text string, most int) (map[string][]string, error)
	// Clear removes all keys under the prefix and returns their number.
	Clear func(ctx context.Context) (int, error)
	// ByHand returns the shell command with which a user removes all keys that contain a text.
	ByHand func(text string) string
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
