package mariadb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"sync"
)

// welcomed is a connection of somebody who has logged in, given to a client that begins as
// clients do:
//
//	client            welcomed                         server
//	       ◀───────── what the server had said first, but for what is not agreed
//	who it is ──────▶
//	                  if it names a database, use it ──▶
//	       ◀───────── the server's answer to that, or OK
//	query ─────────────────────────────────────────────▶
type welcomed struct {
	net.Conn

	said   []byte      // what is to be read; of Read alone
	told   bool        // the answer was read; of Read alone
	answer chan []byte // to who the client is
	heard  []byte      // of how it begins; of Write alone
	begun  bool        // what it writes is the server's; of Write alone

	over  chan struct{}
	close func() error
}

func newWelcomed(c net.Conn, h hello) *welcomed {
	w := &welcomed{Conn: c, said: h.forClients(), answer: make(chan []byte, 1), over: make(chan struct{})}
	w.close = sync.OnceValue(func() error {
		close(w.over)
		return c.Close()
	})
	return w
}

var errClient = errors.New("it begins as no client of MariaDB does")

// Write takes who the client says it is, and hands on the rest.
func (w *welcomed) Write(p []byte) (int, error) {
	if w.begun {
		return w.Conn.Write(p)
	}
	w.heard = append(w.heard, p...)
	if len(w.heard) < 4 {
		return len(p), nil
	}
	whole := 4 + length(w.heard)
	if whole <= messageMax && len(w.heard) < whole {
		return len(p), nil
	}
	answer, err := w.enter(w.heard[:min(whole, len(w.heard))])
	if err == nil {
		w.begun = true
		w.answer <- answer
		if rest := w.heard[whole:]; len(rest) > 0 {
			_, err = w.Conn.Write(rest)
		}
		w.heard = nil
	}
	if err != nil {
		w.Close() // nobody will hear more
		return 0, err
	}
	return len(p), nil
}

// okay is what a server says to who may begin: nothing has changed, nothing is under way, and each
// statement is a transaction.
var okay = []byte{isOK, 0, 0, 2, 0, 0, 0}

// useDatabase is the command that makes a database the one that statements are about.
const useDatabase = 2

// enter is the answer to who a client is.
func (w *welcomed) enter(whole []byte) ([]byte, error) {
	database, err := databaseOf(whole[4:])
	if err != nil {
		return nil, err
	}
	next := whole[3] + 1
	if len(database) == 0 {
		return message(next, okay), nil
	}
	if _, err := w.Conn.Write(message(0, append([]byte{useDatabase}, database...))); err != nil {
		return nil, err
	}
	_, text, err := hear(w.Conn)
	return message(next, text), err
}

// databaseOf is the database that a client asks for. Who it is, and how it proves that, is passed
// over.
func databaseOf(text []byte) ([]byte, error) {
	if len(text) < 32 {
		return nil, errClient
	}
	can := binary.LittleEndian.Uint32(text)
	_, proof, ok := bytes.Cut(text[32:], []byte{0}) // after the user
	if !ok || can&canProtocol41 == 0 || can&canSecure == 0 || len(proof) == 0 || len(proof) < 1+int(proof[0]) {
		return nil, errClient
	}
	if can&canConnectWithDB == 0 {
		return nil, nil
	}
	database, _, ok := bytes.Cut(proof[1+int(proof[0]):], []byte{0})
	if !ok {
		return nil, errClient
	}
	return database, nil
}

// Read is what the server had said, then what is said to who the client is, and then what the server
// says.
func (w *welcomed) Read(p []byte) (int, error) {
	if len(w.said) == 0 && !w.told {
		select {
		case w.said = <-w.answer:
			w.told = true
		case <-w.over:
			return 0, net.ErrClosed
		}
	}
	if len(w.said) > 0 {
		n := copy(p, w.said)
		w.said = w.said[n:]
		return n, nil
	}
	return w.Conn.Read(p)
}

// CloseWrite says that the client says no more.
func (w *welcomed) CloseWrite() error {
	if half, ok := w.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return w.Close()
}

// Close ends it.
func (w *welcomed) Close() error { return w.close() }
