package nats

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"lockbench/service"
)

// info is the greeting of a server.
type info struct {
	ID           string `json:"server_id"`
	Version      string `json:"version"`
	Cluster      string `json:"cluster"` // empty: it is alone
	JetStream    bool   `json:"jetstream"`
	TLSRequired  bool   `json:"tls_required"`
	TLSAvailable bool   `json:"tls_available"`
}

// readInfo reads the greeting from a new connection. Rest is what follows the greeting.
func readInfo(c net.Conn) (is info, text string, rest io.Reader, err error) {
	read := bufio.NewReader(c)
	line, err := read.ReadString('\n')
	if err != nil {
		return is, "", nil, err
	}
	text, ok := strings.CutPrefix(line, greeting)
	if !ok {
		return is, "", nil, fmt.Errorf("it greets with %.80q", line)
	}
	return is, text, read, json.Unmarshal([]byte(text), &is)
}

// startTLS starts TLS. NATS servers greet in plain text, and the greeting says whether they want TLS.
func startTLS(ctx context.Context, plain net.Conn, how service.Access) (in net.Conn, err error) {
	err = service.Interrupt(ctx, plain, func() error {
		in, err = upgrade(ctx, plain, how)
		return err
	})
	return in, err
}

func upgrade(ctx context.Context, plain net.Conn, how service.Access) (net.Conn, error) {
	is, text, rest, err := readInfo(plain)
	switch {
	case err != nil:
		return nil, err
	case how.TLS == nil && is.TLSRequired:
		return nil, errors.New("it wants TLS, which the URL must ask for: natss://")
	case how.TLS != nil && !is.TLSRequired && !is.TLSAvailable:
		return nil, errors.New("it does not support TLS, which the URL asks for")
	}
	if text, err = forClients(text); err != nil {
		return nil, err
	}
	if how.TLS == nil {
		return greeted(plain, text, rest), nil
	}
	secure, err := service.Secure(ctx, plain, how)
	if err != nil {
		return nil, err
	}
	return greeted(secure, text, secure), nil
}

// hidden are the fields of a greeting that clients do not get: TLS is the proxy's, and the addresses of
// other servers lead past the proxy.
var hidden = []string{"tls_required", "tls_verify", "tls_available", "connect_urls", "ws_connect_urls"}

// forClients returns a greeting without the hidden fields.
func forClients(text string) (string, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return "", err
	}
	for _, name := range hidden {
		delete(all, name)
	}
	left, err := json.Marshal(all)
	return string(left) + "\r\n", err
}

// greetedConn is a connection whose greeting was read, and is read again.
type greetedConn struct {
	net.Conn
	read io.Reader
}

// greeted returns a connection from which a client reads a greeting, and then the rest.
func greeted(c net.Conn, text string, rest io.Reader) *greetedConn {
	return &greetedConn{c, io.MultiReader(strings.NewReader(greeting+text), rest)}
}

func (g *greetedConn) Read(p []byte) (int, error) { return g.read.Read(p) }

// CloseWrite ends what the client sends.
func (g *greetedConn) CloseWrite() error {
	if half, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return g.Close()
}
