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

// statusPath returns the status of a member.
const statusPath = "/v3/maintenance/status"

// ask posts a request to the gateway of a node and reads the answer.
func (g *servers) ask(ctx context.Context, node, path string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	return g.http(ctx, node, http.MethodPost, path, string(body), answer)
}

// look sends GET for a path outside the gateway.
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

// greeting is the request of [servers.Greet], padded to about the length of its answer.
const greeting = "GET /version HTTP/1.1\r\nHost: etcd\r\nX-Padding: " + padding + "\r\n\r\n"

const padding = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

// Greet requests the version, which a server knows without the others, as often as needed to carry the
// load.
func (g *servers) Greet(ctx context.Context, c net.Conn, load int) error {
	if g.secure {
		return echo(ctx, c, load)
	}
	return service.GreetHTTP(ctx, c, greeting, load)
}

// pieceMax is the part of a load in the path of one request.
const pieceMax = 32 << 10

// echo sends HTTP/2 requests whose paths carry the load, because repeated headers are compressed. The
// server redirects a path that begins with two slashes, so that the answer carries the path back.
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
		case said.StatusCode/100 != class: // the redirection depends on the version
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
