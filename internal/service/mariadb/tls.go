package mariadb

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"

	"lockbench/internal/service"
)

// canTLS is the flag of TLS in the capabilities of a client or a server.
const canTLS = 1 << 11

// First bytes of messages of a server.
const (
	isOK    = 0
	isError = 0xff
)

// messageMax bounds a message of the login.
const messageMax = 1 << 16

var errProtocol = errors.New("it does not speak the protocol of MariaDB")

// hear reads a message with its head of four bytes: three for the length, and the number.
func hear(c io.Reader) ([]byte, error) {
	m := make([]byte, 4)
	if _, err := io.ReadFull(c, m); err != nil {
		return nil, err
	}
	n := length(m)
	if n == 0 || n > messageMax {
		return nil, errProtocol
	}
	m = append(m, make([]byte, n)...)
	_, err := io.ReadFull(c, m[4:])
	return m, err
}

// length is the length of the text of a message that begins with a head.
func length(head []byte) int { return int(head[0]) | int(head[1])<<8 | int(head[2])<<16 }

// startTLS starts TLS. MariaDB greets in plain text, and the client asks for TLS with the first part of its
// answer, so TLS starts once the client has answered.
func startTLS(ctx context.Context, c net.Conn, how service.Access) (in net.Conn, err error) {
	if how.TLS == nil {
		return c, nil
	}
	var greeting []byte
	err = service.Interrupt(ctx, c, func() error {
		greeting, err = hear(c)
		return err
	})
	if err != nil {
		return nil, err
	}
	if greeting[4] != isError { // an error is for the client to read
		version := bytes.IndexByte(greeting[4:], 0)
		high := 4 + version + 15 // the second byte of the capabilities
		switch {
		case greeting[4] != 10 || version < 0 || len(greeting) <= high:
			return nil, errProtocol
		case greeting[high]&(canTLS>>8) == 0:
			return nil, errors.New("it does not support TLS, which the URL asks for")
		}
		greeting[high] &^= canTLS >> 8
	}
	u := &upgraded{Conn: c, tls: tls.Client(c, how.TLS), said: greeting, asked: make(chan struct{})}
	u.closed, u.close = context.WithCancel(context.Background())
	return u, nil
}

// upgraded is a connection with TLS to a server, for a client that uses no TLS:
//
//	client              upgraded                      server
//	      ◀── greeting 0 ─────────◀── greeting 0
//	answer 1 ──▶ its first 32 bytes, as number 1 ──▶
//	             ◀────────── TLS handshake ─────────▶
//	             answer 2 ──────────────────────────▶
//	      ◀── OK 2 ───────────────◀── OK 3
//
// So the numbers of messages differ by one until the server has accepted or refused the login.
type upgraded struct {
	net.Conn               // without TLS
	tls      *tls.Conn     // used once asked is closed
	asked    chan struct{} // closed when the server was asked for TLS
	over     atomic.Bool   // the login has ended

	said  []byte // what the client reads next; used by Read alone
	heard []byte // the beginning of a message; used by Write alone

	closed context.Context // ends with the connection
	close  context.CancelFunc
}

// asksTLS is the length of the part of an answer that asks for TLS.
const asksTLS = 32

// Write forwards what the client sends. A failed handshake is an error of the write that has taken all
// bytes: client libraries hide errors of writes that have taken none.
func (u *upgraded) Write(p []byte) (int, error) {
	if u.over.Load() {
		return u.tls.Write(p)
	}
	u.heard = append(u.heard, p...)
	for len(u.heard) >= 4 {
		n := 4 + length(u.heard)
		if n > messageMax {
			u.Close()
			return len(p), errProtocol
		}
		if len(u.heard) < n {
			break
		}
		if err := u.answer(u.heard[:n]); err != nil {
			u.Close()
			return len(p), err
		}
		u.heard = u.heard[n:]
	}
	return len(p), nil
}

// answer forwards a message of the login, and starts TLS before the first one.
func (u *upgraded) answer(m []byte) error {
	select {
	case <-u.asked:
	default:
		if len(m) < 4+asksTLS {
			return errProtocol
		}
		m[5] |= canTLS >> 8
		if _, err := u.Conn.Write(append([]byte{asksTLS, 0, 0, m[3]}, m[4:4+asksTLS]...)); err != nil {
			return err
		}
		close(u.asked)
		if err := u.tls.Handshake(); err != nil {
			return err
		}
	}
	m[3]++
	_, err := u.tls.Write(m)
	return err
}

// Read returns the greeting, the messages of the login, and then what the server sends.
func (u *upgraded) Read(p []byte) (int, error) {
	if len(u.said) == 0 && !u.over.Load() {
		select {
		case <-u.asked:
		case <-u.closed.Done():
			return 0, net.ErrClosed
		}
		m, err := hear(u.tls)
		if err != nil {
			return 0, err
		}
		m[3]--
		u.said = m
		u.over.Store(m[4] == isOK || m[4] == isError)
	}
	if len(u.said) > 0 {
		n := copy(p, u.said)
		u.said = u.said[n:]
		return n, nil
	}
	return u.tls.Read(p)
}

// CloseWrite ends what the client sends.
func (u *upgraded) CloseWrite() error {
	if u.over.Load() {
		return u.tls.CloseWrite()
	}
	return u.Close()
}

// Close ends the connection.
func (u *upgraded) Close() error {
	u.close()
	return u.Conn.Close()
}
