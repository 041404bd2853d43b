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

	"github.com/go-sql-driver/mysql"

	"lockbench/internal/service"
	"lockbench/internal/service/operator"
)

// quiet discards the log of the client library.
type quiet struct{}

func (quiet) Print(...any) {}

// explain returns a [service.LoginError] for a refused login.
func explain(err error) error {
	var answer *mysql.MySQLError
	if errors.As(err, &answer) && strings.HasPrefix(string(answer.SQLState[:]), "28") { // invalid authorization
		return &service.LoginError{Said: answer.Message}
	}
	return err
}

// open returns a handle that logs in on the connections that dial makes.
func open(as service.Credentials, dial operator.Dial) (*sql.DB, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr, cfg.Logger = as.User, as.Password, "tcp", "mariadb:1", quiet{}
	cfg.InterpolateParams = true
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return operator.OpenDB(connector, explain), nil
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
func (g *servers) Greet(ctx context.Context, _ string, c net.Conn, load int) error {
	if load > 0 {
		return g.Carry(ctx, c, load)
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
