//go:build linux

package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lockbench/internal/service/redis"
	"lockbench/internal/world"
)

// patience bounds every wait of these tests; no test passes because of it.
const patience = 20 * time.Second

// lab is a proxy with two nodes that answer each line by "re: " and the line, and
// two clients.
type lab struct {
	t     *testing.T
	proxy *Proxy
	base  [2]byte
	nodes map[string]*server
	log   []string
	mu    sync.Mutex
}

func newLab(t *testing.T) *lab { return newLabWith(t, nil) }

// newLabWith is a lab whose proxy looks up the sources of connections.
func newLabWith(t *testing.T, owner func(dialler, at netip.AddrPort) (string, error)) *lab {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	l := &lab{t: t, nodes: map[string]*server{}, base: [2]byte{byte(100 + os.Getpid()%100), byte(rand.IntN(255))}}
	l.proxy = New(Options{DialLimit: patience, Owner: owner, Wire: redis.Service.Wire, Log: func(line string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.log = append(l.log, line)
	}})
	t.Cleanup(func() {
		if err := l.proxy.Close(); err != nil {
			t.Error(err)
		}
		for _, s := range l.nodes {
			s.die()
		}
	})
	for k, name := range []string{"n1", "n2"} {
		s := serve(t, l.ip(k+1))
		l.nodes[name] = s
		s.announced = netip.AddrPortFrom(l.ip(65+k), s.real.Port())
		if err := l.proxy.AddNode(Node{name, s.real, s.announced}); err != nil {
			t.Fatal(err)
		}
	}
	for k, name := range []string{"c1", "c2"} {
		if err := l.proxy.AddClient(name, l.ip(201+k)); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func (l *lab) ip(k int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, l.base[0], l.base[1], byte(k)})
}

// dial connects an end to a node.
func (l *lab) dial(from, to string) *peer {
	l.t.Helper()
	ip, _ := l.proxy.IP(from)
	return l.dialAddr(ip, l.nodes[to].announced)
}

func (l *lab) dialAddr(from netip.Addr, to netip.AddrPort) *peer {
	l.t.Helper()
	d := net.Dialer{Timeout: patience}
	if from.IsValid() {
		d.LocalAddr = &net.TCPAddr{IP: from.AsSlice()}
	}
	c, err := d.Dial("tcp4", to.String())
	if err != nil {
		l.t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	l.t.Cleanup(func() { c.Close() })
	return &peer{l.t, c, bufio.NewReader(c)}
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// until waits for a condition.
func (l *lab) until(what string, done func() bool) {
	l.t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-limit:
			l.t.Fatalf("waited for %s in vain", what)
		}
	}
}

// atGate waits until so many bytes stand at the gate of one direction of the only
// connection between two ends.
func (l *lab) atGate(at world.Link, bytes int) {
	l.t.Helper()
	l.until(fmt.Sprintf("%d bytes at the gate of %s", bytes, at), func() bool {
		l.proxy.mu.Lock()
		defer l.proxy.mu.Unlock()
		n := 0
		for c := range l.proxy.conns {
			f := c.up
			if c.name != at {
				if f = c.down; c.name != (world.Link{From: at.To, To: at.From}) {
					continue
				}
			}
			f.queue.mu.Lock()
			for _, chunk := range f.queue.chunks {
				n += len(chunk)
			}
			f.queue.mu.Unlock()
		}
		return n == bytes
	})
}

// peer is a connected end.
type peer struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func (p *peer) say(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) hears(want string) {
	p.t.Helper()
	line, err := p.r.ReadString('\n')
	if err != nil || line != want+"\n" {
		p.t.Fatalf("heard %q, %v; want %q", line, err, want)
	}
}

// talks makes sure that the connection works both ways.
func (p *peer) talks() {
	p.t.Helper()
	p.say("hello")
	p.hears("re: hello")
}

// ends waits for the end of the connection and says how it came.
func (p *peer) ends() error {
	p.t.Helper()
	_, err := p.r.ReadByte()
	if err == nil {
		p.t.Fatal("the connection lives on")
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.t.Fatal("the connection did not end")
	}
	return err
}

// server is a node that answers lines.
type server struct {
	real, announced netip.AddrPort
	listener        net.Listener

	mu    sync.Mutex
	conns []net.Conn
	peers []string // IPs, in the order of connections
	lines []string
	wg    sync.WaitGroup
}

func serve(t *testing.T, ip netip.Addr) *server {
	t.Helper()
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: ip.AsSlice()})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{listener: l, real: netip.AddrPortFrom(ip, uint16(l.Addr().(*net.TCPAddr).Port))}
	s.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, c)
			s.peers = append(s.peers, c.RemoteAddr().(*net.TCPAddr).IP.String())
			s.mu.Unlock()
			s.wg.Go(func() { s.answer(c) })
		}
	})
	return s
}

func (s *server) answer(c net.Conn) {
	defer c.Close()
	for lines := bufio.NewScanner(c); lines.Scan(); {
		s.mu.Lock()
		s.lines = append(s.lines, lines.Text())
		s.mu.Unlock()
		if _, err := fmt.Fprintf(c, "re: %s\n", lines.Text()); err != nil {
			return
		}
	}
}

// die is what SIGKILL does.
func (s *server) die() {
	s.listener.Close()
	s.mu.Lock()
	for _, c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

func (s *server) heard(line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(strings.Join(s.lines, "\n")+"\n", line+"\n")
}

func (s *server) accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

func TestNodesSeeWhoTalks(t *testing.T) {
	l := newLab(t)
	l.dial("c1", "n1").talks()
	l.dial("n2", "n1").talks()
	want := fmt.Sprint([]string{l.ip(201).String(), l.ip(2).String()})
	if got := fmt.Sprint(l.nodes["n1"].peers); got != want {
		t.Errorf("n1 saw %s, want %s", got, want)
	}
}

func TestStrangersAreTurnedAway(t *testing.T) {
	l := newLab(t)
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: l.ip(250).AsSlice()}}
	// The reset may come before the dialler has looked.
	if c, err := d.Dial("tcp4", l.nodes["n1"].announced.String()); err == nil {
		_ = c.SetReadDeadline(time.Now().Add(patience))
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the stranger's connection lives on: %v", err)
		}
		c.Close()
	}
	l.until("the log to tell", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.log) > 0
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.log) != 1 || !strings.Contains(l.log[0], l.ip(250).String()) {
		t.Errorf("the log should name the stranger: %q", l.log)
	}
}

func TestEntryNamesTheSource(t *testing.T) {
	l := newLab(t)
	at, err := l.proxy.ListenerFor("c1", "n1")
	l.must(err)
	p := l.dialAddr(netip.Addr{}, at)
	p.talks()
	if got := l.nodes["n1"].peers[0]; got != l.ip(201).String() {
		t.Errorf("n1 saw %s, want the address of c1", got)
	}
	l.must(l.proxy.SetLinks([]world.Link{{From: "c1", To: "n1"}}, world.LinkState{Cut: true}))
	p.say("held")
	l.atGate(world.Link{From: "c1", To: "n1"}, len("held\n"))
	l.proxy.Leave("c1")
	if c, err := net.Dial("tcp4", at.String()); err == nil {
		c.Close()
		t.Error("the entry still listens")
	}
	l.must(l.proxy.SetLinks([]world.Link{{From: "c1", To: "n1"}}, world.LinkState{}))
	p.hears("re: held")
}

func TestMoveService(t *testing.T) {
	l := newLab(t)
	at := netip.AddrPortFrom(l.ip(200), l.nodes["n1"].real.Port())
	l.must(l.proxy.AddService("svc", at, "n1"))
	direct, old := l.dial("c1", "n1"), l.dialAddr(l.ip(201), at)
	direct.talks()
	old.talks()
	l.must(l.proxy.Move("svc", "n2"))
	_ = old.ends()
	direct.talks() // it did not come through the service
	moved := l.dialAddr(l.ip(201), at)
	moved.say("moved")
	moved.hears("re: moved")
	if !l.nodes["n2"].heard("moved") {
		t.Error("n2 should have heard it")
	}
	if err := l.proxy.Move("svc", "n3"); err == nil {
		t.Error("there is no n3")
	}
}

func TestDeadNode(t *testing.T) {
	l := newLab(t)
	open, cut := l.dial("c1", "n1"), l.dial("c2", "n1")
	open.talks()
	cut.talks()
	l.must(l.proxy.SetLinks([]world.Link{{From: "n1", To: "c2"}}, world.LinkState{Cut: true}))
	l.nodes["n1"].die()
	if err := open.ends(); !errors.Is(err, io.EOF) {
		t.Errorf("the end of n1 came as %v", err)
	}
	// The news of it is on a cut link, so for c2 nothing has happened yet.
	_ = cut.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := cut.r.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("c2 heard through a cut link: %v", err)
	}
	_ = cut.SetReadDeadline(time.Now().Add(patience))
	refused := l.dial("c2", "n1") // waits for the refusal, which is cut too
	l.must(l.proxy.SetLinks([]world.Link{{From: "n1", To: "c2"}}, world.LinkState{}))
	_ = cut.ends()
	_ = refused.ends()
}

// TestHalfClose: a client that has said all may still hear.
func TestHalfClose(t *testing.T) {
	l := newLab(t)
	p := l.dial("c1", "n1")
	p.say("last words")
	l.must(p.Conn.(*net.TCPConn).CloseWrite())
	p.hears("re: last words")
	if err := p.ends(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	l.until("the end of the connection", func() bool {
		l.proxy.mu.Lock()
		defer l.proxy.mu.Unlock()
		return len(l.proxy.conns) == 0
	})
}

func TestUnknownLinks(t *testing.T) {
	l := newLab(t)
	for _, at := range []world.Link{{From: "c1", To: "n9"}, {From: "c9", To: "n1"}, {From: "c1", To: "c2"}} {
		if err := l.proxy.SetLinks([]world.Link{at}, world.LinkState{Cut: true}); err == nil {
			t.Errorf("%s should be refused", at)
		}
	}
}
