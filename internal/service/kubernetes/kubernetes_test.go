package kubernetes

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/service"
	"lockbench/internal/testing/servicetest"
	"lockbench/locks"
)

func TestService(t *testing.T) {
	servicetest.Suite{
		Service: Service,
		Versions: map[string]servicetest.Version{
			"Kubernetes v1.37.2\n":                   {Text: "1.37.2", Enough: true},
			"Kubernetes v1.20.0-rc.1\n":              {Text: "1.20.0-rc.1", Enough: true},
			"Kubernetes v1.19.16\n":                  {Text: "1.19.16"},
			"Kubernetes v0.0.0-master+$Format:%H$\n": {Text: "0.0.0-master+$Format:%H$"},
			"etcd Version: 3.6.16":                   {},
		},
		Settings: servicetest.Settings{
			Topology: Quorum,
			Line: func(n service.Node, name, value string) string { // each setting is for one of the two programs
				of, inEtcd := strings.CutPrefix(name, etcdSettings)
				if inEtcd != (n.Role == service.Data) {
					return ""
				}
				return "--" + of + "=" + value
			},
		},
	}.Run(t)
}

func runs(topology locks.Topology, node string) service.Program {
	return Service.Program(servicetest.Place(Service, topology, node, nil))
}

// The members of etcd know each other only. API servers know all members by the addresses for all.
func TestProgram(t *testing.T) {
	api := runs(Redundant, "apiserver-2")
	for _, want := range []string{
		"--etcd-servers=http://127.0.0.65:7000,http://127.0.0.66:7000,http://127.0.0.67:7000",
		"--bind-address=127.0.0.5", "--secure-port=7000", "--token-auth-file=/config/tokens.csv",
	} {
		if !slices.Contains(api.Args, want) {
			t.Errorf("there is no %s in %q", want, api.Args)
		}
	}
	if api.Args[0] != "kube-apiserver" || !strings.HasPrefix(api.Files["/config/tokens.csv"], token+",") {
		t.Errorf("an API server is run with %q and %q", api.Args, api.Files)
	}
	other := runs(Redundant, "apiserver-1")
	if key := "/config/service-account.key"; !strings.Contains(api.Files[key], "PRIVATE KEY") || api.Files[key] != other.Files[key] {
		t.Errorf("API servers have different keys, or none: %q", api.Files[key])
	}
	member := runs(Redundant, "etcd-1")
	members := "--initial-cluster=etcd-1=http://127.0.0.65:7001,etcd-2=http://127.0.0.66:7001,etcd-3=http://127.0.0.67:7001"
	if member.Args[0] != "etcd" || !slices.Contains(member.Args, members) {
		t.Errorf("a member of etcd is run with %q", member.Args)
	}
	single := runs(locks.Single, "apiserver-1")
	if !slices.Contains(single.Args, "--etcd-servers=http://127.0.0.65:7000") {
		t.Errorf("with one member, an API server is run with %q", single.Args)
	}
}

// fake is one member of etcd and one API server.
type fake struct {
	servicetest.Host
	accepts string // the token
	unready string // why the API server is not ready
}

func newFake(t *testing.T) (*fake, service.Servers) {
	f := &fake{accepts: token}
	member := httptest.NewServer(http.HandlerFunc(f.member))
	api := httptest.NewTLSServer(http.HandlerFunc(f.api))
	t.Cleanup(member.Close)
	t.Cleanup(api.Close)
	f.Listens("etcd-1", member.Listener)
	f.Listens("apiserver-1", api.Listener)
	single, _ := service.Find(Service, locks.Single)
	return f, Service.Open(single, f)
}

func (f *fake) member(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v3/maintenance/status" {
		_, _ = w.Write([]byte(`{"header": {"member_id": "1"}, "leader": "1"}`))
	}
}

func (f *fake) api(w http.ResponseWriter, r *http.Request) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	switch {
	case r.Header.Get("Authorization") != "Bearer "+f.accepts:
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
	case r.URL.Path == "/readyz" && f.unready != "":
		http.Error(w, f.unready, http.StatusInternalServerError)
	case r.Method == http.MethodPost:
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(body)
	}
}

// The error for an API server that is not ready, or that refuses the token, names the server and the reason.
func TestHealthy(t *testing.T) {
	f, g := newFake(t)
	ctx := t.Context()
	if err := errors.Join(g.Healthy(ctx), g.Answers(ctx, "etcd-1"), g.Answers(ctx, "apiserver-1")); err != nil {
		t.Fatal(err)
	}
	if leader, err := g.Leader(ctx); leader != "etcd-1" || err != nil {
		t.Errorf("the leader is %q, %v", leader, err)
	}
	f.unready = "[-]etcd failed"
	if err := g.Healthy(ctx); err == nil || !strings.Contains(err.Error(), "apiserver-1: /readyz: 500 Internal Server Error: [-]etcd failed") {
		t.Errorf("an API server is not ready: %v", err)
	}
	f.unready, f.accepts = "", "other"
	if err := g.Answers(ctx, "apiserver-1"); err != nil {
		t.Errorf("Answers with a wrong token: %v", err)
	}
	for name, err := range map[string]error{"Healthy": g.Healthy(ctx), "Form": g.Form(ctx)} {
		if !errors.Is(err, errToken) || !strings.HasPrefix(err.Error(), "apiserver-1: ") {
			t.Errorf("%s with a wrong token: %v", name, err)
		}
	}
}

// A greeting of an API server exchanges the requested load in both directions and reports failures.
func TestGreet(t *testing.T) {
	f, g := newFake(t)
	servicetest.Greets(t, g, f, "apiserver-1", 1, 0, 100_000, 2*pieceMax)
}
