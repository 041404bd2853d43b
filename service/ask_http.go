package service

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
)

// HTTPTransport is an [http.Transport] for HTTP/1.1 or HTTP/2 on connections that dial makes. If TLS
// is needed, dial adds it.
func HTTPTransport(http2 bool, dial func(context.Context) (net.Conn, error)) *http.Transport {
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }, Protocols: new(http.Protocols)}
	t.Protocols.SetHTTP1(!http2)
	t.Protocols.SetUnencryptedHTTP2(http2)
	return t
}

// Once returns a dial function that returns c, and fails when it is called again. A transport calls it
// again after the connection has failed.
func Once(c net.Conn) func(context.Context) (net.Conn, error) {
	var used atomic.Bool
	return func(context.Context) (net.Conn, error) {
		if used.Swap(true) {
			return nil, errors.New("the server closed the connection")
		}
		return c, nil
	}
}

// AskHTTP sends one request on its own connection and decodes the JSON answer, unless answer is nil.
// It keeps no connections, because servers die and come back.
func AskHTTP(ctx context.Context, http2 bool, dial func(context.Context) (net.Conn, error), method, path, body string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, method, "http://server"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	// The transport may still dial after it has given up.
	var ended atomic.Pointer[error]
	by := HTTPTransport(http2, func(ctx context.Context) (net.Conn, error) {
		c, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		return &endingConn{c, &ended}, nil
	})
	by.DisableKeepAlives = true
	said, err := by.RoundTrip(r)
	if err != nil {
		if why := ended.Load(); why != nil && ctx.Err() == nil {
			return *why
		}
		return err
	}
	defer said.Body.Close()
	text, err := io.ReadAll(said.Body)
	switch {
	case err != nil:
		return err
	case said.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %.200s", said.Status, strings.TrimSpace(string(text)))
	case answer == nil:
		return nil
	}
	return json.Unmarshal(text, answer)
}

// endingConn keeps the first error of Read. If a connection ends before its first request has begun,
// HTTP/2 only says "client conn could not be established"; the error of Read says why, for example
// that the server wants a client certificate.
type endingConn struct {
	net.Conn
	why *atomic.Pointer[error]
}

func (c *endingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil && !errors.Is(err, net.ErrClosed) { // which this side has done
		c.why.CompareAndSwap(nil, &err)
	}
	return n, err
}
