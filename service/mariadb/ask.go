package mariadb

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"lockbench/service"
)

// kept is an open connection to a node. It is reused, because roles are checked twenty times a second.
type kept struct {
	sync.Mutex
	db *sql.DB
}

// quiet discards the log of the client library.
type quiet struct{}

func (quiet) Print(...any) {}

// refused returns a [service.LoginError] if the server has refused the login.
func refused(err error) error {
	var answer *mysql.MySQLError
	if errors.As(err, &answer) && strings.HasPrefix(string(answer.SQLState[:]), "28") { // invalid authorization
		return &service.LoginError{Said: answer.Message}
	}
	return err
}

// open returns a handle that logs in on the connections that dial makes, one at a time.
func open(as service.Credentials, dial func(context.Context) (net.Conn, error)) (*sql.DB, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr, cfg.Logger = as.User, as.Password, "tcp", "mariadb:1", quiet{}
	cfg.InterpolateParams = true
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, nil
}

// session calls do with a connection to a node, past all faults. If an old connection has ended with
// the server, the library makes another one.
func (g *servers) session(ctx context.Context, node string, limit time.Duration, do func(context.Context, *sql.Conn) error) error {
	if s := g.host.Status(node); s.Why != nil {
		return fmt.Errorf("%s: %w", node, s.Why)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	k := g.kept[node]
	k.Lock()
	if k.db == nil {
		var err error
		if k.db, err = open(g.login, func(ctx context.Context) (net.Conn, error) { return g.host.Dial(ctx, node) }); err != nil {
			k.Unlock()
			return err
		}
	}
	db := k.db
	k.Unlock()
	c, err := db.Conn(ctx)
	if err == nil {
		defer c.Close()
		err = do(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", node, err)
	}
	return nil
}

// Close ends the connections.
func (g *servers) Close() error {
	for _, k := range g.kept {
		k.Lock()
		if k.db != nil {
			_ = k.db.Close() // its server has ended, or will
		}
		k.Unlock()
	}
	return nil
}

// order executes a statement without results.
func (g *servers) order(ctx context.Context, node string, limit time.Duration, statements ...string) error {
	return g.session(ctx, node, limit, func(ctx context.Context, c *sql.Conn) error {
		for _, s := range statements {
			if _, err := c.ExecContext(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	})
}

// row returns one row as texts by the names of its columns, or nil if there is no row.
func row(ctx context.Context, c *sql.Conn, question string) (map[string]string, error) {
	rows, err := c.QueryContext(ctx, question)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil || !rows.Next() {
		return nil, err
	}
	values, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	said := map[string]string{}
	for i, name := range names {
		said[name] = values[i].String
	}
	return said, rows.Err()
}

// Greet waits for the first message of a server. With a load it logs in and has the load sent back.
func (g *servers) Greet(ctx context.Context, c net.Conn, load int) error {
	if load > 0 {
		return g.carry(ctx, c, load)
	}
	return service.Interrupt(ctx, c, func() error {
		// Three bytes of a length, the number of the message, and the version of the protocol.
		var greeting [5]byte
		_, err := io.ReadFull(bufio.NewReader(c), greeting[:])
		if err == nil && greeting[4] != 10 {
			err = fmt.Errorf("it greets with %d", greeting)
		}
		return err
	})
}

func (g *servers) carry(ctx context.Context, c net.Conn, load int) error {
	db, err := open(g.login, func(context.Context) (net.Conn, error) { return c, nil })
	if err != nil {
		return err
	}
	defer db.Close()
	back := ""
	err = db.QueryRowContext(ctx, "SELECT '"+strings.Repeat("x", load)+"'").Scan(&back)
	if err == nil && len(back) != load {
		err = fmt.Errorf("of %d bytes %d came back", load, len(back))
	}
	return err
}
