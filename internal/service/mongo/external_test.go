package mongo

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"

	"lockbench/internal/service"
	"lockbench/internal/testing/servicetest"
)

func TestLocate(t *testing.T) {
	servicetest.Locates(t, Service, []servicetest.Located{
		{URLs: "mongodb://a", Addrs: "a:27017", Topology: "1 mongo"},
		{URLs: "mongodb+tls://u@a,b:1,[::1]:2/locks", Addrs: "a:27017 b:1 [::1]:2", Topology: "mongo replica set of 3", TLS: true},
		{URLs: "mongo://a", Addrs: "a:27017", Topology: "1 mongo"},
		{URLs: "mongodb://a mongodb://b", Addrs: "a:27017 b:27017", Topology: "mongo replica set of 2"},
		{URLs: "mongodb://a mongodb+tls://b", Refused: "in one way"},
		{URLs: "mongodb://a,a:27017", Refused: "named twice"},
		{URLs: "mongodb://a/x?replicaSet=y", Refused: "mongodb+tls://"},
		{URLs: "mongodb://a/x.y", Refused: `cannot be called "x.y"`},
		{URLs: "mongodb+srv://a", Refused: "named as mongodb://USER@HOST:PORT"},
		{URLs: "mongodb://u:p@a", Refused: "a password in a URL"},
	})
}

// replicas are members of a replica set that call each other by names of their own, db-1:27017.
type replicas struct {
	members []*fake
	set     []string // as each says
	primary []string // as each says
	writes  []bool
	odd     bson.M // what else the last one says
	code    int32  // of the refusal of all but hello

	mu    sync.Mutex
	asked []string
}

func newReplicas(t *testing.T, n int) *replicas {
	r := &replicas{}
	var hosts []string
	for i := range n {
		hosts = append(hosts, fmt.Sprintf("db-%d:27017", i+1))
		r.set, r.primary, r.writes = append(r.set, "rs"), append(r.primary, "db-1:27017"), append(r.writes, i == 0)
	}
	for i := range n {
		f, _ := newFake(t, func(asked string) bson.M {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.asked = append(r.asked, fmt.Sprint(asked, i+1))
			switch {
			case asked == "hello":
				is := bson.M{"ok": 1.0, "me": hosts[i], "primary": r.primary[i], "isWritablePrimary": r.writes[i], "secondary": !r.writes[i], "hosts": hosts}
				if r.set[i] != "" {
					is["setName"] = r.set[i]
				}
				if i == n-1 {
					maps.Copy(is, r.odd)
				}
				return is
			case asked == "buildInfo":
				return bson.M{"ok": 1.0, "version": "7.0.14"}
			case r.code != 0:
				return bson.M{"ok": 0.0, "errmsg": "not you", "code": r.code}
			}
			return bson.M{"ok": 1.0, "n": 2, "values": []string{"lockbench:1:a", "lockbench:1:b"}}
		})
		r.members = append(r.members, f)
	}
	return r
}

func (r *replicas) urls(which ...int) []string {
	var all []string
	for _, i := range which {
		all = append(all, "mongodb://"+r.at(i))
	}
	return all
}

func (r *replicas) at(i int) string { return r.members[i-1].at.Addr().String() }

func (r *replicas) survey(t *testing.T, which ...int) (service.Site, error) {
	l, err := Service.External.Locate(r.urls(which...))
	if err != nil {
		t.Fatal(err)
	}
	return Service.External.Survey(t.Context(), l, servicetest.Dial)
}

// Members have two names, and a member that a run cannot use is refused with the reason.
func TestSurvey(t *testing.T) {
	r := newReplicas(t, 3)
	site, err := r.survey(t, 3, 2, 1)
	if err != nil || site.Topology.InTable() != "mongo replica set of 3" || site.About != "MongoDB 7.0.14" ||
		site.Called[r.at(3)] != "mongo-1" || site.Called["db-3:27017"] != "mongo-1" || site.Addrs["mongo-1"] != r.at(3) {
		t.Errorf("%+v, %v", site, err)
	}
	refused := func(what, want string, which ...int) {
		t.Helper()
		if _, err := r.survey(t, which...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	refused("two of three", "db-3:27017 that --servers does not name: name all members", 1, 2)
	r.set[2] = "other"
	refused("two sets", `of two clusters, "rs" and "other"`, 1, 2, 3)
	r.set[2] = ""
	refused("no set", "is of no replica set", 1, 2, 3)
	r.set[2], r.odd = "rs", bson.M{"msg": "isdbgrid"}
	refused("a router", "router of a sharded cluster", 3)
	r.odd = bson.M{"arbiterOnly": true}
	refused("an arbiter", "leave it out", 1, 2, 3)
	r.odd = bson.M{"me": "db-1:27017"}
	refused("one server twice", "is the same server as "+r.at(1), 1, 2, 3)
}

// hosted is a host whose servers are those of a survey.
type hosted struct {
	fake
	r    *replicas
	site service.Site
}

func (h *hosted) Dial(ctx context.Context, node string) (net.Conn, error) {
	return servicetest.Dial(ctx, service.Data, h.site.Addrs[node])
}

// The primary is the member that a majority names, and an incomplete set is unhealthy.
func TestReplicaSet(t *testing.T) {
	r := newReplicas(t, 3)
	site, err := r.survey(t, 1, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	g := Service.External.Open(site, "lockbench:1:", &hosted{r: r, site: site})
	ctx := t.Context()
	leads := func(what, leader string, want ...string) {
		t.Helper()
		got, err := g.Leader(ctx)
		if got != leader || (err == nil) != (leader != "") || !slices.Equal(g.Leaders(ctx), want) {
			t.Errorf("%s: %q leads (%v), and %q take writes; want %q and %q", what, got, err, g.Leaders(ctx), leader, want)
		}
	}
	ill := func(what, want string) {
		t.Helper()
		if err := g.Healthy(ctx); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	leads("well", "mongo-1", "mongo-1")
	ill("well", "")
	r.writes[1] = true
	leads("an old one as well", "mongo-1", "mongo-1", "mongo-2")
	ill("an old one as well", "2 nodes lead")
	r.writes[0], r.writes[1] = false, false
	leads("named, and does not write", "mongo-1")
	ill("named, and does not write", "no node leads")
	r.writes[1] = true
	r.primary = []string{"db-2:27017", "db-1:27017", ""}
	leads("no majority", "", "mongo-2")
	ill("no majority", "knows no primary")
	r.primary[2] = "db-1:27017"
	ill("most name another", "mongo-2 takes mongo-1 for the leader, and mongo-2 leads")
	r.primary = []string{"db-2:27017", "db-2:27017", "db-2:27017"}
	leads("another", "mongo-2", "mongo-2")
	ill("another", "")
	r.odd = bson.M{"secondary": false}
	ill("one that starts", "mongo-3 is neither")
	r.odd = nil

	// The primary searches and removes keys. The error of a refusal names the remedy.
	r.asked = nil
	under, err := g.Under(ctx, "lockbench:", 1)
	if err != nil || !slices.Equal(under["mongo-2"], []string{"lockbench:1:a"}) {
		t.Errorf("%v, %v", under, err)
	}
	if n, err := g.Clear(ctx); n != 2 || err != nil || !slices.Contains(r.asked, "delete2") || !slices.Contains(r.asked, "distinct2") {
		t.Errorf("%d removed, %v; asked %q", n, err, r.asked)
	}
	r.code = codeUnauthorized
	if _, err := g.Under(ctx, "lockbench:", 1); err == nil || !strings.Contains(err.Error(), "grantRolesToUser") {
		t.Errorf("without a right: %v", err)
	}
	if _, err := g.Clear(ctx); err == nil {
		t.Error("without a right all is removed")
	}
	if g.Params()[Database] != "lockbench" {
		t.Errorf("clients get %v", g.Params())
	}
}

// TestLogIn: lockbench logs in to servers that end the login at once, or want an empty message first. A refused
// login is a LoginError, and a server that does not prove that it knows the password is refused.
func TestLogIn(t *testing.T) {
	for name, c := range map[string]struct {
		user, password string
		empty          bool // the server wants an empty message
		forged         bool // the server proves nothing
		want           string
	}{
		"no user":          {},
		"right":            {user: "u", password: "pencil"},
		"an empty message": {user: "u", password: "pencil", empty: true},
		"wrong":            {user: "u", password: "pen", want: "it refuses the login: Authentication failed."},
		"forged":           {user: "u", password: "pencil", forged: true, want: "server"},
	} {
		t.Run(name, func(t *testing.T) {
			keys, err := scram.SHA256.NewClient("u", "pencil", "")
			if err != nil {
				t.Fatal(err)
			}
			stored, err := keys.GetStoredCredentialsWithError(scram.KeyFactors{Salt: "salt", Iters: iterationsMin})
			if err != nil {
				t.Fatal(err)
			}
			server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return stored, nil })
			if err != nil {
				t.Fatal(err)
			}
			talk := server.NewConversation()
			near, far := net.Pipe()
			defer near.Close()
			go func() {
				defer far.Close()
				for {
					head := make([]byte, headLength+5)
					if _, err := io.ReadFull(far, head); err != nil {
						return
					}
					body := make([]byte, int(binary.LittleEndian.Uint32(head))-len(head))
					if _, err := io.ReadFull(far, body); err != nil {
						return
					}
					var asked struct {
						Payload []byte `bson:"payload"`
					}
					_ = bson.Unmarshal(body, &asked)
					said := bson.M{"ok": 1.0, "conversationId": 7, "payload": []byte{}, "done": true}
					if !talk.Done() {
						text, err := talk.Step(string(asked.Payload))
						if c.forged && talk.Done() {
							text = "v=AAAA"
						}
						said["payload"], said["done"] = []byte(text), talk.Done() && !c.empty
						if err != nil {
							said = bson.M{"ok": 0.0, "errmsg": "Authentication failed.", "code": codeNoSuchLogin}
						}
					}
					answer := message(100, said)
					copy(answer[8:12], head[4:8])
					_, _ = far.Write(answer)
				}
			}()
			err = logIn(near, service.Credentials{User: c.user, Password: c.password})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if c.user != "" && err == nil && !talk.Valid() {
				t.Error("the server has not accepted the password")
			}
		})
	}
}
