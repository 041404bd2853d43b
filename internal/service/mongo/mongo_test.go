package mongo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"lockbench/internal/service"
	"lockbench/internal/testing/servicetest"
	"lockbench/locks"
)

func TestService(t *testing.T) {
	servicetest.Suite{
		Service: Service,
		Versions: map[string]servicetest.Version{
			"FerretDB v1.24.2 on SQLite":               {Text: "1.24.2 of FerretDB, which is not MongoDB", Enough: true},
			"db version v7.0.14\nBuild Info: {\n":      {Text: "7.0.14", Enough: true},
			"db version v10.0.0":                       {Text: "10.0.0", Enough: true},
			"db version v4.4.29":                       {Text: "4.4.29"},
			"etcd Version: 3.6.16":                     {},
			"mongod: unrecognised option '--version'.": {},
		},
		URLs: []servicetest.Located{
			{URLs: "mongodb://a", Addrs: "a:27017", Topology: "1 mongo", Database: "lockbench"},
			{
				URLs: "mongodb+tls://u@a,b:1,[::1]:2/locks", Addrs: "a:27017 b:1 [::1]:2", Topology: "mongo replica set of 3",
				User: "u", Database: "locks", TLS: true,
			},
			{URLs: "mongo://a", Addrs: "a:27017", Topology: "1 mongo", Database: "lockbench"},
			{URLs: "mongodb://a mongodb://b", Addrs: "a:27017 b:27017", Topology: "mongo replica set of 2", Database: "lockbench"},
			{URLs: "mongodb://a mongodb+tls://b", Refused: "use the same scheme"},
			{URLs: "mongodb://a,a:27017", Refused: "named twice"},
			{URLs: "mongodb://a/x?replicaSet=y", Refused: "mongodb+tls://"},
			{URLs: "mongodb://a/x.y", Refused: `cannot be called "x.y"`},
			{URLs: "mongodb+srv://a", Refused: "named as mongodb://USER@HOST:PORT"},
			{URLs: "mongodb://u:p@a", Refused: "a password in a URL"},
		},
		Settings: servicetest.Settings{
			Topology: locks.Single, Trusted: servicetest.Decided(Service),
			Line: func(_ service.Node, _, value string) string { return value },
		},
	}.Run(t)
}

func TestProgram(t *testing.T) {
	at := servicetest.Place(Service, locks.Single, "mongo-1", map[string]string{"storageEngine": "x"})
	everywhere := at
	everywhere.Bind = netip.Addr{}
	for address, at := range map[string]service.Place{"127.0.0.1": at, "0.0.0.0": everywhere} {
		want := []string{"--bind_ip", address, "--port", "7000", "--dbpath", "/config/data", "--storageEngine", "x"}
		if args := Service.Program(at).Args; !slices.Equal(args, want) {
			t.Errorf("arguments are %q, want %q", args, want)
		}
	}
}

// query returns a message of the old kind, with which drivers begin.
func query(d bson.D) []byte {
	body := append([]byte("\x00\x00\x00\x00admin.$cmd\x00\x00\x00\x00\x00\xff\xff\xff\xff"), message(1, d)[headLength+5:]...)
	b := binary.LittleEndian.AppendUint32(nil, uint32(headLength+len(body)))
	for _, n := range []uint32{1, 0, opQuery} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return append(b, body...)
}

// Requests are found in pieces of any size. Reading ends at anything that is not a message of MongoDB.
func TestRequests(t *testing.T) {
	compressed := append(query(ping)[:12], 0xdc, 0x07, 0, 0, 1, 2, 3)
	binary.LittleEndian.PutUint32(compressed, uint32(len(compressed)))
	all := slices.Concat(
		query(question("admin", "isMaster", 1, nil)), message(2, hello), message(3, question("a", "findAndModify", "locks", bson.M{"x": strings.Repeat("y", 1000)})),
		compressed, message(4, bson.D{}), message(5, bson.M{"update": "locks"}), []byte("GET / HTTP/1.1\r\n\r\n"), message(6, ping),
	)
	servicetest.Requests(t, wire, all, "isMaster", "hello", "findAndModify", "unread", "unread", "update")
	if greets := func(name string) bool { return slices.Contains(wire.Greetings, name) }; greets("findAndModify") || !greets("hello") || !greets(wire.Sign) {
		t.Error("what is a greeting is confused with what a lock asks for")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(message(1, bson.M{"ok": 1.0, "errmsg": "no", "n": 3}))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = answer(bytes.NewReader(b), 1)
		_, _ = service.NewRequestWriter(wire, func([]byte) {}).Write(b)
	})
}

// TestAnswer refuses answers that are cut off.
func TestAnswer(t *testing.T) {
	whole := message(0, bson.M{"ok": 1.0, "errmsg": "no", "n": 3})
	if said, err := answer(bytes.NewReader(whole), 0); err != nil || said.Lookup("n").AsInt64() != 3 {
		t.Errorf("it reads %v, %v", said, err)
	}
	for n := range whole {
		if said, err := answer(bytes.NewReader(whole[:n]), 0); err == nil {
			t.Errorf("the first %d bytes are %v", n, said)
		}
		if short := slices.Clone(whole[:n]); n > headLength {
			binary.LittleEndian.PutUint32(short, uint32(n))
			if said, err := answer(bytes.NewReader(short), 0); err == nil {
				t.Errorf("the first %d bytes, with their length, are %v", n, said)
			}
		}
	}
}

// fake is servers that answer questions.
type fake struct{ servicetest.Host }

// answers starts a server.
func (f *fake) answers(t *testing.T, node string, says func(asked string) bson.M) {
	f.Serve(t, node, func(c net.Conn) {
		for {
			asked := make([]byte, headLength)
			if _, err := io.ReadFull(c, asked); err != nil {
				return
			}
			asked = append(asked, make([]byte, int(binary.LittleEndian.Uint32(asked))-headLength)...)
			if _, err := io.ReadFull(c, asked[headLength:]); err != nil {
				return
			}
			said := message(100, says(string(command(asked))))
			copy(said[8:12], asked[4:8])
			_, _ = c.Write(said)
		}
	})
}

// newFake returns a host of one server.
func newFake(t *testing.T, says func(asked string) bson.M) (*fake, *servers) {
	f := &fake{}
	f.answers(t, "mongo-1", says)
	return f, Service.Open(topologies[0], f).(*servers)
}

// A server reports its state, and a refusal is an error.
func TestAsked(t *testing.T) {
	refused := ""
	f, g := newFake(t, func(asked string) bson.M {
		if asked == refused {
			return bson.M{"ok": 0.0, "errmsg": "not now"}
		}
		return bson.M{"ok": 1.0}
	})
	ctx := t.Context()
	if err := g.Answers(ctx, "mongo-1"); err != nil {
		t.Error(err)
	}
	if err := g.Flush(ctx, "mongo-1"); err != nil {
		t.Error(err)
	}
	refused = "dropDatabase"
	if err := g.Flush(ctx, "mongo-1"); err == nil || !strings.Contains(err.Error(), "mongo-1: dropDatabase: it refused: not now") {
		t.Errorf("a refusal is %v", err)
	}
	// The server answers, but does not report that it takes writes.
	if err := g.Healthy(ctx); err == nil || !strings.Contains(err.Error(), "takes no writes") {
		t.Errorf("Healthy returns %v", err)
	}
	if all := g.Leaders(ctx); len(all) != 0 {
		t.Errorf("leaders are %v", all)
	}
	f.Down("mongo-1", true)
	if err := g.Answers(ctx, "mongo-1"); !errors.Is(err, servicetest.ErrNotRunning) {
		t.Errorf("Answers of a server that is down returns %v", err)
	}
}

// A greeting exchanges the requested load in both directions and reports failures.
func TestGreet(t *testing.T) {
	f, g := newFake(t, func(string) bson.M { return bson.M{"ok": 1.0} })
	servicetest.Greets(t, g, f, "mongo-1", 2, 0, 100_000)
}
