package etcd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"lockbench/service"
)

// statusPath is where a member says what it is.
const statusPath = "/v3/maintenance/status"

// ask posts a question to the gateway of a node, and reads the answer.
func (g *servers) ask(ctx context.Context, node, path string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	return g.http(ctx, node, http.MethodPost, path, string(body), answer)
}

// look is GET, of what is no part of the gateway.
func (g *servers) look(ctx context.Context, node, path string) error {
	return g.http(ctx, node, http.MethodGet, path, "", nil)
}

func (g *servers) http(ctx context.Context, node, method, path, body string, answer any) error {
	return g.Ask(ctx, node, service.AskLimit, func(ctx context.Context, c net.Conn) error {
		// HTTP/2 if the connection is TLS, see [Service.Locate]. Without TLS, a server takes HTTP/2 for gRPC.
		err := service.AskHTTP(ctx, g.secure, service.Once(c), method, path, body, answer)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
}

// greeting is the question of [servers.Greet], padded to about the length of its answer.
const greeting = "GET /version HTTP/1.1\r\nHost: etcd\r\nX-Padding: " + padding + "\r\n\r\n"

const padding = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

// Greet asks for the version, which a server tells without asking the others. It asks as
// often as it takes to carry the load there, and about as much comes back.
func (g *servers) Greet(ctx context.Context, c net.Conn, load int) error {
	if g.secure {
		return echo(ctx, c, load)
	}
	return service.GreetHTTP(ctx, c, greeting, load)
}

// pieceMax is how much of a load one request carries in its path.
const pieceMax = 32 << 10

// echo asks by HTTP/2, which makes nothing of what is said again and again. A path that begins
// with two slashes is answered with the right one.
func echo(ctx context.Context, c net.Conn, load int) error {
	by := service.HTTPTransport(true, service.Once(c))
	defer by.CloseIdleConnections()
	for path, class := "/version", 2; ; path, class = "//"+strings.Repeat("x", min(load, pieceMax)), 3 {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://etcd"+path, nil)
		if err != nil {
			return err
		}
		said, err := by.RoundTrip(r)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, said.Body)
		said.Body.Close()
		switch {
		case err != nil:
			return err
		case said.StatusCode/100 != class: // versions differ in which redirection it is
			return fmt.Errorf("it answered %s", said.Status)
		}
		if class == 3 {
			load -= pieceMax
		}
		if load <= 0 {
			return nil
		}
	}
}
