package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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
	servicetest.Versions(t, Service, map[string]servicetest.Version{
		"etcd Version: 3.6.16\nGit SHA: x": {Text: "3.6.16", Enough: true},
		"etcd Version: 3.4.23":             {Text: "3.4.23", Enough: true},
		"etcd Version: 3.3.25":             {Text: "3.3.25"},
		"etcd Version: 3.10.0":             {Text: "3.10.0", Enough: true},
		"etcd Version: 4.0.0":              {Text: "4.0.0", Enough: true},
		"etcd Version: 2.9.0":              {Text: "2.9.0"},
		"Redis server v=7.0.15":            {},
	})
}

// place returns the place of a node of three.
func place(node string, settings map[string]string) service.Place {
	t, _ := service.Find(Service, Quorum)
	p := service.Place{
		Node: service.Node{Name: node, Role: service.Data}, Topology: t, Settings: settings, Peers: map[string][]netip.AddrPort{},
		Bind: netip.MustParseAddr("127.0.0.1"), Port: 7000, Announced: netip.MustParseAddrPort("127.0.0.65:7000"), Data: "/data", Config: "/config",
	}
	for i, n := range t.Nodes() {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, byte(65 + i)}), 7000)
		if n.Name == node {
			at = netip.MustParseAddrPort("127.0.0.1:7000") // its own, where it listens
		}
		p.Peers[n.Name] = []netip.AddrPort{at, netip.AddrPortFrom(at.Addr(), 7001)}
	}
	return p
}

// A member listens at its place, and all members name the same addresses for each other.
func TestProgram(t *testing.T) {
	got := Service.Program(place("etcd-1", map[string]string{"election-timeout": "900"})).Args
	for _, want := range []string{
		"--name=etcd-1", "--data-dir=/data", "--election-timeout=900", "--heartbeat-interval=50",
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
	again := place("etcd-1", nil)
	again.Rejoins = true
	if !slices.Contains(Service.Program(again).Args, "--initial-cluster-state=existing") {
		t.Error("a member without data does not join the others")
	}
}

// A scenario may not set the settings that lockbench decides.
func TestSettings(t *testing.T) {
	given := map[string]string{}
	for _, s := range Service.Settings {
		given[s.Name] = "scenario"
	}
	args := Service.Program(place("etcd-1", given)).Args
	for _, s := range Service.Settings {
		taken := slices.Contains(args, "--"+s.Name+"=scenario")
		if s.Name != "initial-cluster-state" && taken != (s.Decided == "") {
			t.Errorf("%s of a scenario is taken: %v; decided: %q", s.Name, taken, s.Decided)
		}
	}
}

// fake is the gateways of three members.
type fake struct {
	service.Host // only Dial, Status and Addr are needed

	mu      sync.Mutex
	members map[string]*member
	done    []string
	elect   int // at so many questions for a status the second member is elected
}

type member struct {
	id, leader string
	cluster    string
	learner    bool
	sick       string // what /health answers, if it is not well
	at         net.Listener
	down       bool
}

var errNotRunning = errors.New("it was not started")

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
		m.at = server.Listener
	}
	return f, Service.Open(topology, f).(*servers)
}

func (f *fake) serve(name string, m *member, w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
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
			map[string]any{"ID": "1", "name": "etcd-1", "peerURLs": []string{"http://127.0.0.1:7001"}, "clientURLs": []string{"http://" + f.members["etcd-1"].at.Addr().String()}},
			map[string]any{"ID": "9", "name": "", "peerURLs": []string{"http://127.0.0.4:7001"}, "isLearner": true},
			map[string]any{"ID": "3", "name": "etcd-3", "peerURLs": []string{"http://127.0.0.3:7001"}, "clientURLs": []string{"http://" + f.members["etcd-3"].at.Addr().String()}},
		}})
	default:
		f.done = append(f.done, name+" "+r.URL.Path+" "+string(body))
		say(struct{}{})
	}
}

func (f *fake) Addr(node string) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, node[len(node)-1] - '0'}), 7000)
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
	f, g := newFake(t)
	ctx := t.Context()
	says := func(when, leader string, leaders ...string) {
		t.Helper()
		got, err := g.Leader(ctx)
		if got != leader || (err == nil) != (leader != "") {
			t.Errorf("%s: the leader is %q, %v; want %q", when, got, err, leader)
		}
		if all := g.Leaders(ctx); !slices.Equal(all, leaders) {
			t.Errorf("%s: leaders are %v, want %v", when, all, leaders)
		}
	}
	says("at first", "etcd-1", "etcd-1")
	if err := g.Healthy(ctx); err != nil {
		t.Errorf("not healthy: %v", err)
	}
	f.members["etcd-1"].down = true
	says("while the others have not noticed", "etcd-1")
	f.members["etcd-2"].leader, f.members["etcd-3"].leader = "2", "2"
	says("after an election", "etcd-2", "etcd-2")
	if err := g.Healthy(ctx); !errors.Is(err, errNotRunning) {
		t.Errorf("with one down, Healthy returns %v", err)
	}
	f.members["etcd-1"].down = false
	says("while the old one believes", "etcd-2", "etcd-1", "etcd-2")
	if err := g.Healthy(ctx); err == nil || !strings.Contains(err.Error(), "2 nodes lead") {
		t.Errorf("with two leaders, Healthy returns %v", err)
	}
	f.members["etcd-1"].leader, f.members["etcd-2"].leader, f.members["etcd-3"].leader = "0", "", "0"
	says("without any", "")
	f.members["etcd-3"].leader = "2"
	says("while one of three believes in another", "")
	f.members["etcd-3"].leader = "0"
	if err := g.Healthy(ctx); err == nil || !strings.Contains(err.Error(), "knows no leader") {
		t.Errorf("without a leader, Healthy returns %v", err)
	}
}

// A member that names the leader but cannot read is unhealthy.
func TestHealthAsks(t *testing.T) {
	f, g := newFake(t)
	f.members["etcd-3"].sick = "RAFT NO LEADER"
	if err := g.Healthy(t.Context()); err == nil || !strings.Contains(err.Error(), "etcd-3: /health") {
		t.Errorf("Healthy returns %v", err)
	}
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
	f.members["etcd-1"].down, f.elect = true, 10
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
	f.members["etcd-1"].down = true
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
	servicetest.Greets(t, g, f.Dial, "etcd-1", 1, 0, 100_000)
}
