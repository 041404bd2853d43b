package mongo

import (
	"bytes"
	"context"
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
)

func TestVersion(t *testing.T) {
	servicetest.Versions(t, Service, map[string]servicetest.Version{
		"FerretDB v1.24.2 on SQLite":               {Text: "1.24.2 of FerretDB, which is not MongoDB", Enough: true},
		"db version v7.0.14\nBuild Info: {\n":      {Text: "7.0.14", Enough: true},
		"db version v10.0.0":                       {Text: "10.0.0", Enough: true},
		"db version v4.4.29":                       {Text: "4.4.29"},
		"etcd Version: 3.6.16":                     {},
		"mongod: unrecognised option '--version'.": {},
	})
}

// A scenario cannot set what lockbench sets itself. Its other settings take effect.
func TestSettings(t *testing.T) {
	given := map[string]string{}
	for _, s := range Service.Settings {
		if s.Decided == "" {
			given[s.Name] = "given-" + s.Name
		}
	}
	at := service.Place{Bind: netip.MustParseAddr("127.0.0.1"), Port: 7000, Data: "/data", Settings: given}
	args := Service.Program(at).Args
	for _, s := range Service.Settings {
		i := slices.Index(args, "--"+s.Name)
		if i < 0 || strings.HasPrefix(args[i+1], "given-") != (s.Decided == "") {
			t.Errorf("%s: %v", s.Name, args)
		}
	}
	at.Bind = netip.Addr{}
	if args := Service.Program(at).Args; !slices.Equal(args[:2], []string{"--bind_ip", "0.0.0.0"}) {
		t.Errorf("everywhere is %v", args)
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
	want := []string{"isMaster", "hello", "findAndModify", "unread", "unread", "update"}
	for _, size := range []int{1, 3, 7, 100, len(all)} {
		var got []string
		w := service.NewRequestWriter(wire, func(name []byte) { got = append(got, string(name)) })
		for piece := range slices.Chunk(all, size) {
			if n, err := w.Write(piece); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("in pieces of %d: %q, want %q", size, got, want)
		}
	}
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

// fake is one server.
type fake struct {
	service.Host
	at   net.Listener
	says func(asked string) bson.M
	down error
}

func newFake(t *testing.T, says func(asked string) bson.M) (*fake, *servers) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	f := &fake{at: l, says: says}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go f.serve(c)
		}
	}()
	return f, Service.Open(topologies[0], f).(*servers)
}

func (f *fake) serve(c net.Conn) {
	defer c.Close()
	for {
		asked := make([]byte, headLength)
		if _, err := io.ReadFull(c, asked); err != nil {
			return
		}
		asked = append(asked, make([]byte, int(binary.LittleEndian.Uint32(asked))-headLength)...)
		if _, err := io.ReadFull(c, asked[headLength:]); err != nil {
			return
		}
		said := message(100, f.says(string(command(asked))))
		copy(said[8:12], asked[4:8])
		_, _ = c.Write(said)
	}
}

func (f *fake) Status(string) service.Status {
	return service.Status{Running: f.down == nil, Why: f.down}
}
func (f *fake) Dial(ctx context.Context, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", f.at.Addr().String())
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
	f.down = errors.New("it was killed")
	if err := g.Answers(ctx, "mongo-1"); !errors.Is(err, f.down) {
		t.Errorf("Answers of a server that is down returns %v", err)
	}
}

// A greeting exchanges the requested load in both directions and reports failures.
func TestGreet(t *testing.T) {
	f, g := newFake(t, func(string) bson.M { return bson.M{"ok": 1.0} })
	servicetest.Greets(t, g, f.Dial, "mongo-1", 2, 0, 100_000)
}
