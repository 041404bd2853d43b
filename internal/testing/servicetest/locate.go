package servicetest

import (
	"context"
	"net"
	"strings"
	"testing"

	"lockbench/internal/service"
)

// Located is what URLs mean, with blanks between, or why they are refused.
type Located struct {
	URLs, Addrs, Topology, Refused string
	TLS                            bool
}

// Locates sees that a service reads URLs so.
func Locates(t *testing.T, s *service.Service, all []Located) {
	t.Helper()
	if len(all) == 0 {
		t.Error("no URLs are read")
	}
	for _, c := range all {
		l, err := s.External.Locate(strings.Fields(c.URLs))
		if c.Refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.Refused) {
				t.Errorf("%s: %v, want %q", c.URLs, err, c.Refused)
			}
			continue
		}
		if got := strings.Join(l.Addrs, " "); err != nil || got != c.Addrs || l.Topology.InTable() != c.Topology || l.TLS != c.TLS {
			t.Errorf("%s: %s, %s, %v, %v", c.URLs, got, l.Topology.InTable(), l.TLS, err)
		}
	}
}

// Dial is the dialer of a test for [service.External.Survey] that needs no login.
func Dial(ctx context.Context, _ service.Role, addr string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", addr)
}
