package mariadb

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/testing/redistest"
)

// Other servers that speak the protocol are told from MariaDB.
func TestAbout(t *testing.T) {
	for version, want := range map[string]string{"10.11.19-MariaDB-0+deb12u1": "MariaDB 10.11.19", "11.4.2-MariaDB": "MariaDB 11.4.2", "8.0.40": "", "8.0.11-TiDB-v7.5.0": ""} {
		if got, err := about(version); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
}

// greets is the first message of a server, with some capabilities.
func greets(can uint32) []byte {
	text := []byte("\x0a5.5.5-10.11.19-MariaDB\x00\x07\x00\x00\x00abcdefgh\x00")
	text = append(text, byte(can), byte(can>>8), 45, 2, 0, byte(can>>16), byte(can>>24), 21)
	return message(0, string(text)+"\x00\x00\x00\x00\x00\x00\x1d\x00\x00\x00ijklmnopqrst\x00mysql_native_password\x00")
}

func message(number byte, text string) []byte {
	return append([]byte{byte(len(text)), byte(len(text) >> 8), byte(len(text) >> 16), number}, text...)
}

// TestUpgraded lets a client that uses no TLS log in to a server with TLS. Both see the numbers of messages
// that they expect, whatever the pieces in which the messages arrive.
func TestUpgraded(t *testing.T) {
	certs := redistest.NewCerts(t, time.Now().Add(time.Hour))
	pair, err := tls.LoadX509KeyPair(certs.Server.Cert, certs.Server.Key)
	if err != nil {
		t.Fatal(err)
	}
	answer := string([]byte{0x05, 0xa2, 0, 0}) + strings.Repeat("x", 28) + "app\x00"
	for _, size := range []int{1, 7, 1000} {
		near, far := net.Pipe()
		served := make(chan error, 1)
		go func() {
			served <- func() error {
				defer far.Close()
				if _, err := far.Write(greets(canTLS | 1)); err != nil {
					return err
				}
				ask, err := hear(far)
				if err != nil || len(ask) != 4+asksTLS || ask[3] != 1 || ask[5] != 0xa2|canTLS>>8 {
					return fmt.Errorf("it asks for TLS by %q (%v)", ask, err)
				}
				c := tls.Server(far, &tls.Config{Certificates: []tls.Certificate{pair}})
				if m, err := hear(c); err != nil || m[3] != 2 || m[5] != ask[5] {
					return fmt.Errorf("it answers %q (%v)", m, err)
				}
				if _, err := c.Write(message(3, "\xfeswitch")); err != nil {
					return err
				}
				if m, err := hear(c); err != nil || m[3] != 4 || string(m[4:]) != "proof" {
					return fmt.Errorf("it proves by %q (%v)", m, err)
				}
				if _, err := c.Write(message(5, "\x00ok")); err != nil {
					return err
				}
				if m, err := hear(c); err != nil || m[3] != 0 || string(m[4:]) != "query" {
					return fmt.Errorf("it asks %q (%v)", m, err)
				}
				_, err = c.Write(message(1, "\x00result"))
				return err
			}()
		}()
		c, err := Service.External.Login(t.Context(), near, service.Access{TLS: &tls.Config{InsecureSkipVerify: true}})
		if err != nil {
			t.Fatal(err)
		}
		say := func(m []byte) {
			for len(m) > 0 {
				n, err := c.Write(m[:min(size, len(m))])
				if err != nil {
					t.Fatal(err)
				}
				m = m[n:]
			}
		}
		hears := func(want []byte) {
			t.Helper()
			if got, err := hear(c); err != nil || !bytes.Equal(got, want) {
				t.Errorf("the client reads %q (%v), want %q", got, err, want)
			}
		}
		hears(greets(1))
		say(message(1, answer))
		hears(message(2, "\xfeswitch"))
		say(message(3, "proof"))
		hears(message(4, "\x00ok"))
		say(message(0, "query"))
		hears(message(1, "\x00result"))
		c.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// TestUpgradedRefuses: a server that is not MariaDB with TLS is refused, and its errors reach the client.
func TestUpgradedRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		greets []byte
		want   string
	}{
		"no TLS":         {greets(1), "does not support TLS"},
		"other protocol": {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), "does not speak"},
		"other version":  {message(0, "\x09 and so on"), "does not speak"},
		"cut short":      {message(0, "\x0a10.11\x00\x07\x00"), "does not speak"},
		"an early end":   {nil, "EOF"},
		"an error":       {message(0, "\xff\x10\x04Too many connections"), ""},
	} {
		near, far := net.Pipe()
		go func() {
			_, _ = far.Write(c.greets)
			far.Close()
		}()
		in, err := Service.External.Login(t.Context(), near, service.Access{TLS: &tls.Config{}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err == nil {
			if got, err := hear(in); !bytes.Equal(got, c.greets) {
				t.Errorf("%s: the client reads %q (%v)", name, got, err)
			}
			waits := make(chan error, 1)
			go func() {
				_, err := in.Read(make([]byte, 1))
				waits <- err
			}()
			in.Close()
			if err := <-waits; err == nil {
				t.Errorf("%s: a closed connection is read", name)
			}
		}
		near.Close()
	}
}
