package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"
)

// AddSOCKS starts a SOCKS 5 proxy for one node, which dials the real addresses of other nodes
// through it. Java programs can be configured to do that.
func (p *Proxy) AddSOCKS(source string, ip netip.Addr) (netip.AddrPort, error) {
	return p.listen(netip.AddrPortFrom(ip, 0), &listener{source: source, target: "others", socks: true})
}

// direct reads the target of a SOCKS connection and relays to it.
func (l *listener) direct(near *net.TCPConn) {
	p := l.proxy
	_ = near.SetDeadline(time.Now().Add(p.options.DialLimit))
	at, err := readTarget(near)
	var node *end
	if err == nil {
		p.mu.Lock()
		node = p.at(at.Addr())
		p.mu.Unlock()
		if node == nil || !node.isNode() {
			err = fmt.Errorf("there is no node at %s", at)
		}
	}
	if err == nil {
		// Like every listener, it accepts first and dials later.
		_, err = near.Write([]byte{socks, 0, 0, ipv4, 0, 0, 0, 0, 0, 0})
	}
	if err != nil {
		l.reject(near, fmt.Sprintf("SOCKS request of %s: %v", l.source, err))
		return
	}
	_ = near.SetDeadline(time.Time{})
	(&listener{proxy: p, target: node.name, real: at}).open(near, l.source)
}

// SOCKS 5 constants (RFC 1928).
const (
	socks   = 5
	connect = 1
	ipv4    = 1
	noLogin = 0
)

var errNoSocks = errors.New("not a SOCKS 5 request to connect to an IPv4 address")

// readTarget does the SOCKS handshake and reads no byte beyond it.
func readTarget(c io.ReadWriter) (netip.AddrPort, error) {
	var hello [2]byte // version, number of offered login methods
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
	var asked [10]byte // version, command, reserved, address type, address, port
	if _, err := io.ReadFull(c, asked[:]); err != nil {
		return netip.AddrPort{}, err
	}
	if asked[0] != socks || asked[1] != connect || asked[3] != ipv4 {
		return netip.AddrPort{}, errNoSocks
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(asked[4:8])), uint16(asked[8])<<8|uint16(asked[9])), nil
}
