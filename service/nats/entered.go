package nats

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"strings"

	"lockbench/service"
)

// Login says who it is, and makes of that a connection on which a client is let in whoever it says
// it is.
func (Service) Login(ctx context.Context, plain net.Conn, how service.Access) (in net.Conn, err error) {
	err = service.Interrupt(ctx, plain, func() error {
		in, err = enter(ctx, plain, how)
		return err
	})
	return in, err
}

// Servers speak first, in plain, and say then whether they want TLS.
func enter(ctx context.Context, plain net.Conn, how service.Access) (net.Conn, error) {
	t := &talk{conn: plain, read: bufio.NewReader(plain)}
	said, err := t.hearInfo()
	switch {
	case err != nil:
		return nil, err
	case how.TLS == nil && t.info.TLSRequired:
		return nil, errors.New("it wants TLS, which the URL must ask for: natss://")
	case how.TLS != nil && !t.info.TLSRequired && !t.info.TLSAvailable:
		return nil, errors.New("it speaks no TLS, which the URL asks for")
	case how.TLS != nil:
		secure, err := how.Secure(ctx, plain)
		if err != nil {
			return nil, err
		}
		t.conn, t.read = secure, bufio.NewReader(secure)
	}
	who := login{}
	switch {
	case how.User != "":
		who = login{"user": how.User, "pass": how.Password}
	case how.Password != "":
		who = login{"auth_token": how.Password}
	}
	if how.TLS != nil {
		who["tls_required"] = true
	}
	if err := t.connect(who); err != nil {
		return nil, err
	}
	if err := t.ping(); err != nil {
		if strings.Contains(err.Error(), "Authorization") || strings.Contains(err.Error(), "Authentication") {
			return nil, &service.LoginError{Said: err.Error()}
		}
		return nil, err
	}
	return newEntered(t, said, who)
}

// entered is a connection of somebody who has logged in, given to a client that begins as clients
// do:
//
//	client            entered                                server
//	        ◀───────── INFO, as if nobody had to log in
//	CONNECT ─────────▶ CONNECT, of who has logged in ────────▶
//	PUB     ─────────────────────────────────────────────────▶
type entered struct {
	net.Conn
	read  io.Reader
	who   login
	heard []byte // of how the client begins
	begun bool   // all that follows is the server's
}

// startMax is how much a client may begin with at most.
const startMax = 64 << 10

var errStart = errors.New("it begins as no client of NATS does")

// hidden is what a client is not told: that others had to log in, and where other servers are,
// for it would go there past the relay.
var hidden = []string{"auth_required", "tls_required", "tls_verify", "tls_available", "connect_urls", "ws_connect_urls"}

func newEntered(t *talk, said string, who login) (*entered, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(said), &all); err != nil {
		return nil, err
	}
	for _, name := range hidden {
		delete(all, name)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return &entered{Conn: t.conn, who: who, read: io.MultiReader(strings.NewReader(greeting+string(text)+"\r\n"), t.read)}, nil
}

// Read is how the server greets, and then what it says.
func (e *entered) Read(p []byte) (int, error) { return e.read.Read(p) }

// Write takes how the client begins, and hands on the rest.
func (e *entered) Write(p []byte) (int, error) {
	if e.begun {
		return e.Conn.Write(p)
	}
	e.heard = append(e.heard, p...)
	line, rest, whole := bytes.Cut(e.heard, []byte("\n"))
	switch {
	case whole:
	case len(e.heard) > startMax:
		return 0, errStart
	default:
		return len(p), nil
	}
	first, err := e.rewritten(string(line))
	if err != nil {
		return 0, err
	}
	e.begun = true
	if _, err := e.Conn.Write(append([]byte(first+"\r\n"), rest...)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// rewritten is the first line of a client. By the protocol's first version (0) a server says only
// at the beginning who and where others are.
func (e *entered) rewritten(line string) (string, error) {
	verb, text, _ := strings.Cut(strings.TrimRight(line, "\r"), " ")
	if !strings.EqualFold(verb, "CONNECT") {
		return "", errStart
	}
	all := login{}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return "", fmt.Errorf("%w: %w", errStart, err)
	}
	maps.Copy(all, e.who)
	all["protocol"] = 0
	out, err := json.Marshal(all)
	return "CONNECT " + string(out), err
}

// CloseWrite says that the client says no more.
func (e *entered) CloseWrite() error {
	if half, ok := e.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return e.Close()
}
