package mariadb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"lockbench/internal/service"
	"lockbench/internal/service/operator"
)

// urls are such as mysql://user@host:port for one server, which must be writable.
var urls = service.URLForm{
	Plain: []string{"mysql", "mariadb"}, TLS: []string{"mysqls", "mariadbs"}, Port: "3306",
	Named:  "a server is named as mysql://USER@HOST:PORT, or mysqls:// for TLS",
	NoPath: "each run makes a database of its own",
	One:    topologies[0],
	// Some users have no password.
	Location: service.Location{User: user, Passwordless: true},
}

// quoted returns a name in quotes, so that it is not taken for a keyword of SQL.
func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// said reports whether an error is an answer of the server with one of the numbers.
func said(err error, numbers ...uint16) bool {
	var answer *mysql.MySQLError
	return errors.As(err, &answer) && slices.Contains(numbers, answer.Number)
}

// Error codes of [mayMake]: the first for users that lack the right, the others for users that have
// it.
const (
	noDatabaseRight = 1044
	noTableRight    = 1142
	noSuchDatabase  = 1049
	twoColumns      = 1060
)

// mayMake always fails and creates nothing. The server checks the rights first, so that the error
// shows whether the user may create the database of a run.
const mayMake = "CREATE TABLE `lockbench:`.refused (n INT, n INT)"

// survey asks the server for its product and version, and checks that it is writable and that the user
// may create the database of a run.
func survey(ctx context.Context, l service.Location, dial service.Dialer) (service.Site, error) {
	return l.Survey(ctx, func(ctx context.Context, addr string) (is service.Identity, err error) {
		var version, readOnly, self string
		var refusal error
		err = dial.Ask(ctx, addr, func(ctx context.Context, c net.Conn) error {
			db, err := open(l.Logins[service.Data], service.Once(c))
			if err != nil {
				return err
			}
			defer db.Close()
			if err := db.QueryRowContext(ctx, "SELECT VERSION(), @@read_only, CURRENT_USER()").Scan(&version, &readOnly, &self); err != nil {
				return err
			}
			if is.About, err = about(version); err != nil {
				return err
			}
			if !writable(readOnly) {
				return errors.New("it is read-only, like a replica: name the primary")
			}
			_, refusal = db.ExecContext(ctx, mayMake)
			return nil
		})
		switch {
		case err != nil:
		case said(refusal, noDatabaseRight, noTableRight):
			at := strings.LastIndexByte(self, '@')
			err = fmt.Errorf("%s: the user %s may not create the database of a run: GRANT ALL ON `lockbench:%%`.* TO %s@%s", addr, l.User, quoted(self[:max(at, 0)]), quoted(self[at+1:]))
		case !said(refusal, noSuchDatabase, twoColumns):
			err = fmt.Errorf("%s: may a database be made: %w", addr, refusal)
		}
		return is, err
	})
}

// about returns the product and the version. Other products use the same protocol.
func about(version string) (string, error) {
	number, _, is := strings.Cut(version, "-MariaDB")
	if !is {
		return "", fmt.Errorf("the server is not MariaDB: its version is %s", version)
	}
	return "MariaDB " + number, nil
}

// writable reads the variable read_only, which is a number or a word.
func writable(readOnly string) bool { return readOnly == "0" || readOnly == "OFF" }

func openExternal(site service.Site, prefix string, h service.Host) service.ExternalServers {
	g := newServers(site.Topology, h, site.Logins[service.Data], prefix)
	return g.External(g, prefix, operator.Schemas{
		Create: "CREATE DATABASE IF NOT EXISTS %s", Drop: "DROP DATABASE IF EXISTS %s", Quote: quoted,
		Find:   "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE LOCATE(?, SCHEMA_NAME) > 0 ORDER BY 1 LIMIT ?",
		ByHand: "DROP DATABASE `NAME` in mariadb, for each database of which the name has %q in it (SHOW DATABASES lists them)",
	})
}
