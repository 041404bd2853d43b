package postgres

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestLocate(t *testing.T) {
	for urls, want := range map[string]string{
		"postgres://a":                    "a:5432 postgres postgres false",
		"postgres+tls://app@a:1/shop":     "a:1 app shop true",
		"postgresql://a":                  "a:5432 postgres postgres false",
		"postgres://a,b":                  "name the primary",
		"postgres+ssl://a":                "postgres+tls:// for TLS",
		"postgres://a/shop?sslmode=allow": "settings in a URL",
		"postgres://app:secret@a":         "a password in a URL",
	} {
		l, err := Service{}.Locate(strings.Fields(urls))
		got := strings.Join([]string{strings.Join(l.Addrs, ","), l.User, l.Database, map[bool]string{true: "true", false: "false"}[l.TLS]}, " ")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", urls, got, want)
		}
	}
}

// A client that begins as clients do is let in by what the server had said to somebody else, in
// whatever pieces its words come, and what it says then reaches the server.
func TestWelcomed(t *testing.T) {
	start := []byte("\x00\x00\x00\x10\x00\x03\x00\x00user\x00a\x00\x00")
	for _, size := range []int{1, 5, 1000} {
		near, server := net.Pipe()
		heard := make(chan []byte, 1)
		go func() {
			got := make([]byte, 5)
			_, _ = io.ReadFull(server, got)
			heard <- got
			_, _ = server.Write([]byte("answer"))
		}()
		w := newWelcomed(&pgconn.HijackedConn{Conn: near, PID: 7, SecretKey: []byte{0, 0, 0, 8}, TxStatus: 'I', ParameterStatuses: map[string]string{"b": "2"}})
		for rest := append(append(bytes.Clone(sslRequest), start...), "query"...); len(rest) > 0; {
			n, err := w.Write(rest[:min(size, len(rest))])
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if got := <-heard; string(got) != "query" {
			t.Errorf("the server hears %q", got)
		}
		want := "NR\x00\x00\x00\x08\x00\x00\x00\x00S\x00\x00\x00\x08b\x002\x00K\x00\x00\x00\x0c\x00\x00\x00\x07\x00\x00\x00\x08Z\x00\x00\x00\x05Ianswer"
		said := make([]byte, len(want))
		if _, err := io.ReadFull(w, said); err != nil || string(said) != want {
			t.Errorf("the client hears %q (%v), want %q", said, err, want)
		}
		w.Close()
		server.Close()
	}
}

// What is no beginning is refused, and who waits for an answer is not left waiting.
func TestWelcomedRefuses(t *testing.T) {
	near, server := net.Pipe()
	defer server.Close()
	w := newWelcomed(&pgconn.HijackedConn{Conn: near})
	waits := make(chan error, 1)
	go func() {
		_, err := w.Read(make([]byte, 1))
		waits <- err
	}()
	if _, err := w.Write([]byte("GET / HTTP/1.0\r\n\r\n")); !errors.Is(err, errStart) {
		t.Errorf("%v", err)
	}
	w.Close()
	if err := <-waits; err == nil {
		t.Error("after its end something is read")
	}
}
