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

	"lockbench/internal/service"
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

// hidden are the fields of a greeting that clients do not get: TLS is the proxy's, and the addresses of
// other servers lead past the proxy.
var hidden = []string{"tls_required", "tls_verify", "tls_available", "connect_urls", "ws_connect_urls"}

// startTLS starts TLS. NATS servers greet in plain text, and the greeting says whether they want TLS.
func startTLS(ctx context.Context, c net.Conn, how service.Access) (net.Conn, error) {
	var is info
	var text string
	var rest io.Reader
	var all map[string]json.RawMessage
	err := service.Interrupt(ctx, c, func() (err error) {
		is, text, rest, err = readInfo(c)
		return err
	})
	if err == nil {
		err = json.Unmarshal([]byte(text), &all)
	}
	switch {
	case err != nil:
		return nil, err
	case how.TLS == nil && is.TLSRequired:
		return nil, errors.New("it wants TLS, which the URL must ask for: natss://")
	case how.TLS != nil && !is.TLSRequired && !is.TLSAvailable:
		return nil, errors.New("it does not support TLS, which the URL asks for")
	case how.TLS != nil:
		if c, err = service.Secure(ctx, c, how); err != nil {
			return nil, err
		}
		rest = c
	}
	for _, name := range hidden {
		delete(all, name)
	}
	left, err := json.Marshal(all)
	return greeted(c, string(left)+"\r\n", rest), err
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
