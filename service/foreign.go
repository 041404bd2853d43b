package service

import (
	"context"
	"crypto/tls"
	"net"
)

// Foreign is a service that can be used where somebody else runs it. Nothing is asked of the
// servers but what a guest may ask: no setting is changed, and no key is touched that is not
// under a prefix of lockbench's own.
type Foreign interface {
	Service
	// Schemes are what a URL of its servers may begin with, before a plus: "redis", "rediss".
	Schemes() []string
	// Locate reads the addresses by which a person names servers, each a URL, and says what they
	// form. Its errors are wrong usage.
	Locate(urls []string) (Location, error)
	// Login makes of a new connection to a server one on which a client that knows no secret can
	// begin. It does TLS, see [Access.Secure], and says who it is. A refusal is a [LoginError]. What
	// it returns has a CloseWrite, as connections of TCP and TLS have. If it fails, whoever has
	// made the connection closes it.
	Login(ctx context.Context, c net.Conn, how Access) (net.Conn, error)
	// Survey asks the servers what there is. Dial connects to one of a role and has logged in.
	Survey(ctx context.Context, l Location, dial func(ctx context.Context, r Role, addr string) (net.Conn, error)) (Site, error)
	// OpenForeign is the servers of a site, with what a guest may do to them whose keys begin with
	// a prefix.
	OpenForeign(s Site, prefix string, h Host) ForeignServers
}

// Location is where servers of somebody else's are looked for.
type Location struct {
	Topology Topology
	Addrs    []string // host:port, of the nodes that clients are told
	Master   string   // what watchers call the leader; empty: nobody watches
	User     string   // of the data nodes; empty: the usual one
	TLS      bool
	Database string // where a server has several
	// Logins are the users and passwords by role. They reach servers and guests, and never a
	// result, a history or a log.
	Logins map[Role]Credentials
	// Passwordless says that a user needs no password: the server decides.
	Passwordless bool
	// ALPN is what is offered by TLS to be spoken; empty: nothing is said of it.
	ALPN []string
	// NoLogin is why no user and no password can be given, and what can; empty: they can.
	NoLogin string
}

// Credentials are the user and the password of one role. Empty fields are not sent.
type Credentials struct{ User, Password string }

// String hides the password.
func (c Credentials) String() string { return c.User + ":xxxxx" }

// Access is how a server is entered.
type Access struct {
	Credentials
	TLS      *tls.Config // nil: none
	Database string
}

// Secure is TLS on a new connection, where access asks for it.
func (a Access) Secure(ctx context.Context, c net.Conn) (net.Conn, error) {
	if a.TLS == nil {
		return c, nil
	}
	secure := tls.Client(c, a.TLS)
	return secure, secure.HandshakeContext(ctx)
}

// LoginError is a server that does not let somebody in.
type LoginError struct {
	Said string
	Role Role // of the server, where that is known
}

func (e *LoginError) Error() string { return "it refuses the login: " + e.Said }

// Site is what there is at a location.
type Site struct {
	Location
	// Topology has as many nodes as were found. Addrs are where they are, by node.
	Topology Topology
	Addrs    map[string]string
	// Called are the addresses by which the servers call each other and clients are led to
	// them, and whose they are.
	Called map[string]string
	About  string // the version
}

// Roomed are [ForeignServers] that need a room for what is a run's own, such as a schema. It is
// made when nobody has keys under the prefix, and is one of these.
type Roomed interface {
	MakeRoom(ctx context.Context) error
}

// ForeignServers are servers of somebody else's.
type ForeignServers interface {
	Servers
	// Under names so many keys at most in which there is a text, whoever's they are, by the
	// leader that has them. A service whose locks have their keys' names in front may look
	// there alone.
	Under(ctx context.Context, text string, most int) (map[string][]string, error)
	// Clear removes all own keys, and says how many there were.
	Clear(ctx context.Context) (int, error)
	// ByHand is the command by which a person removes all keys with a text.
	ByHand(text string) string
}
