package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"lockbench/internal/service"
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
		return exchange(ctx, c, g.secure, method, path, body, answer)
	})
}

// transport returns a transport on one connection. It speaks HTTP/2 if the connection is TLS, see
// urls. Without TLS, a server takes HTTP/2 for gRPC.
func transport(c net.Conn, secure bool) *http.Transport {
	dial := service.Once(c)
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }, Protocols: new(http.Protocols)}
	t.Protocols.SetHTTP1(!secure)
	t.Protocols.SetUnencryptedHTTP2(secure)
	return t
}

// exchange sends one request on a connection and decodes the JSON answer, unless answer is nil.
func exchange(ctx context.Context, c net.Conn, secure bool, method, path, body string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, method, "http://etcd"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	ending := &endingConn{Conn: c}
	by := transport(ending, secure)
	by.DisableKeepAlives = true
	said, err := by.RoundTrip(r)
	if err != nil {
		if why := ending.why.Load(); why != nil && ctx.Err() == nil {
			err = *why
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	defer said.Body.Close()
	text, err := io.ReadAll(said.Body)
	if err == nil && said.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.200s", said.Status, strings.TrimSpace(string(text)))
	}
	if err == nil && answer != nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// endingConn keeps the first error of Read. If a connection ends before its first request has begun,
// HTTP/2 only says "client conn could not be established"; the error of Read says why, for example
// that the server wants a client certificate.
type endingConn struct {
	net.Conn
	why atomic.Pointer[error]
}

func (c *endingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil && !errors.Is(err, net.ErrClosed) { // which this side has done
		c.why.CompareAndSwap(nil, &err)
	}
	return n, err
}

// pieceMax is the part of a load in the path of one request.
const pieceMax = 32 << 10

// Greet requests the version, which a server knows without the others. The load is in the paths of more
// requests, because HTTP/2 compresses repeated headers. The server redirects a path that begins with two
// slashes, so that the answer carries the path back.
func (g *servers) Greet(ctx context.Context, _ string, c net.Conn, load int) error {
	by := transport(c, g.secure)
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
