package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"lockbench/internal/service"
	"lockbench/internal/testing/servicetest"
	"lockbench/locks"
)

func TestVersion(t *testing.T) {
	java := "openjdk 17.0.15 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6-Debian-1deb12u1)\n"
	servicetest.Versions(t, Service, map[string]servicetest.Version{
		java + "3.8.0\n":                  {Text: "3.8.0 on Java 17", Enough: true},
		java + "3.9.2-SNAPSHOT\n":         {Text: "3.9.2-SNAPSHOT on Java 17", Enough: true},
		"java 21 2023-09-19 LTS\n3.5.0\n": {Text: "3.5.0 on Java 21", Enough: true},
		java + "3.4.13\n":                 {Text: "3.4.13 on Java 17"},
		"3.10.1":                          {Text: "3.10.1", Enough: true},
		java:                              {},
		"Redis server v=7.0.15":           {},
	})
}

// place returns the place of a node of a topology.
func place(topology locks.Topology, node string, settings map[string]string) service.Place {
	t, _ := service.Find(Service, topology)
	p := service.Place{
		Node: service.Node{Name: node, Role: service.Data}, Topology: t, Settings: settings, Peers: map[string][]netip.AddrPort{},
		Bind: netip.MustParseAddr("127.0.0.1"), Port: 7000, Announced: netip.MustParseAddrPort("127.0.0.65:7000"), Data: "/config/data", Config: "/config",
	}
	for i, n := range t.Nodes() {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, byte(129 + i)}), 7000)
		if n.Name == node {
			at = netip.MustParseAddrPort("127.0.0.1:7000") // its own, where it listens
		}
		for port := range uint16(electionPort + 1) {
			p.Peers[n.Name] = append(p.Peers[n.Name], netip.AddrPortFrom(at.Addr(), at.Port()+port))
		}
	}
	return p
}

// Members get the addresses of the others, and dial through a proxy.
func TestProgram(t *testing.T) {
	at := place(Quorum, "zookeeper-2", map[string]string{"tickTime": "500"})
	if alone := Service.Program(at); strings.Contains(strings.Join(alone.Args, " "), "socks") {
		t.Errorf("there is no proxy, and the arguments are %q", alone.Args)
	}
	at.Proxy = netip.MustParseAddrPort("127.0.0.200:8000")
	p := Service.Program(at)
	for _, want := range []string{"-DsocksProxyHost=127.0.0.200", "-DsocksProxyPort=8000", "-DsocksNonProxyHosts="} {
		if !slices.Contains(p.Args, want) {
			t.Errorf("there is no %s in %q", want, p.Args)
		}
	}
	if p.Args[len(p.Args)-1] != "/config/zoo.cfg" {
		t.Errorf("arguments are %q", p.Args)
	}
	lines := strings.Split(p.Files["/config/zoo.cfg"], "\n")
	for _, want := range []string{
		"dataDir=/config/data", "clientPort=7000", "clientPortAddress=127.0.0.1", "tickTime=500", "initLimit=10",
		"admin.enableServer=false", "4lw.commands.whitelist=ruok,srvr,mntr",
		"server.1=127.0.0.129:7001:7002", "server.2=127.0.0.1:7001:7002", "server.3=127.0.0.131:7001:7002",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("there is no %s in %q", want, lines)
		}
	}
	// Files in the folder of the data are written again after a loss of data.
	if lost := p.In("/config/data"); len(lost) != 1 || lost["/config/data/myid"] != "2\n" {
		t.Errorf("in the folder of the data there are %q", lost)
	}
	single := Service.Program(place(locks.Single, "zookeeper-1", nil))
	if len(single.Files) != 1 || strings.Contains(single.Files["/config/zoo.cfg"], "server.") {
		t.Errorf("a single server has %q", single.Files)
	}
}

// A scenario may not set the settings that lockbench decides.
func TestSettings(t *testing.T) {
	given := map[string]string{}
	for _, s := range Service.Settings {
		given[s.Name] = "scenario"
	}
	config := Service.Program(place(Quorum, "zookeeper-1", given)).Files["/config/zoo.cfg"]
	for _, s := range Service.Settings {
		if s.Name == "dataLogDir" || s.Name == "dynamicConfigFile" {
			continue // not set by users: Program gets checked settings
		}
		if taken := strings.Contains("\n"+config, "\n"+s.Name+"=scenario\n"); taken != (s.Decided == "") {
			t.Errorf("%s of a scenario is taken: %v; decided: %q", s.Name, taken, s.Decided)
		}
	}
}

// fake is three members that answer four-letter words.
type fake struct {
	service.Host // only Dial and Status are needed

	mu      sync.Mutex
	members map[string]*member
}

type member struct {
	mode   string // empty: it has no leader
	zxid   uint64
	shy    bool   // it answers srvr alone
	synced string // what a leader says of its followers
	at     net.Listener
	down   bool
}

var errNotRunning = errors.New("it was not started")

func newFake(t *testing.T, topology locks.Topology) (*fake, *servers) {
	f := &fake{members: map[string]*member{}}
	form, _ := service.Find(Service, topology)
	for _, n := range form.Nodes() {
		m := &member{mode: follower, zxid: 0x100000001}
		f.members[n.Name] = m
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		m.at = l
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go f.serve(m, c)
			}
		}()
	}
	return f, Service.Open(form, f).(*servers)
}

// serve answers one connection, which begins with a word or with a session.
func (f *fake) serve(m *member, c net.Conn) {
	defer c.Close()
	var word [4]byte
	if _, err := io.ReadFull(c, word[:]); err != nil {
		return
	}
	f.mu.Lock()
	mode, zxid, synced, shy := m.mode, m.zxid, m.synced, m.shy
	f.mu.Unlock()
	if said := string(word[:]); mode == "denied" || shy && (said == "ruok" || said == "mntr") {
		fmt.Fprintf(c, "%s is not executed because it is not in the whitelist.\n", said)
		return
	}
	switch string(word[:]) {
	case "ruok":
		fmt.Fprint(c, "imok")
	case "srvr":
		if mode == "" {
			fmt.Fprint(c, "This ZooKeeper instance is not currently serving requests\n")
			return
		}
		fmt.Fprintf(c, "Zookeeper version: 3.8.0\nLatency min/avg/max: 0/0.0/0\nZxid: %#x\nMode: %s\nNode count: 5\n", zxid, mode)
	case "mntr":
		fmt.Fprintf(c, "zk_version\t3.8.0\n")
		if mode == leader {
			fmt.Fprintf(c, "zk_synced_followers\t%s\n", synced)
		}
	default:
		// A session: the first packet opens it, sync and close are answered, and all others come back.
		opened := false
		for next := word; ; {
			n := int64(binary.BigEndian.Uint32(next[:]))
			if !opened {
				if _, err := io.CopyN(io.Discard, c, n); err != nil {
					return
				}
				// The protocol's version, the timeout, and the number and the password of the session.
				_, _ = c.Write(packet(slices.Concat(make([]byte, 6), []byte{7, 208}, make([]byte, 7), []byte{1}, packet(make([]byte, 16)))))
				opened = true
			} else {
				asked := make([]byte, n)
				if _, err := io.ReadFull(c, asked); err != nil {
					return
				}
				if op := int8(asked[7]); op == opSync || op == opClose { // the number of the request, a transaction, no error, and the path
					asked = slices.Concat(asked[:4], make([]byte, 12), asked[headLength:])
				}
				_, _ = c.Write(packet(asked))
			}
			if _, err := io.ReadFull(c, next[:]); err != nil {
				return
			}
		}
	}
}

func (f *fake) Dial(ctx context.Context, node string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", f.members[node].at.Addr().String())
}

func (f *fake) Status(node string) service.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.members[node].down {
		return service.Status{Why: errNotRunning}
	}
	return service.Status{Running: true}
}

func TestLeaders(t *testing.T) {
	f, g := newFake(t, Quorum)
	ctx := t.Context()
	one, two, three := f.members["zookeeper-1"], f.members["zookeeper-2"], f.members["zookeeper-3"]
	says := func(when, leads, healthy string, leaders ...string) {
		t.Helper()
		got, err := g.Leader(ctx)
		if got != leads || (err == nil) != (leads != "") {
			t.Errorf("%s: the leader is %q, %v; want %q", when, got, err, leads)
		}
		if all := g.Leaders(ctx); !slices.Equal(all, leaders) {
			t.Errorf("%s: leaders are %v, want %v", when, all, leaders)
		}
		if err := g.Healthy(ctx); (err == nil) != (healthy == "") || err != nil && !strings.Contains(err.Error(), healthy) {
			t.Errorf("%s: health is %v, want %q", when, err, healthy)
		}
	}
	says("without any", "", "no node leads")
	one.mode, one.synced = leader, "2"
	says("at first", "zookeeper-1", "", "zookeeper-1")
	one.synced = "2.0"
	says("in the words of another version", "zookeeper-1", "", "zookeeper-1")
	one.synced = "1"
	says("while one does not follow", "zookeeper-1", "has 1 followers in sync, and not 2", "zookeeper-1")
	// An old leader has not noticed yet.
	three.mode, three.zxid, three.synced = leader, 0x200000000, "2"
	says("with two", "zookeeper-3", "2 nodes lead", "zookeeper-1", "zookeeper-3")
	one.mode = ""
	says("while the old one looks for the new", "zookeeper-3", "zookeeper-1 serves no clients: This ZooKeeper instance", "zookeeper-3")
	one.mode, two.down = follower, true
	says("with one down", "zookeeper-3", errNotRunning.Error(), "zookeeper-3")
	two.down, two.mode = false, "observer"
	says("with a stranger", "zookeeper-3", "zookeeper-2 is observer", "zookeeper-3")

	f, g = newFake(t, locks.Single)
	f.members["zookeeper-1"].mode = standalone
	says("alone", "zookeeper-1", "", "zookeeper-1")
}

// A server without a leader answers, and serves no clients.
func TestAnswers(t *testing.T) {
	f, g := newFake(t, Quorum)
	f.members["zookeeper-1"].mode = ""
	if err := g.Answers(t.Context(), "zookeeper-1"); err != nil {
		t.Error(err)
	}
	f.members["zookeeper-1"].down = true
	if err := g.Answers(t.Context(), "zookeeper-1"); !errors.Is(err, errNotRunning) {
		t.Errorf("one that does not run answers: %v", err)
	}
}

// A greeting exchanges the requested load in both directions and reports failures.
func TestGreet(t *testing.T) {
	f, g := newFake(t, Quorum)
	servicetest.Greets(t, g, f.Dial, "zookeeper-1", 1, 0, 1, 100, 300_000)
}

const (
	opSync  = 9
	opClose = -11
)

// conversation returns the messages of a client that syncs paths of the given total size.
func conversation(load int) [][]byte {
	all := [][]byte{packet(append(text(make([]byte, 24), strings.Repeat("\x00", 16)), 0))}
	xid := uint32(1)
	for ; load > 0; load -= pieceMax {
		path := "/" + strings.Repeat("x", min(load, pieceMax))
		all = append(all, packet(text(request(xid, opSync), path)))
		xid++
	}
	return append(all, packet(request(xid, opClose)))
}

func request(xid uint32, op int32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, xid), uint32(op))
}

func text(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

func packet(b []byte) []byte { return text(nil, string(b)) }

// Requests are reported when their last byte arrives, in pieces of any size.
func TestRequests(t *testing.T) {
	session := slices.Concat(conversation(pieceMax + 1)...)
	ordinary := slices.Concat(conversation(0)[0], packet(request(1, 1)), packet(text(request(2, 8), "/lock-a")), packet(request(3, 4711)))
	for _, test := range []struct {
		sent []byte
		want []string
	}{
		{session, []string{"CONNECT", "SYNC", "SYNC", "CLOSE"}},
		{ordinary, []string{"CONNECT", "CREATE", "GET-CHILDREN", "OP-4711"}},
		{ordinary[:len(ordinary)-1], []string{"CONNECT", "CREATE", "GET-CHILDREN"}},
		{[]byte("ruok"), []string{"RUOK"}},
		{[]byte("srvr\x00\x00\x00\x08"), nil},
		{slices.Concat([]byte{0, 0, 0, 0}, ordinary), nil},
	} {
		for _, size := range []int{1, 3, 7, len(test.sent)} {
			var got []string
			w := service.NewRequestWriter(wire, func(name []byte) { got = append(got, string(name)) })
			for piece := range slices.Chunk(test.sent, size) {
				if n, err := w.Write(piece); n != len(piece) || err != nil {
					t.Fatal(n, err)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q in pieces of %d: %v, want %v", test.sent[:min(40, len(test.sent))], size, got, test.want)
			}
		}
	}
}
