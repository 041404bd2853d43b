package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"lockbench/locks"
	"lockbench/service"
)

// usualPort is the default port of URLs.
const usualPort = "5432"

// Schemes returns two synonyms.
func (Service) Schemes() []string { return []string{"postgres", "postgresql"} }

// Locate reads
//
//	postgres://user@host:port/database    one server, a primary
//
// and postgres+tls instead of postgres for TLS.
func (Service) Locate(urls []string) (l service.Location, err error) {
	u, err := service.OneGroup(urls, usualPort)
	if err != nil {
		return l, err
	}
	way, tls, secured := strings.Cut(u.Scheme, "+")
	l = service.Location{
		Addrs: u.Addrs, User: u.User, Database: u.Path, TLS: tls == "tls", Passwordless: true, // by certificates, or by trust
	}
	if l.User == "" {
		l.User = user
	}
	if l.Database == "" {
		l.Database = database
	}
	switch {
	case !slices.Contains(Service{}.Schemes(), way) || secured && !l.TLS:
		return l, fmt.Errorf("%s: a server is named as postgres://USER@HOST:PORT/DATABASE, or postgres+tls:// for TLS", urls[0])
	case strings.Contains(l.Database, "?"):
		return l, fmt.Errorf("%s: settings in a URL mean nothing here: TLS is postgres+tls://, and --tls-ca FILE", urls[0])
	case len(l.Addrs) > 1:
		return l, errors.New("one server of PostgreSQL can be used, and not several: name the primary")
	}
	l.Topology, _ = service.Find(Service{}, locks.Single)
	return l, nil
}

// Login starts TLS. PostgreSQL answers a request in plain text before the TLS handshake.
func (Service) Login(ctx context.Context, c net.Conn, how service.Access) (net.Conn, error) {
	if how.TLS == nil {
		return c, nil
	}
	var answer [1]byte
	err := service.Interrupt(ctx, c, func() error {
		_, err := c.Write(sslRequest)
		if err == nil {
			_, err = io.ReadFull(c, answer[:])
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case answer[0] != 'S':
		return nil, errors.New("it does not support TLS, which the URL asks for")
	}
	return how.Secure(ctx, c)
}

// quoted returns a name in quotes, so that it is not taken for a keyword of SQL.
func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// Survey asks the server for its version and role, and checks that the user may create the schema of a
// run.
func (Service) Survey(ctx context.Context, l service.Location, dial service.Dialer) (service.Site, error) {
	addr := l.Addrs[0]
	site := l.Site()
	ctx, cancel := context.WithTimeout(ctx, 5*service.AskLimit)
	defer cancel()
	as := login{l.Logins[service.Data], l.Database}
	c, err := open(ctx, as, func(ctx context.Context) (net.Conn, error) { return dial(ctx, service.Data, addr) })
	if err != nil {
		return site, fmt.Errorf("%s: %w", addr, err)
	}
	defer c.Close(ctx)
	var version string
	var standby, may bool
	err = c.QueryRow(ctx, "SELECT current_setting('server_version'), pg_is_in_recovery(), has_database_privilege(current_database(), 'CREATE')").Scan(&version, &standby, &may)
	switch {
	case err != nil:
		return site, fmt.Errorf("%s: %w", addr, err)
	case standby:
		return site, fmt.Errorf("%s is a standby: name the primary", addr)
	case !may:
		return site, fmt.Errorf("%s: the user %s may make no schema in the database %s: GRANT CREATE ON DATABASE %s TO %s",
			addr, l.User, l.Database, quoted(l.Database), quoted(l.User))
	}
	version, _, _ = strings.Cut(version, " ")
	site.About = "PostgreSQL " + version
	return site, nil
}

// external is an external server, which has fewer abilities.
type external struct {
	service.Servers
	own    *servers
	prefix string
}

func (s Service) OpenExternal(site service.Site, prefix string, h service.Host) service.ExternalServers {
	g := s.Open(site.Topology, h).(*servers)
	g.login = login{site.Logins[service.Data], site.Database}
	f := external{g, g, prefix}
	return service.ExternalServers{Servers: f, MakeRoom: f.MakeRoom, Under: f.Under, Clear: f.Clear, ByHand: f.ByHand}
}

// Abilities returns what the server reports. Lockbench orders external servers nothing.
func (f external) Abilities() service.Abilities {
	return service.Abilities{ClockOffset: f.own.ClockOffset}
}

// Params returns the login of clients and the schema of the run.
func (f external) Params() map[string]string {
	params := f.own.Params()
	params[Schema] = f.prefix
	if f.own.login.Password != "" {
		params[Password] = f.own.login.Password
	}
	return params
}

// The name of the only server.
func (f external) node() string { return f.own.Nodes()[0].Name }

// MakeRoom creates the schema for the tables of locks. Names of advisory locks have the prefix of the
// run, as all keys have.
func (f external) MakeRoom(ctx context.Context) error {
	return f.own.order(ctx, f.node(), "CREATE SCHEMA "+quoted(f.prefix))
}

// dropLimit is how long dropping a schema may take: a connection that was cut off may hold its tables.
const dropLimit = 30 * time.Second

// Under searches the names of schemas.
func (f external) Under(ctx context.Context, text string, most int) (map[string][]string, error) {
	var found []string
	err := f.own.session(ctx, f.node(), service.AskLimit, func(ctx context.Context, c *pgx.Conn) error {
		rows, err := c.Query(ctx, "SELECT nspname FROM pg_namespace WHERE strpos(nspname, $1) > 0 ORDER BY 1 LIMIT $2", text, most)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return map[string][]string{f.node(): found}, nil
}

// Clear drops the schema of the run.
func (f external) Clear(ctx context.Context) (int, error) {
	under, err := f.Under(ctx, f.prefix, 1)
	if err != nil || len(under) == 0 {
		return 0, err
	}
	return 1, f.own.session(ctx, f.node(), dropLimit, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "DROP SCHEMA IF EXISTS "+quoted(f.prefix)+" CASCADE")
		return err
	})
}

func (external) ByHand(text string) string {
	return fmt.Sprintf(`DROP SCHEMA "NAME" CASCADE in psql, for each schema of which the name has %q in it (\dn lists them)`, text)
}
