package etcd

import (
	"errors"
	"net"
	"net/http"
	"testing"
)

// refuses behaves like the connection to a server that wants a client certificate: writing succeeds,
// and reading returns the reason.
type refuses struct{ net.Conn }

var errCertificate = errors.New("remote error: tls: certificate required")

func (refuses) Write(b []byte) (int, error) { return len(b), nil }
func (refuses) Read([]byte) (int, error)    { return 0, errCertificate }

// HTTP/2 may read before or after it writes. The test repeats the request to meet both.
func TestExchangeReturnsWhyTheServerEndedIt(t *testing.T) {
	for range 200 {
		c, other := net.Pipe()
		other.Close()
		if err := exchange(t.Context(), refuses{c}, true, http.MethodGet, "/", "", nil); !errors.Is(err, errCertificate) {
			t.Fatalf("%v, want %v", err, errCertificate)
		}
	}
}
