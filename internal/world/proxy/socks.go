package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"
)

// AddSOCKS listens for one node that dials others where they really listen, as it was told,
// and can be made to do so through a proxy (SOCKS 5, which every Java speaks). Each
// connection of it is from that node, to the one whose address it asks for.
func (p *Proxy) AddSOCKS(source string, ip netip.Addr) (netip.AddrPort, error) {
	return p.listenAs(netip.AddrPortFrom(ip, 0), &listener{source: source, target: "others", socks: true})
}

// direct hears where a connection to a proxy is to lead.
func (p *Proxy) direct(e *listener, near *net.TCPConn) {
	_ = near.SetDeadline(time.Now().Add(p.options.DialLimit))
	at, err := hearTarget(near)
	node := ""
	if err == nil {
		p.mu.Lock()
		if name := p.names[at.Addr()]; p.nodes[name].IsValid() {
			node = name
		} else {
			err = fmt.Errorf("there is no node at %s", at)
		}
		p.mu.Unlock()
	}
	if err == nil {
		// As everywhere in this network it is accepted first, and dialled then.
		_, err = near.Write([]byte{socks, 0, 0, ipv4, 0, 0, 0, 0, 0, 0})
	}
	if err != nil {
		p.reject(e, near, fmt.Sprintf("%s has asked its proxy: %v", e.source, err))
		return
	}
	_ = near.SetDeadline(time.Time{})
	p.open(&listener{source: e.source, target: node, real: at}, near, e.source)
}

// Words of SOCKS 5 (RFC 1928).
const (
	socks   = 5
	connect = 1
	ipv4    = 1
	noLogin = 0
)

var errNoSocks = errors.New("it asks for something else than a connection to an IPv4 address by SOCKS 5")

// hearTarget speaks to who has connected, and takes nothing of what comes after.
func hearTarget(c io.ReadWriter) (netip.AddrPort, error) {
	var hello [2]byte // the version, and how many ways to log in are offered
	if _, err := io.ReadFull(c, hello[:]); err != nil {
		return netip.AddrPort{}, err
	}
	if _, err := io.CopyN(io.Discard, c, int64(hello[1])); err != nil {
		return netip.AddrPort{}, err
	}
	if hello[0] != socks {
		return netip.AddrPort{}, errNoSocks
	}
	if _, err := c.Write([]byte{socks, noLogin}); err != nil {
		return netip.AddrPort{}, err
	}
	var asked [10]byte // version, command, nothing, kind of address, address, port
	if _, err := io.ReadFull(c, asked[:]); err != nil {
		return netip.AddrPort{}, err
	}
	if asked[0] != socks || asked[1] != connect || asked[3] != ipv4 {
		return netip.AddrPort{}, errNoSocks
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(asked[4:8])), uint16(asked[8])<<8|uint16(asked[9])), nil
}
