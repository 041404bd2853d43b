package postgres

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// welcomed is a connection of somebody who has logged in, given to a client that begins as
// clients do:
//
//	client            welcomed                         server
//	SSLRequest ─────▶ N
//	StartupMessage ─▶ what the server had said to who logged in
//	Query ─────────────────────────────────────────────▶
type welcomed struct {
	net.Conn
	welcome []byte

	mu    sync.Mutex
	turn  *sync.Cond   // something is to be said, or nothing more
	said  bytes.Buffer // and was not read
	heard []byte       // of how the client begins
	begun bool         // all that follows is the server's
	over  bool
}

// What a client may begin with in place of who it is, and with how much at most.
const (
	sslCode    = 80877103
	gssCode    = 80877104
	cancelCode = 80877102
	startMax   = 10_000
)

var errStart = errors.New("it begins as no client of PostgreSQL does")

func newWelcomed(in *pgconn.HijackedConn) *welcomed {
	w := &welcomed{Conn: in.Conn}
	w.turn = sync.NewCond(&w.mu)
	messages := []pgproto3.BackendMessage{&pgproto3.AuthenticationOk{}}
	for _, name := range slices.Sorted(maps.Keys(in.ParameterStatuses)) {
		messages = append(messages, &pgproto3.ParameterStatus{Name: name, Value: in.ParameterStatuses[name]})
	}
	messages = append(messages, &pgproto3.BackendKeyData{ProcessID: in.PID, SecretKey: in.SecretKey}, &pgproto3.ReadyForQuery{TxStatus: in.TxStatus})
	for _, m := range messages {
		if text, err := m.Encode(nil); err == nil {
			w.welcome = append(w.welcome, text...)
		}
	}
	return w
}

// Write takes how the client begins, and hands on the rest.
func (w *welcomed) Write(p []byte) (int, error) {
	w.mu.Lock()
	if w.begun {
		w.mu.Unlock()
		return w.Conn.Write(p)
	}
	w.heard = append(w.heard, p...)
	err := w.begin()
	rest := w.heard
	begun := w.begun
	w.mu.Unlock()
	if err == nil && begun && len(rest) > 0 {
		_, err = w.Conn.Write(rest)
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *welcomed) begin() error {
	for !w.begun && len(w.heard) >= 8 {
		n, code := binary.BigEndian.Uint32(w.heard), binary.BigEndian.Uint32(w.heard[4:])
		switch {
		case n < 8 || n > startMax || code == cancelCode: // nobody is asked to cancel, on a connection of its own
			return errStart
		case uint32(len(w.heard)) < n:
			return nil
		case code == sslCode, code == gssCode:
			w.said.WriteByte('N')
		default:
			w.said.Write(w.welcome)
			w.begun = true
		}
		w.heard = w.heard[n:]
		w.turn.Broadcast()
	}
	return nil
}

// Read is what is to be said to that, and then what the server says.
func (w *welcomed) Read(p []byte) (int, error) {
	w.mu.Lock()
	for w.said.Len() == 0 && !w.begun && !w.over {
		w.turn.Wait()
	}
	if w.said.Len() > 0 {
		defer w.mu.Unlock()
		return w.said.Read(p)
	}
	over := w.over
	w.mu.Unlock()
	if over {
		return 0, net.ErrClosed
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
func (w *welcomed) Close() error {
	w.mu.Lock()
	w.over = true
	w.turn.Broadcast()
	w.mu.Unlock()
	return w.Conn.Close()
}
