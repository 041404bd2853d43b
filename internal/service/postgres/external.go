package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"

	"lockbench/internal/service"
	"lockbench/internal/service/operator"
)

// urls are such as postgres://user@host:port/database for one server, a primary.
var urls = service.URLForm{
	Plain: []string{"postgres", "postgresql"}, TLS: []string{"postgres+tls", "postgresql+tls"}, Port: "5432",
	Named: "a server is named as postgres://USER@HOST:PORT/DATABASE, or postgres+tls:// for TLS",
	One:   topologies[0],
	// Servers may let users in by certificates, or by trust.
	Location: service.Location{User: user, Database: database, Passwordless: true},
}

// startTLS starts TLS. PostgreSQL answers a request in plain text before the TLS handshake.
func startTLS(ctx context.Context, c net.Conn, how service.Access) (net.Conn, error) {
	if how.TLS == nil {
		return c, nil
	}
	switch answer, err := askTLS(ctx, c); {
	case err != nil:
		return nil, err
	case answer != 'S':
		return nil, errors.New("it does not support TLS, which the URL asks for")
	}
	return service.Secure(ctx, c, how)
}

// quoted returns a name in quotes, so that it is not taken for a keyword of SQL.
func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// survey asks the server for its version and role, and checks that the user may create the schema of a
// run.
func survey(ctx context.Context, l service.Location, dial service.Dialer) (service.Site, error) {
	return l.Survey(ctx, func(ctx context.Context, addr string) (is service.Identity, err error) {
		var version string
		var standby, may bool
		err = dial.Ask(ctx, addr, func(ctx context.Context, c net.Conn) error {
			db, err := open(login{l.Logins[service.Data], l.Database}, service.Once(c))
			if err != nil {
				return err
			}
			defer db.Close()
			return db.QueryRowContext(ctx, "SELECT current_setting('server_version'), pg_is_in_recovery(), has_database_privilege(current_database(), 'CREATE')").
				Scan(&version, &standby, &may)
		})
		switch {
		case err != nil:
			return is, err
		case standby:
			return is, fmt.Errorf("%s is a standby: name the primary", addr)
		case !may:
			return is, fmt.Errorf("%s: the user %s may not create a schema in the database %s: GRANT CREATE ON DATABASE %s TO %s",
				addr, l.User, l.Database, quoted(l.Database), quoted(l.User))
		}
		version, _, _ = strings.Cut(version, " ")
		return service.Identity{About: "PostgreSQL " + version}, nil
	})
}

func openExternal(site service.Site, prefix string, h service.Host) service.ExternalServers {
	g := newServers(site.Topology, h, login{site.Logins[service.Data], site.Database}, prefix)
	return g.External(g, prefix, operator.Schemas{
		Create: "CREATE SCHEMA IF NOT EXISTS %s", Drop: "DROP SCHEMA IF EXISTS %s CASCADE", Quote: quoted,
		Find:   "SELECT nspname FROM pg_namespace WHERE strpos(nspname, $1) > 0 ORDER BY 1 LIMIT $2",
		ByHand: `DROP SCHEMA "NAME" CASCADE in psql, for each schema of which the name has %q in it (\dn lists them)`,
	})
}
