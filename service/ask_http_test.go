package service

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
)

// refuses ends a connection as a server does that wants a certificate: what is written goes out,
// and what is read says why.
type refuses struct{ net.Conn }

var errCertificate = errors.New("remote error: tls: certificate required")

func (refuses) Write(b []byte) (int, error) { return len(b), nil }
func (refuses) Read([]byte) (int, error)    { return 0, errCertificate }

// What HTTP/2 knows depends on whether it has read before it writes. It is asked often, so that
// both are met.
func TestAskHTTPSaysWhyTheServerEndedIt(t *testing.T) {
	dial := func(context.Context) (net.Conn, error) {
		c, other := net.Pipe()
		other.Close()
		return refuses{c}, nil
	}
	for range 200 {
		if err := AskHTTP(t.Context(), true, dial, http.MethodGet, "/", "", nil); !errors.Is(err, errCertificate) {
			t.Fatalf("%v, want %v", err, errCertificate)
		}
	}
}
