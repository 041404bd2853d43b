package servicetest

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"lockbench/internal/service"
)

// Host is a host of fake servers, which listen on this machine.
type Host struct {
	service.Host // only Dial and Status are needed

	Mu   sync.Mutex // guards the fakes
	at   map[string]string
	down map[string]bool
}

// ErrNotRunning is the reason why a server that is down does not answer.
var ErrNotRunning = errors.New("it was not started")

// Serve starts a server, which calls serve with each new connection and closes it then.
func (h *Host) Serve(t *testing.T, node string, serve func(net.Conn)) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	h.Listens(node, l)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
}

// Listens tells the host where a server listens.
func (h *Host) Listens(node string, l net.Listener) {
	if h.at == nil {
		h.at, h.down = map[string]string{}, map[string]bool{}
	}
	h.at[node] = l.Addr().String()
}

// At returns the address of a server.
func (h *Host) At(node string) string { return h.at[node] }

// Down ends a server, or starts it again.
func (h *Host) Down(node string, down bool) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	h.down[node] = down
}

// Dial connects to a server.
func (h *Host) Dial(ctx context.Context, node string) (net.Conn, error) {
	return dial(ctx, "", h.at[node])
}

// Status reports whether a server is down.
func (h *Host) Status(node string) service.Status {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if h.down[node] {
		return service.Status{Why: ErrNotRunning}
	}
	return service.Status{Running: true}
}

func dial(ctx context.Context, _ service.Role, addr string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", addr)
}

// Survey surveys the servers of some nodes as external servers that need no login.
func (h *Host) Survey(t *testing.T, s *service.Service, nodes ...string) (service.Site, error) {
	t.Helper()
	var addrs []string
	for _, n := range nodes {
		addrs = append(addrs, h.at[n])
	}
	l, err := s.External.Locate([]string{s.External.Schemes[0] + "://" + strings.Join(addrs, ",")})
	if err != nil {
		t.Fatal(err)
	}
	return s.External.Survey(t.Context(), l, dial)
}

// Refused is servers that cannot be used as external servers.
type Refused struct {
	Name  string
	Is    func()   // makes the state out of the one in the row before; nil: nothing changes
	Nodes []string // that are named
	Want  string   // a part of the error
}

// Refuses checks that servers are refused.
func (h *Host) Refuses(t *testing.T, s *service.Service, all []Refused) {
	t.Helper()
	for _, c := range all {
		if c.Is != nil {
			c.Is()
		}
		if _, err := h.Survey(t, s, c.Nodes...); err == nil || !strings.Contains(err.Error(), c.Want) {
			t.Errorf("%s: %v, want %q", c.Name, err, c.Want)
		}
	}
}

// Led is what servers report in a situation.
type Led struct {
	Name string
	Is   func() // makes the situation out of the one in the row before; nil: nothing changes
	// Leader is the one that all follow, and Leads are the nodes that take themselves for one, with blanks between.
	Leader, Leads string
	Ill           string // a part of the error of Healthy; empty: all is well
}

// Leads checks the leaders and the health that servers report. Leader queries the leader.
func Leads(t *testing.T, g service.Servers, leader func(context.Context) (string, error), all []Led) {
	t.Helper()
	for _, c := range all {
		if c.Is != nil {
			c.Is()
		}
		if got, err := leader(t.Context()); got != c.Leader || (err == nil) != (c.Leader != "") {
			t.Errorf("%s: the leader is %q, %v; want %q", c.Name, got, err, c.Leader)
		}
		if got := g.Leaders(t.Context()); !slices.Equal(got, strings.Fields(c.Leads)) {
			t.Errorf("%s: leaders are %v, want %s", c.Name, got, c.Leads)
		}
		if err := g.Healthy(t.Context()); (err == nil) != (c.Ill == "") || err != nil && !strings.Contains(err.Error(), c.Ill) {
			t.Errorf("%s: Healthy returns %v, want %q", c.Name, err, c.Ill)
		}
	}
}

// Requests checks that the requests in what a client sends are found when their last byte arrives, in pieces of any size.
func Requests(t *testing.T, w service.Wire, sent []byte, want ...string) {
	t.Helper()
	for _, size := range []int{1, 3, 7, 100, len(sent)} {
		var got []string
		to := service.NewRequestWriter(w, func(name []byte) { got = append(got, string(name)) })
		for piece := range slices.Chunk(sent, size) {
			if n, err := to.Write(piece); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%.40q in pieces of %d: %q, want %q", sent, size, got, want)
		}
	}
}
