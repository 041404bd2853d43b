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

	"lockbench/service"
)

// kept is the connection on which a node is asked. Each new one is a process of the server,
// and roles are looked at twenty times a second.
type kept struct {
	sync.Mutex
	conn *pgx.Conn
}

// open logs in on a connection.
func open(ctx context.Context, dial func(context.Context) (net.Conn, error)) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig("postgres://" + user + "@127.0.0.1/" + database + "?sslmode=disable")
	if err != nil {
		return nil, err
	}
	// It dials later as well, when it gives up a question.
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, err := dial(ctx)
		if err != nil {
			return nil, undialled{err}
		}
		return c, nil
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	c, err := pgx.ConnectConfig(ctx, cfg)
	if failed := (undialled{}); errors.As(err, &failed) {
		return nil, failed.error
	}
	return c, err
}

// undialled is why nobody could be dialled, which the library wraps in an address that nobody has.
type undialled struct{ error }

func (u undialled) Unwrap() error { return u.error }

// session does something on the connection to a node, past all faults. One that was made before may
// have ended with the server, so then it is done on another one; nothing that is done here
// is worse done twice.
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
			if k.conn, err = open(ctx, func(ctx context.Context) (net.Conn, error) { return g.host.Dial(ctx, node) }); err != nil {
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
	cancel() // nobody waits for a goodbye
	for _, k := range g.kept {
		k.Lock()
		k.close(ctx)
		k.Unlock()
	}
	return nil
}

// ask asks for one row.
func (g *servers) ask(ctx context.Context, node, question string, into ...any) error {
	return g.session(ctx, node, service.AskLimit, func(ctx context.Context, c *pgx.Conn) error { return c.QueryRow(ctx, question).Scan(into...) })
}

// order has nothing to hear but that it was done.
func (g *servers) order(ctx context.Context, node, statement string) error {
	return g.session(ctx, node, service.AskLimit, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, statement)
		return err
	})
}

// sslRequest asks whether a server talks TLS. It answers with one letter, before anybody
// has said who he is.
var sslRequest = []byte{0, 0, 0, 8, 4, 210, 22, 47}

// Greet asks for that letter. With something to carry it logs in, and has it sent back.
func (g *servers) Greet(ctx context.Context, c net.Conn, load int) error {
	if load > 0 {
		return carry(ctx, c, load)
	}
	return service.Interrupt(ctx, c, func() error {
		_, err := c.Write(sslRequest)
		var answer [1]byte
		if err == nil {
			_, err = io.ReadFull(c, answer[:])
		}
		if err == nil && answer[0] != 'N' && answer[0] != 'S' {
			err = fmt.Errorf("it answered %q", answer)
		}
		return err
	})
}

func carry(ctx context.Context, c net.Conn, load int) error {
	conn, err := open(ctx, func(context.Context) (net.Conn, error) { return c, nil })
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
