package consul

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"lockbench/internal/needs"
	"lockbench/internal/testing/servicetest"
	"lockbench/internal/world"
	"lockbench/internal/world/local"
	"lockbench/locks"
	"lockbench/service"
)

func TestVersion(t *testing.T) {
	for said, want := range map[string]struct {
		version string
		enough  bool
	}{
		"Consul v1.13.9\nRevision 1234abcd\nBuild Date 2023": {"1.13.9", true},
		"Consul v1.22.0-rc1\n":                               {"1.22.0-rc1", true},
		"Consul v2.0.0\n":                                    {"2.0.0", true},
		"Consul v1.7.0\n":                                    {"1.7.0", true},
		"Consul v1.6.10\n":                                   {"1.6.10", false},
		"Consul v0.9.3\n":                                    {"0.9.3", false},
		"etcd Version: 3.6.16":                               {},
		"Usage: consul [--version] [--help] <command> [<args>]":         {},
		"db version v7.0.14\nBuild Info: Consul v1.13.9, and much more": {},
	} {
		v, enough, err := Service{}.Needs().Version(said)
		if v != want.version || enough != want.enough || (err == nil) != (want.version != "") {
			t.Errorf("%q: %q, %v, %v", said, v, enough, err)
		}
	}
}

// place is where a server runs.
func place(settings map[string]string) service.Place {
	return service.Place{
		Node: service.Node{Name: "consul-1", Role: service.Data}, Topology: topologies[0], Settings: settings,
		Bind: netip.MustParseAddr("127.0.0.1"), Port: 7000, Announced: netip.MustParseAddrPort("127.0.0.65:7000"), Data: "/data", Config: "/config",
	}
}

// config is what a server reads.
func config(t *testing.T, at service.Place) map[string]any {
	t.Helper()
	p := Service{}.Program(at)
	if !slices.Equal(p.Args, []string{"agent", "-config-file=/config/consul.json"}) {
		t.Errorf("it is run with %q", p.Args)
	}
	var all map[string]any
	if err := json.Unmarshal([]byte(p.Files["/config/consul.json"]), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// A server listens on its own ports at its own address, and on no other.
func TestProgram(t *testing.T) {
	got := config(t, place(nil))
	ports, _ := json.Marshal(got["ports"])
	if want := `{"dns":-1,"grpc":-1,"http":7000,"https":-1,"serf_lan":7002,"serf_wan":-1,"server":7001}`; string(ports) != want {
		t.Errorf("its ports are %s, want %s", ports, want)
	}
	for _, name := range []string{"bind_addr", "advertise_addr", "client_addr"} {
		if got[name] != "127.0.0.1" {
			t.Errorf("%s is %v", name, got[name])
		}
	}
	everywhere := place(nil)
	everywhere.Bind = netip.Addr{}
	got = config(t, everywhere)
	if got["bind_addr"] != "0.0.0.0" || got["client_addr"] != "0.0.0.0" || got["advertise_addr"] != "127.0.0.65" {
		t.Errorf("everywhere is %v, %v, found at %v", got["bind_addr"], got["client_addr"], got["advertise_addr"])
	}
}

// A scenario may set exactly the settings that lockbench does not decide.
func TestSettings(t *testing.T) {
	given := map[string]string{}
	for _, s := range (Service{}).Settings() {
		given[s.Name] = "scenario"
	}
	all := config(t, place(given))
	for _, s := range (Service{}).Settings() {
		at, key := all, s.Name
		if block, inside, nested := strings.Cut(s.Name, "."); nested {
			at, key = all[block].(map[string]any), inside
		}
		if taken := at[key] == "scenario"; at[key] == nil || taken != (s.Decided == "") {
			t.Errorf("%s of a scenario is taken: %v; decided: %q", s.Name, taken, s.Decided)
		}
	}
	typed := config(t, place(map[string]string{"performance.raft_multiplier": "5", "session_ttl_min": "10s", "raft_snapshot_threshold": "7"}))
	if typed["performance"].(map[string]any)["raft_multiplier"] != 5.0 || typed["session_ttl_min"] != "10s" || typed["raft_snapshot_threshold"] != 7.0 {
		t.Errorf("settings are written as %v", typed)
	}
}

// Requests of the Lock of Consul's client v1.34.4 as a server received them, with shortened IDs.
const (
	common  = "Host: 127.0.0.65:7000\r\nAccept-Encoding: gzip\r\nUser-Agent: Go-http-client/1.1\r\n"
	create  = "PUT /v1/session/create HTTP/1.1\r\n" + common + "Content-Length: 56\r\nContent-Type: application/json; charset=utf-8\r\n\r\n" + `{"LockDelay":"1ms","Name":"Consul API Lock","TTL":"2s"}` + "\n"
	get     = "GET /v1/kv/lock:a?wait=1ms HTTP/1.1\r\n" + common + "Content-Type: application/json; charset=utf-8\r\n\r\n"
	wait    = "GET /v1/kv/lock:a?index=17&wait=49ms HTTP/1.1\r\n" + common + "Content-Type: application/json; charset=utf-8\r\n\r\n"
	acquire = "PUT /v1/kv/lock:a?acquire=01aa43bf&flags=3304740253564472344 HTTP/1.1\r\n" + common + "Content-Length: 18\r\nContent-Type: application/octet-stream\r\n\r\n0-c4f5a58656eef510"
	release = "PUT /v1/kv/lock:a?flags=3304740253564472344&release=01aa43bf HTTP/1.1\r\n" + common + "Content-Length: 18\r\nContent-Type: application/octet-stream\r\n\r\n0-c4f5a58656eef510"
	renew   = "PUT /v1/session/renew/01aa43bf HTTP/1.1\r\n" + common + "Content-Length: 0\r\nContent-Type: application/json; charset=utf-8\r\n\r\n"
	destroy = "PUT /v1/session/destroy/01aa43bf HTTP/1.1\r\n" + common + "Content-Length: 0\r\nContent-Type: application/json; charset=utf-8\r\n\r\n"
	chunked = "PUT /v1/kv/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;name=value\r\nab\r\nc\r\n1\r\nd\r\n0\r\nTrailer: x\r\n\r\n"
)

// Requests are found in whatever pieces they come, and what is no HTTP ends the reading.
func TestRequests(t *testing.T) {
	all := create + get + wait + acquire + chunked + renew + release + destroy + "\r\n" + greeting +
		"DELETE /v1/kv/?recurse HTTP/1.1\r\nHost: a\r\n\r\nGET /ui HTTP/1.1\r\nHost: a\r\n\r\n" + "\x16\x03\x01 of another protocol\r\n\r\n" + get
	want := []string{
		"SESSION-CREATE", "KV-GET", "KV-WATCH", "KV-ACQUIRE", "KV-PUT", "SESSION-RENEW", "KV-RELEASE", "SESSION-DESTROY",
		"STATUS-LEADER", "KV-DELETE", "?",
	}
	for _, size := range []int{1, 3, 7, 100, len(all)} {
		var got []string
		w := service.NewRequestWriter(wire{}, func(name []byte) { got = append(got, string(name)) })
		for piece := range slices.Chunk([]byte(all), size) {
			if n, err := w.Write(piece); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("in pieces of %d: %q, want %q", size, got, want)
		}
	}
	if w := (wire{}); w.Greeting("KV-ACQUIRE") || !w.Greeting("SESSION-RENEW") || !w.Greeting(w.Sign()) {
		t.Error("what looks after a lock is confused with what it asks for")
	}
}

// A request is reported with its last byte, and not earlier.
func TestRequestsAreWhole(t *testing.T) {
	for _, request := range []string{create, get, acquire, renew, chunked} {
		told := 0
		w := service.NewRequestWriter(wire{}, func([]byte) { told++ })
		_, _ = w.Write([]byte(request[:len(request)-1]))
		if told != 0 {
			t.Errorf("told before the last byte of %q", request)
		}
		_, _ = w.Write([]byte(request[len(request)-1:]))
		if told != 1 {
			t.Errorf("told %d times of %q", told, request)
		}
	}
}

func FuzzRequests(f *testing.F) {
	f.Add([]byte(create + get + chunked))
	f.Add([]byte("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n"))
	f.Add([]byte("PUT /v1/kv/a HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var whole, pieces []string
		_, _ = service.NewRequestWriter(wire{}, func(name []byte) { whole = append(whole, string(name)) }).Write(b)
		w := service.NewRequestWriter(wire{}, func(name []byte) { pieces = append(pieces, string(name)) })
		for _, c := range b {
			_, _ = w.Write([]byte{c})
		}
		if !slices.Equal(whole, pieces) {
			t.Errorf("at once %q, byte by byte %q", whole, pieces)
		}
	})
}

// fake is one server.
type fake struct {
	service.Host
	at net.Listener

	mu    sync.Mutex
	says  map[string]string // by method and path
	asked []string
	down  error
}

func newFake(t *testing.T) (*fake, *servers) {
	f := &fake{says: map[string]string{"GET " + leaderPath: `"127.0.0.1:7001"`, "PUT " + ownKey: "true", "DELETE /v1/kv/": "true"}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.at = server.Listener
	return f, Service{}.Open(topologies[0], f).(*servers)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, r.Method+" "+r.URL.String())
	says, ok := f.says[r.Method+" "+r.URL.Path]
	if !ok {
		http.Error(w, "No cluster leader", http.StatusInternalServerError)
		return
	}
	if code, err := strconv.Atoi(strings.Fields(says + " ")[0]); err == nil && code > 299 {
		w.WriteHeader(code)
	}
	_, _ = w.Write([]byte(says))
}

func (f *fake) Status(string) service.Status {
	return service.Status{Running: f.down == nil, Why: f.down}
}
func (f *fake) Dial(ctx context.Context, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", f.at.Addr().String())
}

// A server is well when it knows a leader and takes a write.
func TestAsked(t *testing.T) {
	f, g := newFake(t)
	ctx := t.Context()
	says := func(when, question, answer, want string) {
		t.Helper()
		f.mu.Lock()
		before, had := f.says[question]
		if f.says[question] = answer; answer == "" {
			delete(f.says, question)
		}
		f.mu.Unlock()
		if err := g.Healthy(ctx); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s it is said to be %v, want %q", when, err, want)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if had {
			f.says[question] = before
		}
	}
	says("well,", "GET /x", "1", "")
	says("without a leader", "GET "+leaderPath, `""`, "consul-1 knows no leader")
	says("without writes", "PUT "+ownKey, "false", "consul-1 takes no writes")
	says("refusing,", "PUT "+ownKey, "", "500 Internal Server Error: No cluster leader")
	says("of another kind", "GET "+leaderPath, "<html>", "invalid character")
	if all := g.Leaders(ctx); !slices.Equal(all, []string{"consul-1"}) {
		t.Errorf("leaders are %v", all)
	}
	if err := g.Flush(ctx, "consul-1"); err != nil || f.asked[len(f.asked)-1] != "DELETE /v1/kv/?recurse" {
		t.Errorf("flushed by %s: %v", f.asked[len(f.asked)-1], err)
	}
	f.down = errors.New("it was killed")
	if err := g.Answers(ctx, "consul-1"); !errors.Is(err, f.down) {
		t.Errorf("one that is down is said to be %v", err)
	}
	if all := g.Leaders(ctx); len(all) != 0 {
		t.Errorf("leaders are %v", all)
	}
}

// A greeting exchanges the requested load in both directions and reports failures.
func TestGreet(t *testing.T) {
	f, g := newFake(t)
	servicetest.Greets(t, g, f.Dial, "consul-1", 2, 0, 100_000)
}

// A server that is killed comes back with its keys or without, and is healthy by then.
func TestSingle(t *testing.T) {
	w := local.New(local.Options{Services: []service.Service{Service{}}})
	needs.OrSkip(t, Name, w.Ready(t.Context()))
	single, _ := service.Find(Service{}, locks.Single)
	err := w.Run(t.Context(), world.Spec{Service: Service{}, Topology: single, Clients: 1}, func(ctx context.Context, c world.Cluster) error {
		g, killer := c.Servers().(*servers), c.(world.NodeController)
		node := c.Nodes()[0].Name
		const key = "/v1/kv/mark"
		has := func(when string, want bool) {
			t.Helper()
			var there []string
			err := g.ask(ctx, node, http.MethodGet, key+"?keys", "", &there)
			if err != nil && !strings.Contains(err.Error(), "404") || len(there) > 0 != want {
				t.Errorf("%s: the key is there: %v, %v, want %v", when, there, err, want)
			}
		}
		write := func() {
			t.Helper()
			var wrote bool
			if err := g.ask(ctx, node, http.MethodPut, key, "x", &wrote); err != nil || !wrote {
				t.Fatal(wrote, err)
			}
		}
		lives := func(when string, keep bool) {
			t.Helper()
			if err := killer.Kill(ctx, node); err != nil {
				t.Fatal(err)
			}
			if err := g.Answers(ctx, node); err == nil {
				t.Errorf("%s: killed, it answers", when)
			}
			if err := killer.Start(ctx, node, keep); err != nil {
				t.Fatal(err)
			}
			if err := service.AwaitHealthy(ctx, g); err != nil {
				t.Fatal(err)
			}
			has(when, keep)
		}
		write()
		lives("data kept", true)
		lives("data lost", false)
		write()
		if err := g.Flush(ctx, node); err != nil {
			t.Error(err)
		}
		has("flushed", false)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
