package zookeeper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/service"
	"lockbench/internal/testing/servicetest"
	"lockbench/locks"
)

func TestService(t *testing.T) {
	java := "openjdk 17.0.15 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6-Debian-1deb12u1)\n"
	servicetest.Suite{
		Service: Service,
		Versions: map[string]servicetest.Version{
			java + "3.8.0\n":                  {Text: "3.8.0 on Java 17", Enough: true},
			java + "3.9.2-SNAPSHOT\n":         {Text: "3.9.2-SNAPSHOT on Java 17", Enough: true},
			"java 21 2023-09-19 LTS\n3.5.0\n": {Text: "3.5.0 on Java 21", Enough: true},
			java + "3.4.13\n":                 {Text: "3.4.13 on Java 17"},
			"3.10.1":                          {Text: "3.10.1", Enough: true},
			java:                              {},
			"Redis server v=7.0.15":           {},
		},
		URLs: []servicetest.Located{
			{URLs: "zookeeper://a", Addrs: "a:2181", Topology: "1 zookeeper"},
			{URLs: "zookeepers://a,b:1", Addrs: "a:2181 b:1", Topology: "zookeeper quorum of 2", TLS: true},
			{URLs: "zookeeper://u@a", Addrs: "a:2181", Topology: "1 zookeeper", User: "u"}, // Survey refuses users
			{URLs: "zookeeper://a/x", Refused: "/x cannot be used"},
			{URLs: "zookeeper://a,a:2181", Refused: "named twice"},
			{URLs: "zookeeper+ring://a", Refused: "named as zookeeper://HOST:PORT"},
			{URLs: "zookeeper://a zookeeper", Refused: "not a URL"},
		},
		NoLogin: true,
		Settings: servicetest.Settings{
			Topology: Quorum, Trusted: []string{"dataLogDir", "dynamicConfigFile"},
			Line: func(_ service.Node, name, value string) string { return name + "=" + value },
		},
	}.Run(t)
}

// Members get the addresses of the others, and dial through a proxy.
func TestProgram(t *testing.T) {
	at := servicetest.Place(Service, Quorum, "zookeeper-2", map[string]string{"tickTime": "500"})
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
		"dataDir=/config/data", "clientPort=7000", "clientPortAddress=127.0.0.2", "tickTime=500", "initLimit=10",
		"admin.enableServer=false", "4lw.commands.whitelist=ruok,srvr,mntr",
		"server.1=127.0.0.65:7001:7002", "server.2=127.0.0.2:7001:7002", "server.3=127.0.0.67:7001:7002",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("there is no %s in %q", want, lines)
		}
	}
	// Files in the folder of the data are written again after a loss of data.
	if lost := p.In("/config/data"); len(lost) != 1 || lost["/config/data/myid"] != "2\n" {
		t.Errorf("in the folder of the data there are %q", lost)
	}
	single := Service.Program(servicetest.Place(Service, locks.Single, "zookeeper-1", nil))
	if len(single.Files) != 1 || strings.Contains(single.Files["/config/zoo.cfg"], "server.") {
		t.Errorf("a single server has %q", single.Files)
	}
}

// fake is members that answer four-letter words.
type fake struct {
	servicetest.Host
	members map[string]*member
}

type member struct {
	mode   string // empty: it has no leader
	zxid   uint64
	shy    bool   // it answers srvr alone
	synced string // what a leader says of its followers
}

func newFake(t *testing.T, topology locks.Topology) (*fake, *servers) {
	f := &fake{members: map[string]*member{}}
	form, _ := service.Find(Service, topology)
	for _, n := range form.Nodes() {
		m := &member{mode: follower, zxid: 0x100000001}
		f.members[n.Name] = m
		f.Serve(t, n.Name, func(c net.Conn) { f.serve(m, c) })
	}
	return f, Service.Open(form, f).(*servers)
}

// serve answers one connection, which begins with a word or with a session.
func (f *fake) serve(m *member, c net.Conn) {
	var word [4]byte
	if _, err := io.ReadFull(c, word[:]); err != nil {
		return
	}
	f.Mu.Lock()
	mode, zxid, synced, shy := m.mode, m.zxid, m.synced, m.shy
	f.Mu.Unlock()
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

func TestLeaders(t *testing.T) {
	f, g := newFake(t, Quorum)
	one, two, three := f.members["zookeeper-1"], f.members["zookeeper-2"], f.members["zookeeper-3"]
	servicetest.Leads(t, g, g.Leader, []servicetest.Led{
		{Name: "without any", Ill: "no node leads"},
		{Name: "at first", Is: func() { one.mode, one.synced = leader, "2" }, Leader: "zookeeper-1", Leads: "zookeeper-1"},
		{Name: "in the words of another version", Is: func() { one.synced = "2.0" }, Leader: "zookeeper-1", Leads: "zookeeper-1"},
		{
			Name: "while one does not follow", Is: func() { one.synced = "1" },
			Leader: "zookeeper-1", Leads: "zookeeper-1", Ill: "has 1 followers in sync, and not 2",
		},
		{
			Name: "while an old leader has not noticed", Is: func() { three.mode, three.zxid, three.synced = leader, 0x200000000, "2" },
			Leader: "zookeeper-3", Leads: "zookeeper-1 zookeeper-3", Ill: "2 nodes lead",
		},
		{
			Name: "while the old one looks for the new", Is: func() { one.mode = "" },
			Leader: "zookeeper-3", Leads: "zookeeper-3", Ill: "zookeeper-1 serves no clients: This ZooKeeper instance",
		},
		{
			Name: "with one down", Is: func() { one.mode = follower; f.Down("zookeeper-2", true) },
			Leader: "zookeeper-3", Leads: "zookeeper-3", Ill: servicetest.ErrNotRunning.Error(),
		},
		{
			Name: "with an observer", Is: func() { f.Down("zookeeper-2", false); two.mode = "observer" },
			Leader: "zookeeper-3", Leads: "zookeeper-3", Ill: "zookeeper-2 is observer",
		},
		{
			// Servers that only answer srvr, as all do by default, are healthy.
			Name: "with a whitelist", Is: func() { one.shy, two.shy, three.shy, two.mode = true, true, true, follower },
			Leader: "zookeeper-3", Leads: "zookeeper-3",
		},
	})
	f, g = newFake(t, locks.Single)
	f.members["zookeeper-1"].mode, f.members["zookeeper-1"].shy = standalone, true
	servicetest.Leads(t, g, g.Leader, []servicetest.Led{{Name: "alone", Leader: "zookeeper-1", Leads: "zookeeper-1"}})
}

// A server answers without a leader, and without the right to answer any word but srvr.
func TestAnswers(t *testing.T) {
	f, g := newFake(t, Quorum)
	f.members["zookeeper-1"].mode, f.members["zookeeper-2"].shy = "", true
	for _, node := range []string{"zookeeper-1", "zookeeper-2"} {
		if err := g.Answers(t.Context(), node); err != nil {
			t.Error(err)
		}
	}
	f.Down("zookeeper-1", true)
	if err := g.Answers(t.Context(), "zookeeper-1"); !errors.Is(err, servicetest.ErrNotRunning) {
		t.Errorf("one that does not run answers: %v", err)
	}
}

// The servers must be those that --servers describes.
func TestSurvey(t *testing.T) {
	f, _ := newFake(t, Quorum)
	one, two := f.members["zookeeper-1"], f.members["zookeeper-2"]
	var all []servicetest.Refused
	for want, modes := range map[string][2]string{
		"both lead":              {leader, leader},
		"is observer":            {"observer", leader},
		"is a standalone server": {standalone, leader},
		"serves no clients":      {"", leader},
		"whitelist lacks srvr":   {"denied", leader},
		"unknown error":          {follower, leader}, // the fake answers requests with themselves
	} {
		all = append(all, servicetest.Refused{
			Name: want, Is: func() { one.mode, two.mode = modes[0], modes[1] }, Nodes: []string{"zookeeper-1", "zookeeper-2", "zookeeper-3"}, Want: want,
		})
	}
	f.Refuses(t, Service, all)
}

// A greeting exchanges the requested load in both directions and reports failures.
func TestGreet(t *testing.T) {
	f, g := newFake(t, Quorum)
	servicetest.Greets(t, g, f, "zookeeper-1", 1, 0, 1, 100, 300_000)
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
	servicetest.Requests(t, wire, session, "CONNECT", "SYNC", "SYNC", "CLOSE")
	servicetest.Requests(t, wire, ordinary, "CONNECT", "CREATE", "GET-CHILDREN", "OP-4711")
	servicetest.Requests(t, wire, ordinary[:len(ordinary)-1], "CONNECT", "CREATE", "GET-CHILDREN")
	servicetest.Requests(t, wire, []byte("ruok"), "RUOK")
	servicetest.Requests(t, wire, []byte("srvr\x00\x00\x00\x08"))
	servicetest.Requests(t, wire, slices.Concat([]byte{0, 0, 0, 0}, ordinary))
}
