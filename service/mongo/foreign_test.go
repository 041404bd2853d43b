package mongo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"lockbench/internal/testing/servicetest"
	"lockbench/service"
)

func TestLocate(t *testing.T) {
	servicetest.Locates(t, Service{}, []servicetest.Located{
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
	odd     document // what the last one says beside
	code    int32    // of the refusal of all but hello

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
		f, _ := newFake(t, func(asked string) document {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.asked = append(r.asked, fmt.Sprint(asked, i+1))
			switch {
			case asked == "hello":
				is := document{{"ok", 1.0}, {"me", hosts[i]}, {"primary", r.primary[i]}, {"isWritablePrimary", r.writes[i]}, {"secondary", !r.writes[i]}, {"hosts", words(hosts)}}
				if r.set[i] != "" {
					is = append(is, field{"setName", r.set[i]})
				}
				if i == n-1 {
					is = append(is, r.odd...)
				}
				return is
			case asked == "buildInfo":
				return document{{"ok", 1.0}, {"version", "7.0.14"}}
			case r.code != 0:
				return document{{"ok", 0.0}, {"errmsg", "not you"}, {"code", r.code}}
			}
			return document{{"ok", 1.0}, {"n", int32(2)}, {"values", words([]string{"lockbench:1:a", "lockbench:1:b"})}}
		})
		r.members = append(r.members, f)
	}
	return r
}

func words(all []string) list {
	var numbered list
	for i, word := range all {
		numbered = append(numbered, field{strconv.Itoa(i), word})
	}
	return numbered
}

func (r *replicas) urls(which ...int) []string {
	var all []string
	for _, i := range which {
		all = append(all, "mongodb://"+r.at(i))
	}
	return all
}

func (r *replicas) at(i int) string { return r.members[i-1].at.Addr().String() }

// dial reaches a member by where it is, and by what the others call it if told.
func (r *replicas) dial(named bool) func(context.Context, service.Role, string) (net.Conn, error) {
	return func(ctx context.Context, _ service.Role, addr string) (net.Conn, error) {
		var i int
		if _, err := fmt.Sscanf(addr, "db-%d:27017", &i); err == nil {
			if !named {
				return nil, errors.New("no such host")
			}
			addr = r.at(i)
		}
		return servicetest.Dial(ctx, service.Data, addr)
	}
}

func (r *replicas) survey(t *testing.T, named bool, which ...int) (service.Site, error) {
	l, err := Service{}.Locate(r.urls(which...))
	if err != nil {
		t.Fatal(err)
	}
	return Service{}.Survey(t.Context(), l, r.dial(named))
}

// Members that nobody has named are found, and whom a run cannot use is refused with the reason.
func TestSurvey(t *testing.T) {
	r := newReplicas(t, 3)
	site, err := r.survey(t, true, 2)
	if err != nil || site.Topology.InTable() != "mongo replica set of 3" || site.About != "MongoDB 7.0.14" ||
		site.Called[r.at(2)] != "mongo-1" || site.Called["db-1:27017"] != "mongo-2" || site.Called["db-3:27017"] != "mongo-3" {
		t.Errorf("%+v, %v", site, err)
	}
	if site, err = r.survey(t, false, 3, 2, 1); err != nil || site.Called["db-3:27017"] != "mongo-1" || site.Addrs["mongo-1"] != r.at(3) {
		t.Errorf("%+v, %v", site, err)
	}
	refused := func(what, want string, which ...int) {
		t.Helper()
		if _, err := r.survey(t, false, which...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	refused("members that cannot be found", "name all members", 1, 2)
	r.set[2] = "other"
	refused("two sets", "two replica sets, rs and other", 1, 2, 3)
	r.set[2] = ""
	refused("no set", "is of no replica set", 1, 2, 3)
	r.set[2], r.odd = "rs", document{{"msg", "isdbgrid"}}
	refused("a router", "router of a sharded cluster", 3)
	r.odd = document{{"arbiterOnly", true}}
	refused("an arbiter", "leave it out", 1, 2, 3)
	r.odd = document{{"me", "db-1:27017"}}
	refused("one server twice", "is the same server as "+r.at(1), 1, 2, 3)
}

// hosted is a host whose servers are those of a survey.
type hosted struct {
	fake
	r    *replicas
	site service.Site
}

func (h *hosted) Dial(ctx context.Context, node string) (net.Conn, error) {
	return h.r.dial(false)(ctx, service.Data, h.site.Addrs[node])
}

// The primary is whom a majority names, and what is not one whole set is said to be ill.
func TestReplicaSet(t *testing.T) {
	r := newReplicas(t, 3)
	site, err := r.survey(t, false, 1, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	g := Service{}.OpenForeign(site, "lockbench:1:", &hosted{r: r, site: site})
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
	r.odd = document{{"secondary", false}}
	ill("one that starts", "mongo-3 is neither")
	r.odd = nil

	// Keys are looked for, and removed, at the primary, and by its refusal a person is told what to do.
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
		t.Errorf("clients are told %v", g.Params())
	}
}

// The conversation of RFC 7677, section 3, with what a server may do otherwise.
func TestLoginProves(t *testing.T) {
	const nonce = "rOprNGfwEbeRWgbNEkqO"
	const first = "r=" + nonce + "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
	const last = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
	for name, c := range map[string]struct {
		first, last, password string
		done                  []bool
		want                  string
	}{
		"as in the RFC":             {first, last, "pencil", []bool{true}, ""},
		"with an empty word":        {first, last, "pencil", []bool{false, true}, ""},
		"it never ends":             {first, last, "pencil", []bool{false, false}, "does not end"},
		"another password":          {first, last, "pen", []bool{true}, "does not know the password"},
		"no proof of its own":       {first, "", "pencil", []bool{true}, "does not know the password"},
		"few rounds":                {strings.Replace(first, "4096", "1", 1), last, "pencil", nil, "as no server does"},
		"somebody else's nonce":     {strings.Replace(first, nonce, "x", 1), last, "pencil", nil, "as no server does"},
		"a nonce that is the given": {strings.Replace(first, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", "", 1), last, "pencil", nil, "as no server does"},
		"nothing":                   {"", last, "pencil", nil, "as no server does"},
	} {
		var said []string
		err := prove(service.Credentials{User: "user", Password: c.password}, nonce, func(q document) (map[string]any, error) {
			whole, err := read(q.bson())
			said = append(said, payload(whole))
			if err != nil || whole["$db"] != "admin" || len(said) > 1 && whole["conversationId"] != int32(7) {
				t.Errorf("%s: it asks %v (%v)", name, whole, err)
			}
			switch n := len(said); n {
			case 1:
				return map[string]any{"payload": []byte(c.first), "conversationId": int32(7)}, nil
			case 2:
				return map[string]any{"payload": []byte(c.last), "conversationId": int32(7), "done": c.done[0]}, nil
			default:
				return map[string]any{"conversationId": int32(7), "done": c.done[n-2]}, nil
			}
		})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if c.want == "" && (said[0] != "n,,n=user,r="+nonce || !strings.HasSuffix(said[1], ",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")) {
			t.Errorf("%s: it says %q", name, said)
		}
	}
}

// Who is not let in is told by what, and whoever has no user begins at once.
func TestLogin(t *testing.T) {
	f, _ := newFake(t, func(string) document {
		return document{{"ok", 0.0}, {"errmsg", "Authentication failed."}, {"code", int32(codeNoSuchLogin)}}
	})
	for user, refused := range map[string]bool{"": false, "u": true} {
		c, err := f.Dial(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = Service{}.Login(t.Context(), c, service.Access{Credentials: service.Credentials{User: user, Password: "p"}})
		c.Close()
		said := (*service.LoginError)(nil)
		if errors.As(err, &said) != refused || refused && said.Said != "Authentication failed." {
			t.Errorf("user %q: %v", user, err)
		}
	}
}
