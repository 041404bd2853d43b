//go:build linux

package proxy

import (
	"io"
	"net/netip"
	"testing"

	"lockbench/internal/world"
)

// asks speaks to a proxy: the address that a connection shall lead to.
func (p *peer) asks(at netip.AddrPort) error {
	ip := at.Addr().As4()
	if _, err := p.Conn.Write([]byte{5, 2, 0, 2}); err != nil {
		return err
	}
	if _, err := io.ReadFull(p.r, make([]byte, 2)); err != nil {
		return err
	}
	if _, err := p.Conn.Write([]byte{5, 1, 0, 1, ip[0], ip[1], ip[2], ip[3], byte(at.Port() >> 8), byte(at.Port())}); err != nil {
		return err
	}
	_, err := io.ReadFull(p.r, make([]byte, 10))
	return err
}

// TestSOCKS: a node with its own SOCKS proxy is identified by it, and faults on its links take effect.
func TestSOCKS(t *testing.T) {
	l := newLab(t)
	proxy, err := l.proxy.AddSOCKS("n1", l.ip(130))
	l.must(err)
	through := func(at netip.AddrPort) *peer {
		p := l.dialAddr(netip.Addr{}, proxy)
		l.must(p.asks(at))
		return p
	}
	through(l.nodes["n2"].real).talks()
	link := world.Link{From: "n1", To: "n2"}
	l.must(l.proxy.SetLinks([]world.Link{link}, world.LinkState{Cut: true}))
	p := through(l.nodes["n2"].real)
	p.say("held")
	l.atGate(link, len("held\n"))
	if l.nodes["n2"].heard("held") {
		t.Error("n2 heard through a cut link")
	}
	l.must(l.proxy.SetLinks([]world.Link{link}, world.LinkState{}))
	p.hears("re: held")
	if n := l.proxy.Rejected(); n != 0 {
		t.Errorf("%d rejected", n)
	}
	// Other targets and malformed requests are rejected.
	if err := l.dialAddr(netip.Addr{}, proxy).asks(netip.MustParseAddrPort("127.0.0.1:1")); err == nil {
		t.Error("a proxy leads where no node is")
	}
	http := l.dialAddr(netip.Addr{}, proxy)
	http.say("GET / HTTP/1.1" + string(make([]byte, 100)))
	_ = http.ends()
	if n := l.proxy.Rejected(); n != 2 {
		t.Errorf("%d rejected; want 2", n)
	}
}
