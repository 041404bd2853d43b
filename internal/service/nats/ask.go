package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"lockbench/internal/service"
)

// The accounts of a server, and the only user of each.
const (
	clients   = "clients"
	operators = "operators"
)

// as returns the login of an account's only user.
func as(account string) service.Credentials {
	return service.Credentials{User: account, Password: account}
}

// dialer makes connections for the library.
type dialer func(context.Context) (net.Conn, error)

func (d dialer) Dial(string, string) (net.Conn, error) { return d(context.Background()) }

// connect logs in on a new connection and calls do. Both end when ctx ends, and when the server reports
// an error that answers no request. A password without a user is a token.
func connect(ctx context.Context, c net.Conn, as service.Credentials, do func(context.Context, *nats.Conn) error) error {
	// The library sets deadlines of its own, so the connection is closed instead.
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	known, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	login := nats.Token(as.Password)
	if as.User != "" {
		login = nats.UserInfo(as.User, as.Password)
	}
	conn, err := nats.Connect("nats://127.0.0.1", login, nats.Name("lockbench"), nats.SetCustomDialer(dialer(service.Once(c))),
		nats.NoReconnect(), nats.IgnoreDiscoveredServers(), nats.Timeout(time.Hour), // ctx ends earlier
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { fail(err) }))
	if err == nil {
		err = do(known, conn)
		conn.Close()
	}
	if ctx.Err() != nil {
		return fmt.Errorf("no answer: %w", ctx.Err())
	}
	if err != nil && known.Err() != nil {
		return context.Cause(known)
	}
	return err
}

// with connects to a node past all faults, logs in and calls do.
func (g *servers) with(ctx context.Context, limit time.Duration, node string, as service.Credentials, do func(context.Context, *nats.Conn) error) error {
	return g.Ask(ctx, node, limit, func(ctx context.Context, c net.Conn) error { return connect(ctx, c, as, do) })
}

// js connects to a node and calls do with a client of JetStream.
func (g *servers) js(ctx context.Context, limit time.Duration, node string, do func(context.Context, *nats.Conn, jetstream.JetStream) error) error {
	return g.with(ctx, limit, node, g.login, func(ctx context.Context, conn *nats.Conn) error {
		js, err := jetstream.New(conn)
		if err != nil {
			return err
		}
		return do(ctx, conn, js)
	})
}

// anywhere calls do with one node after the other until it succeeds, and returns the name of that node.
// Each has a limit.
func (g *servers) anywhere(ctx context.Context, limit time.Duration, do func(context.Context, jetstream.JetStream) error) (string, error) {
	var errs []error
	for _, n := range g.Nodes() {
		err := g.js(ctx, limit, n.Name, func(ctx context.Context, _ *nats.Conn, js jetstream.JetStream) error { return do(ctx, js) })
		if err == nil {
			return n.Name, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// request sends a request in JSON and decodes the answer, unless answer is nil.
func request(ctx context.Context, conn *nats.Conn, subject string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	said, err := conn.RequestWithContext(ctx, subject, body)
	if err != nil {
		return err
	}
	var failed struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(said.Data, &failed); err != nil {
		return err
	}
	if failed.Error != nil {
		return failed.Error
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(said.Data, answer)
}

// monitor sends a request to one server itself.
func (g *servers) monitor(ctx context.Context, node, what string, question, answer any) error {
	return g.with(ctx, service.AskLimit, node, as(operators), func(ctx context.Context, conn *nats.Conn) error {
		said := struct {
			Data any `json:"data"`
		}{answer}
		if err := request(ctx, conn, "$SYS.REQ.SERVER."+conn.ConnectedServerId()+"."+what, question, &said); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	})
}

// Answers logs in, which a server answers alone.
func (g *servers) Answers(ctx context.Context, node string) error {
	return g.with(ctx, service.AskLimit, node, g.login, func(context.Context, *nats.Conn) error { return nil })
}

// Identity returns the ID of the server behind a connection, which changes with a restart.
func (g *servers) Identity(ctx context.Context, c net.Conn) (id string, err error) {
	err = connect(ctx, c, g.login, func(_ context.Context, conn *nats.Conn) error {
		id = conn.ConnectedServerId()
		return nil
	})
	return id, err
}

// pieceMax is the part of a load in one message.
const pieceMax = 32 << 10

// Greet logs in, and sends the load as messages that the same connection receives.
func (g *servers) Greet(ctx context.Context, _ string, c net.Conn, load int) error {
	return connect(ctx, c, g.login, func(ctx context.Context, conn *nats.Conn) error {
		back, err := conn.SubscribeSync(conn.NewInbox())
		if err != nil {
			return err
		}
		for left := load; left > 0; left -= pieceMax {
			if err := conn.Publish(back.Subject, make([]byte, min(left, pieceMax))); err != nil {
				return err
			}
		}
		for left := load; left > 0; left -= pieceMax {
			if _, err := back.NextMsgWithContext(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}
