package nats

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"

	"lockbench/service"
)

// Login starts TLS. NATS servers greet in plain text, and the greeting says whether they want TLS.
func (Service) Login(ctx context.Context, plain net.Conn, how service.Access) (in net.Conn, err error) {
	err = service.Interrupt(ctx, plain, func() error {
		in, err = upgrade(ctx, plain, how)
		return err
	})
	return in, err
}

func upgrade(ctx context.Context, plain net.Conn, how service.Access) (net.Conn, error) {
	t := &talk{conn: plain, read: bufio.NewReader(plain)}
	said, err := t.hearInfo()
	switch {
	case err != nil:
		return nil, err
	case how.TLS == nil && t.info.TLSRequired:
		return nil, errors.New("it wants TLS, which the URL must ask for: natss://")
	case how.TLS != nil && !t.info.TLSRequired && !t.info.TLSAvailable:
		return nil, errors.New("it does not support TLS, which the URL asks for")
	}
	info, err := forClients(said)
	if err != nil {
		return nil, err
	}
	if how.TLS == nil {
		return &greeted{plain, io.MultiReader(strings.NewReader(info), t.read)}, nil
	}
	secure, err := how.Secure(ctx, plain)
	if err != nil {
		return nil, err
	}
	return &greeted{secure, io.MultiReader(strings.NewReader(info), secure)}, nil
}

// hidden are the fields of a greeting that clients do not get: TLS is the proxy's, and the addresses of
// other servers lead past the proxy.
var hidden = []string{"tls_required", "tls_verify", "tls_available", "connect_urls", "ws_connect_urls"}

// forClients returns a greeting without the hidden fields.
func forClients(said string) (string, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(said), &all); err != nil {
		return "", err
	}
	for _, name := range hidden {
		delete(all, name)
	}
	text, err := json.Marshal(all)
	return greeting + string(text) + "\r\n", err
}

// greeted is a connection on which a server has greeted.
type greeted struct {
	net.Conn
	read io.Reader
}

// Read returns the greeting, and then what the server sends.
func (g *greeted) Read(p []byte) (int, error) { return g.read.Read(p) }

// CloseWrite ends what the client sends.
func (g *greeted) CloseWrite() error {
	if half, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return g.Close()
}
