package mariadb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"lockbench/locks"
	"lockbench/service"
)

// usualPort is the default port of URLs.
const usualPort = "3306"

// Schemes returns two synonyms without TLS, and two with TLS.
func (Service) Schemes() []string { return []string{"mysql", "mysqls", "mariadb", "mariadbs"} }

// Locate reads
//
//	mysql://user@host:port    one server, which must be writable
//
// and mysqls instead of mysql for TLS.
func (Service) Locate(urls []string) (l service.Location, err error) {
	u, err := service.OneGroup(urls, usualPort)
	if err != nil {
		return l, err
	}
	l = service.Location{
		Addrs: u.Addrs, User: u.User, TLS: strings.HasSuffix(u.Scheme, "s"), Passwordless: true, // some users have none
	}
	if l.User == "" {
		l.User = user
	}
	switch {
	case !slices.Contains(Service{}.Schemes(), u.Scheme):
		return l, fmt.Errorf("%s: a server is named as mysql://USER@HOST:PORT, or mysqls:// for TLS", urls[0])
	case u.Path != "":
		return l, fmt.Errorf("%s: /%s means nothing here: each run makes a database of its own", urls[0], u.Path)
	case len(l.Addrs) > 1:
		return l, errors.New("one server of MariaDB can be used, and not several: name the primary")
	}
	l.Topology, _ = service.Find(Service{}, locks.Single)
	return l, nil
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

// Survey asks the server for its product and version, and checks that it is writable and that the user
// may create the database of a run.
func (Service) Survey(ctx context.Context, l service.Location, dial service.Dialer) (service.Site, error) {
	addr := l.Addrs[0]
	site := l.Site()
	ctx, cancel := context.WithTimeout(ctx, 5*service.AskLimit)
	defer cancel()
	db, err := open(l.Logins[service.Data], func(ctx context.Context) (net.Conn, error) { return dial(ctx, service.Data, addr) })
	if err != nil {
		return site, err
	}
	defer db.Close()
	var version, readOnly, self string
	if err := db.QueryRowContext(ctx, "SELECT VERSION(), @@read_only, CURRENT_USER()").Scan(&version, &readOnly, &self); err != nil {
		return site, fmt.Errorf("%s: %w", addr, refused(err))
	}
	if site.About, err = about(version); err != nil {
		return site, fmt.Errorf("%s: %w", addr, err)
	}
	if err := writable(readOnly); err != nil {
		return site, fmt.Errorf("%s: %w: name the primary", addr, err)
	}
	switch _, err := db.ExecContext(ctx, mayMake); {
	case said(err, noDatabaseRight, noTableRight):
		at := strings.LastIndexByte(self, '@')
		return site, fmt.Errorf("%s: the user %s may make no database of a run: GRANT ALL ON `lockbench:%%`.* TO %s@%s", addr, l.User, quoted(self[:max(at, 0)]), quoted(self[at+1:]))
	case !said(err, noSuchDatabase, twoColumns):
		return site, fmt.Errorf("%s: may a database be made: %w", addr, err)
	}
	return site, nil
}

// about returns the product and the version. Other products use the same protocol.
func about(version string) (string, error) {
	number, _, is := strings.Cut(version, "-MariaDB")
	if !is {
		return "", fmt.Errorf("the server is not MariaDB: its version is %s", version)
	}
	return "MariaDB " + number, nil
}

// writable reads the variable read_only.
func writable(readOnly string) error {
	if readOnly != "0" && readOnly != "OFF" {
		return errors.New("it is read-only, as replicas are")
	}
	return nil
}

// external is an external server, which has fewer abilities.
type external struct {
	service.Servers
	own    *servers
	prefix string
	roomed *atomic.Bool // whether the database of the run should exist
}

func (s Service) OpenExternal(site service.Site, prefix string, h service.Host) service.ExternalServers {
	g := s.Open(site.Topology, h).(*servers)
	g.login = site.Logins[service.Data]
	f := external{g, g, prefix, &atomic.Bool{}}
	return service.ExternalServers{Servers: f, MakeRoom: f.MakeRoom, Under: f.Under, Clear: f.Clear, ByHand: f.ByHand}
}

// Abilities returns what the server reports. Lockbench orders external servers nothing.
func (f external) Abilities() service.Abilities {
	return service.Abilities{ClockOffset: f.own.ClockOffset}
}

// Params returns the login of clients, and the database of the run.
func (f external) Params() map[string]string {
	params := map[string]string{User: f.own.login.User, Database: f.prefix}
	if f.own.login.Password != "" {
		params[Password] = f.own.login.Password
	}
	return params
}

// Healthy needs no rights of the user: it does not look at replication.
func (f external) Healthy(ctx context.Context) error {
	return f.own.session(ctx, f.node(), service.AskLimit, func(ctx context.Context, c *sql.Conn) error {
		var readOnly string
		if err := c.QueryRowContext(ctx, "SELECT @@read_only").Scan(&readOnly); err != nil {
			return err
		}
		return writable(readOnly)
	})
}

// Leaders returns the only server, if it is writable.
func (f external) Leaders(ctx context.Context) []string {
	if f.Healthy(ctx) != nil {
		return nil
	}
	return []string{f.node()}
}

// The name of the only server.
func (f external) node() string { return f.own.Nodes()[0].Name }

// roomLimit is how long a database may take to be created or dropped: a connection that was cut off
// may hold its tables.
const roomLimit = 30 * time.Second

// MakeRoom creates the database for the tables of locks. Names of GET_LOCK are global in the server,
// and like all keys have the prefix of the run.
func (f external) MakeRoom(ctx context.Context) error {
	if err := f.own.order(ctx, f.node(), roomLimit, "CREATE DATABASE "+quoted(f.prefix)); err != nil {
		return err
	}
	f.roomed.Store(true)
	return nil
}

// Answers also creates the database again on a server that lost its data, because clients cannot
// connect without it.
func (f external) Answers(ctx context.Context, node string) error {
	if !f.roomed.Load() {
		return f.own.Answers(ctx, node)
	}
	return f.own.order(ctx, node, service.AskLimit, "CREATE DATABASE IF NOT EXISTS "+quoted(f.prefix))
}

// Under searches the names of databases.
func (f external) Under(ctx context.Context, text string, most int) (map[string][]string, error) {
	found, err := f.databases(ctx, "LOCATE(?, SCHEMA_NAME) > 0", text, most)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return map[string][]string{f.node(): found}, nil
}

func (f external) databases(ctx context.Context, which string, args ...any) (found []string, err error) {
	return found, f.own.session(ctx, f.node(), service.AskLimit, func(ctx context.Context, c *sql.Conn) error {
		rows, err := c.QueryContext(ctx, "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE "+which+" ORDER BY 1 LIMIT ?", args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for found = nil; rows.Next(); {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			found = append(found, name)
		}
		return rows.Err()
	})
}

// Clear drops the database of the run.
func (f external) Clear(ctx context.Context) (int, error) {
	own, err := f.databases(ctx, "SCHEMA_NAME = ?", f.prefix, 1)
	if err != nil || len(own) == 0 {
		return 0, err
	}
	f.roomed.Store(false)
	return 1, f.own.order(ctx, f.node(), roomLimit, "DROP DATABASE IF EXISTS "+quoted(f.prefix))
}

func (external) ByHand(text string) string {
	return fmt.Sprintf("DROP DATABASE `NAME` in mariadb, for each database of which the name has %q in it (SHOW DATABASES lists them)", text)
}
