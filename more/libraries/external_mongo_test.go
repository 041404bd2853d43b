//go:build linux

package libraries

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"lockbench/internal/service/mongo"
	"lockbench/internal/testing/sitetest"
	"lockbench/locks"
)

// mongoApart reaches FerretDB by a URL, alone and as a pretended replica set, and expects the control to be violated. No
// real replica set is available here.
func mongoApart(t *testing.T, lockbench, more string) {
	site := sitetest.New(t, mongo.Service, locks.Single, more)
	url := "mongodb://" + site.Hosts()
	words := []string{"--locks", "no-lock,mongo-find-and-modify", "--expect", "mongo-find-and-modify=violated"}
	site.Run(t, lockbench, "steady", url, words...)

	mongoTheirs(t, site, url, lockbench)

	set := newPosing(t, site.Hosts(), "db-1.test:27017", "db-2.test:27017", "db-3.test:27017")
	if out, err := runs(t, lockbench, append([]string{"run", "steady", "--servers", set.url, "--episodes", "1", "--keys", "1"}, words...)...); err != nil {
		t.Errorf("%v, want exit code 0:\n%s", err, out)
	}
	if left := site.Left(t, url); len(left) > 0 {
		t.Errorf("at the servers is left: %v", left)
	}
	set.mu.Lock()
	asked := slices.Clone(set.asked)
	set.mu.Unlock()
	// Clients connect to the primary by the name that members use.
	if !slices.Contains(asked, "findAndModify at db-2.test:27017") || slices.Contains(asked, "findAndModify at db-1.test:27017") {
		t.Errorf("clients ask %q", slices.Compact(asked))
	}
	said, code := sitetest.Doctor(t, lockbench, set.url)
	for _, want := range []string{"mongo replica set of 3", ", leads)", "which is not MongoDB"} {
		if code != 0 || strings.Count(said, want) != 1 {
			t.Errorf("doctor ends with %d, want 0 and once %q:\n%s", code, want, said)
		}
	}
}

// mongoTheirs checks that other documents in the collection are not removed.
func mongoTheirs(t *testing.T, site *sitetest.Site, url, lockbench string) {
	client, err := mongodriver.Connect(options.Client().ApplyURI(url))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(t.Context())) }()
	documents := client.Database("lockbench").Collection("locks")
	if _, err := documents.DeleteMany(t.Context(), bson.D{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lockbench:7:a", "lockbench:7:b", "lockbench:70:a", "my-lockbench:7:a", "a"} {
		if _, err := documents.InsertOne(t.Context(), bson.D{{Key: "_id", Value: name}}); err != nil {
			t.Fatal(err)
		}
	}
	sitetest.Refused(t, lockbench, []string{url}, `"lockbench:70:a"`, "db.locks.deleteMany")
	site.Clears(t, url, 2)
	if n, err := documents.CountDocuments(t.Context(), bson.D{}); n != 3 || err != nil {
		t.Errorf("%d documents are left (%v), want 3", n, err)
	}
	if _, err := documents.DeleteMany(t.Context(), bson.D{}); err != nil {
		t.Fatal(err)
	}
}

// posing are addresses at which one server poses as the members of a replica set, of which the second is the primary.
// Queries for the topology are answered here, all others by the server.
type posing struct {
	url string

	mu    sync.Mutex
	asked []string // commands and addresses
}

func newPosing(t *testing.T, server string, names ...string) *posing {
	set := &posing{url: "mongodb://"}
	var open sync.WaitGroup
	t.Cleanup(open.Wait)
	for i, name := range names {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		if i > 0 {
			set.url += ","
		}
		set.url += l.Addr().String()
		is := bson.D{
			{Key: "ok", Value: 1.0}, {Key: "isWritablePrimary", Value: i == 1}, {Key: "ismaster", Value: i == 1}, {Key: "secondary", Value: i != 1},
			{Key: "setName", Value: "rs"}, {Key: "hosts", Value: names}, {Key: "me", Value: name}, {Key: "primary", Value: names[1]},
			{Key: "maxBsonObjectSize", Value: int32(16 << 20)}, {Key: "maxMessageSizeBytes", Value: int32(48_000_000)},
			{Key: "maxWriteBatchSize", Value: int32(100_000)}, {Key: "minWireVersion", Value: int32(0)}, {Key: "maxWireVersion", Value: int32(21)},
		}
		says, err := bson.Marshal(is)
		if err != nil {
			t.Fatal(err)
		}
		open.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				open.Go(func() {
					defer c.Close()
					if err := set.serve(c, server, name, says); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.ErrUnexpectedEOF) {
						t.Logf("%s: %v", name, err) // a run cuts clients off
					}
				})
			}
		})
	}
	return set
}

// The kinds of messages, and the beginning of each.
const (
	opReply, opQuery = 1, 2004
	mongoHead        = 16
)

func (p *posing) serve(c net.Conn, server, name string, says []byte) error {
	behind, err := net.Dial("tcp", server)
	if err != nil {
		return err
	}
	defer behind.Close()
	for {
		asked, err := mongoMessage(c)
		if err != nil {
			return err
		}
		number, query := binary.LittleEndian.Uint32(asked[4:]), binary.LittleEndian.Uint32(asked[12:]) == opQuery
		// The document follows flags and a kind, or flags, a name and two numbers in a query.
		document := asked[mongoHead+5:]
		if query {
			document = asked[mongoHead+4+len("admin.$cmd\x00")+8:]
		}
		elements, err := bson.Raw(document).Elements()
		if err != nil || len(elements) == 0 {
			return errors.Join(errors.New("it is not a question"), err)
		}
		command := elements[0].Key()
		p.mu.Lock()
		p.asked = append(p.asked, command+" at "+name)
		p.mu.Unlock()
		var answer []byte
		switch {
		case command == "hello" || strings.EqualFold(command, "isMaster"):
			kind, front := uint32(2013), make([]byte, 5)
			if query {
				kind, front = opReply, make([]byte, 20)
				front[16] = 1 // a document follows
			}
			for _, n := range []uint32{uint32(mongoHead + len(front) + len(says)), 1, number, kind} {
				answer = binary.LittleEndian.AppendUint32(answer, n)
			}
			answer = slices.Concat(answer, front, says)
		default:
			if _, err := behind.Write(asked); err != nil {
				return err
			}
			if answer, err = mongoMessage(behind); err != nil {
				return err
			}
		}
		if _, err := c.Write(answer); err != nil {
			return err
		}
	}
}

func mongoMessage(from io.Reader) ([]byte, error) {
	head := make([]byte, mongoHead)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, err
	}
	length := int(binary.LittleEndian.Uint32(head))
	if length < mongoHead || length > 64<<20 {
		return nil, errors.New("it is not a message")
	}
	whole := append(head, make([]byte, length-mongoHead)...)
	_, err := io.ReadFull(from, whole[mongoHead:])
	return whole, err
}
