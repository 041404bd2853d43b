package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"lockbench/service"
)

// kept is an open connection to a node. A new one costs a process of the server, and roles are checked
// twenty times a second.
type kept struct {
	sync.Mutex
	conn *pgx.Conn
}

// login is the user and the database with which lockbench logs in.
type login struct {
	service.Credentials
	database string
}

// open logs in on a connection. A refused login is a [service.LoginError].
func open(ctx context.Context, as login, dial func(context.Context) (net.Conn, error)) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig("postgres://127.0.0.1/?sslmode=disable")
	if err != nil {
		return nil, err
	}
	// Do not use the environment or a password file.
	cfg.User, cfg.Password, cfg.Database = as.User, as.Password, as.database
	cfg.Fallbacks, cfg.ValidateConnect, cfg.AfterConnect, cfg.KerberosSrvName, cfg.KerberosSpn = nil, nil, nil, "", ""
	cfg.RuntimeParams = map[string]string{"application_name": "lockbench"}
	// pgx also dials to cancel a query.
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, err := dial(ctx)
		if err != nil {
			return nil, undialled{err}
		}
		return c, nil
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	c, err := pgx.ConnectConfig(ctx, cfg)
	var answer *pgconn.PgError
	switch failed := (undialled{}); {
	case errors.As(err, &failed):
		return nil, failed.error
	case errors.As(err, &answer) && strings.HasPrefix(answer.Code, "28"): // invalid authorization
		return nil, &service.LoginError{Said: answer.Message}
	case errors.As(err, &answer):
		return nil, fmt.Errorf("it refuses the connection: %s", answer.Message)
	}
	return c, err
}

// undialled is an error of a dialer. The library wraps it in a text with an address that does not exist.
type undialled struct{ error }

func (u undialled) Unwrap() error { return u.error }

// session calls do with a connection to a node, past all faults. If an old connection has ended with
// the server, it calls do again with a new one; all callers tolerate that.
func (g *servers) session(ctx context.Context, node string, limit time.Duration, do func(context.Context, *pgx.Conn) error) error {
	if s := g.host.Status(node); s.Why != nil {
		return fmt.Errorf("%s: %w", node, s.Why)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	k := g.kept[node]
	k.Lock()
	defer k.Unlock()
	for {
		old := k.conn != nil
		if !old {
			var err error
			if k.conn, err = open(ctx, g.login, func(ctx context.Context) (net.Conn, error) { return g.host.Dial(ctx, node) }); err != nil {
				k.conn = nil
				return fmt.Errorf("%s: %w", node, err)
			}
		}
		err := do(ctx, k.conn)
		if err == nil {
			return nil
		}
		k.close(ctx)
		if !old || ctx.Err() != nil {
			return fmt.Errorf("%s: %w", node, err)
		}
	}
}

func (k *kept) close(ctx context.Context) {
	if k.conn != nil {
		_ = k.conn.Close(ctx) // it may be broken
		k.conn = nil
	}
}

// Close ends the connections.
func (g *servers) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // do not wait for the server to end the session
	for _, k := range g.kept {
		k.Lock()
		k.close(ctx)
		k.Unlock()
	}
	return nil
}

// ask queries one row.
func (g *servers) ask(ctx context.Context, node, question string, into ...any) error {
	return g.session(ctx, node, service.AskLimit, func(ctx context.Context, c *pgx.Conn) error { return c.QueryRow(ctx, question).Scan(into...) })
}

// order executes a statement without results.
func (g *servers) order(ctx context.Context, node, statement string) error {
	return g.session(ctx, node, service.AskLimit, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, statement)
		return err
	})
}

// sslRequest asks whether a server supports TLS. The server answers with one letter before the login.
var sslRequest = []byte{0, 0, 0, 8, 4, 210, 22, 47}

// Greet asks for that letter. On a connection that has TLS the answer is an error, E, which is a sign of
// life too. With a load, Greet logs in and lets the server send the load back.
func (g *servers) Greet(ctx context.Context, c net.Conn, load int) error {
	if load > 0 {
		return g.carry(ctx, c, load)
	}
	return service.Interrupt(ctx, c, func() error {
		_, err := c.Write(sslRequest)
		var answer [1]byte
		if err == nil {
			_, err = io.ReadFull(c, answer[:])
		}
		if err == nil && answer[0] != 'N' && answer[0] != 'S' && answer[0] != 'E' {
			err = fmt.Errorf("it answered %q", answer)
		}
		return err
	})
}

func (g *servers) carry(ctx context.Context, c net.Conn, load int) error {
	conn, err := open(ctx, g.login, func(context.Context) (net.Conn, error) { return c, nil })
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	back := ""
	err = conn.QueryRow(ctx, "SELECT '"+strings.Repeat("x", load)+"'").Scan(&back)
	if err == nil && len(back) != load {
		err = fmt.Errorf("of %d bytes %d came back", load, len(back))
	}
	return err
}
