package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"lockbench/internal/service"
	"lockbench/internal/service/operator"
)

// login is the user and the database with which lockbench logs in.
type login struct {
	service.Credentials
	database string
}

// open returns a handle that logs in on the connections that dial makes.
func open(as login, dial operator.Dial) (*sql.DB, error) {
	cfg, err := pgx.ParseConfig("postgres://127.0.0.1/?sslmode=disable")
	if err != nil {
		return nil, err
	}
	// Do not use the environment or a password file.
	cfg.User, cfg.Password, cfg.Database = as.User, as.Password, as.database
	cfg.Fallbacks, cfg.ValidateConnect, cfg.AfterConnect, cfg.KerberosSrvName, cfg.KerberosSpn = nil, nil, nil, "", ""
	cfg.RuntimeParams = map[string]string{"application_name": "lockbench"}
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, err := dial(ctx)
		if err != nil {
			return nil, undialled{err}
		}
		return c, nil
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	return operator.OpenDB(stdlib.GetConnector(*cfg), explain), nil
}

// undialled is an error of a dialer. The library wraps it in a text with an address that does not exist.
type undialled struct{ error }

func (u undialled) Unwrap() error { return u.error }

// explain returns a [service.LoginError] for a refused login.
func explain(err error) error {
	var answer *pgconn.PgError
	switch failed := (undialled{}); {
	case errors.As(err, &failed):
		return failed.error
	case errors.As(err, &answer) && strings.HasPrefix(answer.Code, "28"): // invalid authorization
		return &service.LoginError{Said: answer.Message}
	case errors.As(err, &answer):
		return fmt.Errorf("it refuses the connection: %s", answer.Message)
	}
	return err
}

// sslRequest asks whether a server supports TLS. The server answers with one letter before the login.
var sslRequest = []byte{0, 0, 0, 8, 4, 210, 22, 47}

// askTLS returns that letter: S or N. On a connection that has TLS the answer is an error, E.
func askTLS(ctx context.Context, c net.Conn) (byte, error) {
	var answer [1]byte
	err := service.Interrupt(ctx, c, func() error {
		_, err := c.Write(sslRequest)
		if err == nil {
			_, err = io.ReadFull(c, answer[:])
		}
		return err
	})
	return answer[0], err
}

// Greet asks whether the server supports TLS; each answer is a sign of life. With a load, Greet logs in and
// lets the server send the load back.
func (g *servers) Greet(ctx context.Context, _ string, c net.Conn, load int) error {
	if load > 0 {
		return g.Carry(ctx, c, load)
	}
	answer, err := askTLS(ctx, c)
	if err == nil && !strings.ContainsRune("NSE", rune(answer)) {
		err = fmt.Errorf("it answered %q", answer)
	}
	return err
}
