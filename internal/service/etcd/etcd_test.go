package etcd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"testing"

	"lockbench/internal/service"
	"lockbench/internal/testing/servicetest"
	"lockbench/locks"
)

func TestService(t *testing.T) {
	servicetest.Suite{
		Service: Service,
		Versions: map[string]servicetest.Version{
			"etcd Version: 3.6.16\nGit SHA: x": {Text: "3.6.16", Enough: true},
			"etcd Version: 3.4.23":             {Text: "3.4.23", Enough: true},
			"etcd Version: 3.3.25":             {Text: "3.3.25"},
			"etcd Version: 3.10.0":             {Text: "3.10.0", Enough: true},
			"etcd Version: 4.0.0":              {Text: "4.0.0", Enough: true},
			"etcd Version: 2.9.0":              {Text: "2.9.0"},
			"Redis server v=7.0.15":            {},
		},
		URLs: []servicetest.Located{
			{URLs: "etcd://a", Addrs: "a:2379", Topology: "1 etcd"},
			{URLs: "etcds://a,b:1,[::1]:2", Addrs: "a:2379 b:1 [::1]:2", Topology: "etcd quorum of 3", TLS: true},
			{URLs: "etcd://a etcd://b", Addrs: "a:2379 b:2379", Topology: "etcd quorum of 2"},
			{URLs: "etcd://a etcds://b", Refused: "use the same scheme"},
			{URLs: "etcd://a,a:2379", Refused: "named twice"},
			{URLs: "etcd://a/x", Refused: "/x cannot be used"},
			{URLs: "etcd+ring://a", Refused: "named as etcd://HOST:PORT"},
			{URLs: "etcd://u:p@a", Refused: "a password in a URL"},
		},
		NoLogin: true,
		Settings: servicetest.Settings{
			Topology: Quorum, Trusted: []string{"initial-cluster-state"},
			Line: func(_ service.Node, name, value string) string { return "--" + name + "=" + value },
		},
	}.Run(t)
}

// A member listens at its place, and all members name the same addresses for each other.
func TestProgram(t *testing.T) {
	got := Service.Program(servicetest.Place(Service, Quorum, "etcd-1", map[string]string{"election-timeout": "900"})).Args
	for _, want := range []string{
		"--name=etcd-1", "--data-dir=/config/data", "--election-timeout=900", "--heartbeat-interval=50",
		"--listen-client-urls=http://127.0.0.1:7000", "--advertise-client-urls=http://127.0.0.65:7000",
		"--listen-peer-urls=http://127.0.0.1:7001", "--initial-advertise-peer-urls=http://127.0.0.65:7001",
		"--initial-cluster=etcd-1=http://127.0.0.65:7001,etcd-2=http://127.0.0.66:7001,etcd-3=http://127.0.0.67:7001",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("there is no %s in %v", want, got)
		}
	}
	if slices.Contains(got, "--initial-cluster-state=existing") {
		t.Error("a new member joins an old cluster")
	}
	again := servicetest.Place(Service, Quorum, "etcd-1", nil)
	again.Rejoins = true
	if !slices.Contains(Service.Program(again).Args, "--initial-cluster-state=existing") {
		t.Error("a member without data does not join the others")
	}
}

// fake is the gateways of three members.
type fake struct {
	servicetest.Host
	members map[string]*member
	done    []string
	elect   int // at so many questions for a status the second member is elected
}

type member struct {
	id, leader string
	cluster    string
	learner    bool
	sick       string // what /health answers, if it is not well
}

func newFake(t *testing.T) (*fake, *servers) {
	f := &fake{members: map[string]*member{}}
	topology, _ := service.Find(Service, Quorum)
	for i, n := range topology.Nodes() {
		m := &member{id: string(rune('1' + i)), leader: "1"}
		f.members[n.Name] = m
		mux := http.NewServeMux() // redirects paths that begin with two slashes, like etcd
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { f.serve(n.Name, m, w, r) })
		server := httptest.NewServer(mux)
		t.Cleanup(server.Close)
		f.Listens(n.Name, server.Listener)
	}
	return f, Service.Open(topology, f).(*servers)
}

// follow makes the members follow leaders, by ID.
func (f *fake) follow(leaders ...string) {
	for i, leader := range leaders {
		f.members[fmt.Sprint("etcd-", i+1)].leader = leader
	}
}

func (f *fake) serve(name string, m *member, w http.ResponseWriter, r *http.Request) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	say := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	switch r.URL.Path {
	case "/version":
		say(map[string]string{"etcdserver": "3.6.16"})
	case "/health":
		if m.sick != "" {
			http.Error(w, m.sick, http.StatusServiceUnavailable)
			return
		}
		say(map[string]string{"health": "true"})
	case statusPath:
		if f.elect--; f.elect == 0 {
			f.members["etcd-2"].leader, f.members["etcd-3"].leader = "2", "2"
		}
		say(map[string]any{"header": map[string]string{"member_id": m.id, "cluster_id": m.cluster}, "leader": m.leader, "version": "3.6.16", "isLearner": m.learner})
	case "/v3/maintenance/transfer-leadership":
		var move struct{ TargetID string }
		_ = json.Unmarshal(body, &move)
		for _, other := range f.members {
			other.leader = move.TargetID
		}
		say(struct{}{})
	case "/v3/cluster/member/list":
		say(map[string]any{"members": []any{
			map[string]any{"ID": "1", "name": "etcd-1", "peerURLs": []string{"http://127.0.0.1:7001"}, "clientURLs": []string{"http://" + f.At("etcd-1")}},
			map[string]any{"ID": "9", "name": "", "peerURLs": []string{"http://127.0.0.4:7001"}, "isLearner": true},
			map[string]any{"ID": "3", "name": "etcd-3", "peerURLs": []string{"http://127.0.0.3:7001"}, "clientURLs": []string{"http://" + f.At("etcd-3")}},
		}})
	default:
		f.done = append(f.done, name+" "+r.URL.Path+" "+string(body))
		say(struct{}{})
	}
}

func (f *fake) Addr(node string) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, node[len(node)-1] - '0'}), 7000)
}

func TestLeaders(t *testing.T) {
	f, g := newFake(t)
	servicetest.Leads(t, g, g.Leader, []servicetest.Led{
		{Name: "at first", Leader: "etcd-1", Leads: "etcd-1"},
		{
			Name: "while the others have not noticed", Is: func() { f.Down("etcd-1", true) },
			Leader: "etcd-1", Ill: servicetest.ErrNotRunning.Error(),
		},
		{Name: "after an election", Is: func() { f.follow("1", "2", "2") }, Leader: "etcd-2", Leads: "etcd-2", Ill: servicetest.ErrNotRunning.Error()},
		{Name: "while the old one believes", Is: func() { f.Down("etcd-1", false) }, Leader: "etcd-2", Leads: "etcd-1 etcd-2", Ill: "2 nodes lead"},
		{Name: "without any", Is: func() { f.follow("0", "", "0") }, Ill: "knows no leader"},
		{Name: "while one of three believes in another", Is: func() { f.follow("0", "", "2") }, Ill: "knows no leader"},
		{
			Name: "while one names the leader but cannot read", Is: func() { f.follow("1", "1", "1"); f.members["etcd-3"].sick = "RAFT NO LEADER" },
			Leader: "etcd-1", Leads: "etcd-1", Ill: "etcd-3: /health",
		},
	})
}

func TestPromote(t *testing.T) {
	_, g := newFake(t)
	if got, err := g.Promote(t.Context(), "etcd-3"); got != "etcd-3" || err != nil {
		t.Errorf("promoted %q, %v", got, err)
	}
	if leader, err := g.Leader(t.Context()); leader != "etcd-3" {
		t.Errorf("the leader is %q, %v", leader, err)
	}
}

// A killed leader cannot hand over; the leader that is elected next does.
func TestPromoteAfterAnElection(t *testing.T) {
	f, g := newFake(t)
	if err := g.Healthy(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.elect = 10
	f.Down("etcd-1", true)
	if got, err := g.Promote(t.Context(), "etcd-3"); got != "etcd-3" || err != nil {
		t.Errorf("promoted %q, %v", got, err)
	}
	if leader, err := g.Leader(t.Context()); leader != "etcd-3" || f.elect > 0 {
		t.Errorf("the leader is %q, %v, %d questions before the election", leader, err, f.elect)
	}
}

// A member that lost its data is replaced, or only added if it was removed before. Dead members are
// not queried.
func TestRejoin(t *testing.T) {
	f, g := newFake(t)
	f.Down("etcd-1", true)
	for node, want := range map[string][]string{
		"etcd-3": {`etcd-2 /v3/cluster/member/remove {"ID":"3"}`, `etcd-2 /v3/cluster/member/add {"peerURLs":["http://127.0.0.3:7001"]}`},
		"etcd-4": nil, // it was added when it was tried before
		"etcd-2": {`etcd-3 /v3/cluster/member/add {"peerURLs":["http://127.0.0.2:7001"]}`},
	} {
		f.done = nil
		joins, err := g.Rejoin(t.Context(), node)
		if !joins || err != nil || !slices.Equal(f.done, want) {
			t.Errorf("%s: %v, %v, %q; want %q", node, joins, err, f.done, want)
		}
	}
	single, _ := service.Find(Service, locks.Single)
	if joins, err := Service.Open(single, f).(*servers).Rejoin(t.Context(), "etcd-1"); joins || err != nil {
		t.Errorf("a single server joins others: %v, %v", joins, err)
	}
}

// A greeting exchanges the requested load in both directions and reports failures.
func TestGreet(t *testing.T) {
	f, g := newFake(t)
	servicetest.Greets(t, g, f, "etcd-1", 1, 0, 100_000)
}

// All members that serve clients must be named.
func TestSurvey(t *testing.T) {
	f, _ := newFake(t)
	site, err := f.Survey(t, Service, "etcd-1", "etcd-3")
	if err != nil || site.Topology.InTable() != "etcd quorum of 2" || site.About != "etcd 3.6.16" || site.Called[f.At("etcd-3")] != "etcd-2" {
		t.Errorf("%+v, %v", site, err)
	}
	pair, two := []string{"etcd-1", "etcd-2"}, f.members["etcd-2"]
	f.Refuses(t, Service, []servicetest.Refused{
		{Name: "one of two members", Nodes: []string{"etcd-3"}, Want: "name all members"},
		{Name: "of another cluster", Is: func() { two.cluster = "other" }, Nodes: pair, Want: "of two clusters"},
		{Name: "a learner", Is: func() { two.cluster, two.learner = "", true }, Nodes: pair, Want: "is a learner"},
		{Name: "the same by another address", Is: func() { two.learner, two.id = false, "1" }, Nodes: pair, Want: "is the same server as"},
	})
}

// refuses behaves like the connection to a server that wants a client certificate: writing succeeds,
// and reading returns the reason.
type refuses struct{ net.Conn }

var errCertificate = errors.New("remote error: tls: certificate required")

func (refuses) Write(b []byte) (int, error) { return len(b), nil }
func (refuses) Read([]byte) (int, error)    { return 0, errCertificate }

// HTTP/2 may read before or after it writes. The test repeats the request to meet both.
func TestExchangeReturnsWhyTheServerEndedIt(t *testing.T) {
	for range 200 {
		c, other := net.Pipe()
		other.Close()
		if err := exchange(t.Context(), refuses{c}, true, http.MethodGet, "/", "", nil); !errors.Is(err, errCertificate) {
			t.Fatalf("%v, want %v", err, errCertificate)
		}
	}
}
