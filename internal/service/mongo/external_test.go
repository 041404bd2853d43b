package mongo

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"

	"lockbench/internal/service"
	"lockbench/internal/testing/servicetest"
)

// replicas are members of a replica set that call each other by names of their own, db-1:27017.
type replicas struct {
	fake
	set     []string // as each says
	primary []string // as each says
	writes  []bool
	odd     bson.M // what else the last one says
	code    int32  // of the refusal of all but hello
	asked   []string
}

func newReplicas(t *testing.T, n int) *replicas {
	r := &replicas{}
	var hosts []string
	for i := range n {
		hosts = append(hosts, fmt.Sprintf("db-%d:27017", i+1))
		r.set, r.primary, r.writes = append(r.set, "rs"), append(r.primary, "db-1:27017"), append(r.writes, i == 0)
	}
	for i := range n {
		r.answers(t, fmt.Sprint("mongo-", i+1), func(asked string) bson.M {
			r.Mu.Lock()
			defer r.Mu.Unlock()
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
	}
	return r
}

var everyNode = []string{"mongo-1", "mongo-2", "mongo-3"}

// Members have two names, and a member that a run cannot use is refused with the reason.
func TestSurvey(t *testing.T) {
	r := newReplicas(t, 3)
	site, err := r.Survey(t, Service, "mongo-3", "mongo-2", "mongo-1")
	if err != nil || site.Topology.InTable() != "mongo replica set of 3" || site.About != "MongoDB 7.0.14" ||
		site.Called[r.At("mongo-3")] != "mongo-1" || site.Called["db-3:27017"] != "mongo-1" || site.Addrs["mongo-1"] != r.At("mongo-3") {
		t.Errorf("%+v, %v", site, err)
	}
	r.Refuses(t, Service, []servicetest.Refused{
		{Name: "two of three", Nodes: everyNode[:2], Want: "db-3:27017 that --servers does not name: name all members"},
		{Name: "two sets", Is: func() { r.set[2] = "other" }, Nodes: everyNode, Want: `of two clusters, "rs" and "other"`},
		{Name: "no set", Is: func() { r.set[2] = "" }, Nodes: everyNode, Want: "does not belong to a replica set"},
		{Name: "a router", Is: func() { r.set[2], r.odd = "rs", bson.M{"msg": "isdbgrid"} }, Nodes: everyNode[2:], Want: "router of a sharded cluster"},
		{Name: "an arbiter", Is: func() { r.odd = bson.M{"arbiterOnly": true} }, Nodes: everyNode, Want: "is an arbiter"},
		{Name: "one server twice", Is: func() { r.odd = bson.M{"me": "db-1:27017"} }, Nodes: everyNode, Want: "is the same server as " + r.At("mongo-1")},
	})
}

// The primary is the member that a majority names, and an incomplete set is unhealthy.
func TestReplicaSet(t *testing.T) {
	r := newReplicas(t, 3)
	site, err := r.Survey(t, Service, everyNode...)
	if err != nil {
		t.Fatal(err)
	}
	g := Service.External.Open(site, "lockbench:1:", r)
	ctx := t.Context()
	servicetest.Leads(t, g, g.Leader, []servicetest.Led{
		{Name: "well", Leader: "mongo-1", Leads: "mongo-1"},
		{Name: "an old one as well", Is: func() { r.writes[1] = true }, Leader: "mongo-1", Leads: "mongo-1 mongo-2", Ill: "2 nodes lead"},
		{Name: "named, and does not write", Is: func() { r.writes[0], r.writes[1] = false, false }, Leader: "mongo-1", Ill: "no node leads"},
		{
			Name: "no majority", Is: func() { r.writes[1], r.primary = true, []string{"db-2:27017", "db-1:27017", ""} },
			Leads: "mongo-2", Ill: "knows no primary",
		},
		{
			Name: "most name another", Is: func() { r.primary[2] = "db-1:27017" },
			Leader: "mongo-1", Leads: "mongo-2", Ill: "mongo-2 takes mongo-1 for the leader, and mongo-2 leads",
		},
		{
			Name: "another", Is: func() { r.primary = []string{"db-2:27017", "db-2:27017", "db-2:27017"} },
			Leader: "mongo-2", Leads: "mongo-2",
		},
		{
			Name: "one that starts", Is: func() { r.odd = bson.M{"secondary": false} },
			Leader: "mongo-2", Leads: "mongo-2", Ill: "mongo-3 is neither",
		},
	})

	// The primary searches and removes keys. The error of a refusal names the remedy.
	r.odd, r.asked = nil, nil
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
