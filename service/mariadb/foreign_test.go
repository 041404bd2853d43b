package mariadb

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"lockbench/service"
)

func TestLocate(t *testing.T) {
	for urls, want := range map[string]string{
		"mysql://a":              "a:3306 root false",
		"mysqls://app@a:1":       "a:1 app true",
		"mariadb://a":            "a:3306 root false",
		"mariadbs://a":           "a:3306 root true",
		"mysql://a,b":            "name the primary",
		"mysql+tls://a":          "mysqls:// for TLS",
		"mysql://a/shop":         "/shop means nothing here",
		"mysql://a?tls=true":     "no HOST",
		"mysql://app:secret@a":   "a password in a URL",
		"mysql://a mysql://b":    "name the primary",
		"mysql://a mysqls://b:1": "the same scheme",
	} {
		l, err := Service{}.Locate(strings.Fields(urls))
		got := strings.Join([]string{strings.Join(l.Addrs, ","), l.User, map[bool]string{true: "true", false: "false"}[l.TLS]}, " ")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", urls, got, want)
		}
	}
}

// Other servers that speak the protocol are told from MariaDB.
func TestAbout(t *testing.T) {
	for version, want := range map[string]string{"10.11.19-MariaDB-0+deb12u1": "MariaDB 10.11.19", "11.4.2-MariaDB": "MariaDB 11.4.2", "8.0.40": "", "8.0.11-TiDB-v7.5.0": ""} {
		if got, err := about(version); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
}

// greets is what a server says first that offers more than is agreed, but for what is given.
func greets(without uint32) []byte {
	can := uint32(0x81bff7fe) &^ without
	text := []byte("\x0a5.5.5-10.11.19-MariaDB\x00\x07\x00\x00\x00abcdefgh\x00")
	text = append(text, byte(can), byte(can>>8), utf8mb4, 2, 0, byte(can>>16), byte(can>>24), 21)
	text = append(text, "\x00\x00\x00\x00\x00\x00\x1d\x00\x00\x00ijklmnopqrst\x00"+native+"\x00"...)
	return message(0, text)
}

// Whoever gives the right password is let in, and who is not is told why, and what to do.
func TestLogin(t *testing.T) {
	denied := "\xff\x15\x04#28000Access denied for user 'app'"
	switched := "\xfe" + native + "\x00ABCDEFGHIJKLMNOPQRST\x00"
	for name, c := range map[string]struct {
		greets  []byte
		answers []string // of the server, to what is said to it
		want    string   // of the error; empty: none
		refused bool     // it is the login that is refused
	}{
		"let in":           {greets(0), []string{"\x00\x00\x00\x02\x00\x00\x00"}, "", false},
		"asked again":      {greets(0), []string{switched, "\x00\x00\x00\x02\x00\x00\x00"}, "", false},
		"asked for ever":   {greets(0), []string{switched, switched, switched, switched, switched}, "does not speak as", false},
		"wrong password":   {greets(0), []string{denied}, "Access denied for user 'app'", true},
		"wrong as well":    {greets(0), []string{switched, denied}, "Access denied for user 'app'", true},
		"ed25519":          {greets(0), []string{"\xfeclient_ed25519\x00ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF"}, `by "client_ed25519", and lockbench can by mysql_native_password alone`, false},
		"an old password":  {greets(0), []string{"\xfe"}, `by "", and lockbench can`, false},
		"too many":         {message(0, []byte("\xff\x10\x04Too many connections")), nil, "it lets nobody in: Error 1040: Too many connections", false},
		"other protocol":   {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), nil, "does not speak as", false},
		"other version":    {message(0, []byte("\x09 and so on")), nil, "does not speak as", false},
		"cut short":        {message(0, greets(0)[4:60]), nil, "does not speak as", false},
		"old":              {greets(canPlugins), nil, "does not speak as", false},
		"at its end":       {nil, nil, "EOF", false},
		"nothing it knows": {greets(0), []string{"\x01"}, "does not speak as", false},
	} {
		t.Run(name, func(t *testing.T) {
			near, server := net.Pipe()
			defer near.Close()
			go func() {
				defer server.Close()
				_, _ = server.Write(c.greets)
				for i, text := range c.answers {
					number, said, err := hear(server)
					if want := byte(2*i + 1); err != nil || number != want {
						t.Errorf("it hears %q, number %d, want %d (%v)", said, number, want, err)
					}
					_, _ = server.Write(message(number+1, []byte(text)))
				}
			}()
			in, err := Service{}.Login(t.Context(), near, service.Access{Credentials: service.Credentials{User: "app", Password: "secret"}})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if got := errors.As(err, new(*service.LoginError)); got != c.refused {
				t.Errorf("the login is refused: %v", got)
			}
			if err == nil {
				in.Close()
			}
		})
	}
}

// A password is proved as the protocol has it. The proof is that of the client library.
func TestProve(t *testing.T) {
	if got := hex.EncodeToString(prove([]byte("abcdefghijklmnopqrst"), "secret")); got != theirs(t, "secret") {
		t.Errorf("%s, want %s", got, theirs(t, "secret"))
	}
	if got := prove([]byte("abcdefghijklmnopqrst"), ""); got != nil {
		t.Errorf("no password is proved by %q", got)
	}
}

// theirs is the proof that the client library sends.
func theirs(t *testing.T, password string) string {
	near, server := net.Pipe()
	defer server.Close()
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr, cfg.Logger = "a", password, "tcp", "mariadb:1", quiet{}
	cfg.DialFunc = func(context.Context, string, string) (net.Conn, error) { return near, nil }
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = connector.Connect(t.Context()) // it ends with its server
	}()
	_, _ = server.Write(greets(0))
	_, text, err := hear(server)
	server.Close()
	<-over
	if err != nil || len(text) < 32+2+1+20 || text[34] != 20 {
		t.Fatalf("it says %q (%v)", text, err)
	}
	return hex.EncodeToString(text[35:55])
}

// TLS that is asked for and not offered is an error, and nobody says who he is without it.
func TestLoginWithoutTLS(t *testing.T) {
	near, server := net.Pipe()
	defer near.Close()
	heard := make(chan []byte, 1)
	go func() {
		_, _ = server.Write(greets(canTLS))
		all, _ := io.ReadAll(server)
		heard <- all
	}()
	how := service.Access{Credentials: service.Credentials{User: "app", Password: "secret"}, TLS: &tls.Config{}}
	if _, err := (Service{}).Login(t.Context(), near, how); err == nil || !strings.Contains(err.Error(), "speaks no TLS") {
		t.Errorf("%v", err)
	}
	near.Close()
	if all := <-heard; len(all) > 0 {
		t.Errorf("the server hears %q", all)
	}
}

// A client that begins as clients do is let in by what the server had said to somebody else, in
// whatever pieces its words come, and what it says then reaches the server. The database that it
// asks for is asked for.
func TestWelcomed(t *testing.T) {
	h, err := readHello(greets(0)[4:])
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 5, 1000} {
		for database, server := range map[string]string{"": "query", "lockbench:7:": "\x0d\x00\x00\x00\x02lockbench:7:query"} {
			near, far := net.Pipe()
			heard := make(chan string, 1)
			go func() {
				got := make([]byte, len(server))
				if database != "" {
					_, _ = io.ReadFull(far, got[:len(got)-len("query")])
					_, _ = far.Write(message(1, []byte("\xff\x19\x04#42000Unknown database")))
				}
				_, _ = io.ReadFull(far, got[len(got)-len("query"):])
				if database != "" {
					copy(got, message(0, []byte("\x02"+database)))
				}
				heard <- string(got)
				_, _ = far.Write([]byte("answer"))
			}()
			w := newWelcomed(near, h)
			can := uint32(canProtocol41 | canSecure | canPlugins)
			if database != "" {
				can |= canConnectWithDB
			}
			who := append(begin(can), "root\x00\x03abc"...)
			if database != "" {
				who = append(who, database+"\x00"...)
			}
			who = message(1, append(who, native+"\x00"...))
			for rest := append(who, "query"...); len(rest) > 0; {
				n, err := w.Write(rest[:min(size, len(rest))])
				if err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if got := <-heard; got != server {
				t.Errorf("the server hears %q, want %q", got, server)
			}
			number, text, err := hear(w)
			told, _ := readHello(text)
			if err != nil || number != 0 || told.can != agreed || !bytes.Equal(told.scramble, h.scramble) {
				t.Errorf("the client is told %q (%v)", text, err)
			}
			want := "\x07\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00answer"
			if database != "" {
				want = "\x19\x00\x00\x02\xff\x19\x04#42000Unknown databaseanswer"
			}
			said := make([]byte, len(want))
			if _, err := io.ReadFull(w, said); err != nil || string(said) != want {
				t.Errorf("the client hears %q (%v), want %q", said, err, want)
			}
			w.Close()
			far.Close()
		}
	}
}

// What is no beginning is refused, and who waits for an answer is not left waiting.
func TestWelcomedRefuses(t *testing.T) {
	h, err := readHello(greets(0)[4:])
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"GET / HTTP/1.0\r\n\r\n",
		string(message(1, []byte("root"))),
		string(message(1, begin(agreed))),
		string(message(1, append(begin(agreed), "root\x00\x03ab"...))),
		string(message(1, append(begin(agreed), "root\x00\x00no end"...))),
		string(message(1, append(begin(agreed&^canProtocol41), "root\x00\x00\x00"...))),
	} {
		near, far := net.Pipe()
		w := newWelcomed(near, h)
		if _, _, err := hear(w); err != nil {
			t.Fatal(err)
		}
		waits := make(chan error, 1)
		go func() {
			_, err := w.Read(make([]byte, 1))
			waits <- err
		}()
		if _, err := w.Write([]byte(text)); !errors.Is(err, errClient) {
			t.Errorf("%q: %v", text, err)
		}
		if err := <-waits; err == nil {
			t.Errorf("%q: something is read", text)
		}
		far.Close()
	}
}
