package consul

import (
	"context"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/testing/servicetest"
	"lockbench/service"
)

func TestLocate(t *testing.T) {
	servicetest.Locates(t, Service{}, []servicetest.Located{
		{URLs: "consul://a", Addrs: "a:8500", Topology: "1 consul"},
		{URLs: "consuls://[::1]:8501", Addrs: "[::1]:8501", Topology: "1 consul", TLS: true},
		{URLs: "consul://a,b", Refused: "name one agent of Consul, and not 2"},
		{URLs: "consul://a/dc1", Refused: "/dc1 means nothing"},
		{URLs: "consul+http://a", Refused: "named as consul://HOST:PORT"},
		{URLs: "consul://u:p@a", Refused: "a password in a URL"},
	})
}

// Survey refuses a server that is not an agent, and one that wants a token.
func TestSurvey(t *testing.T) {
	f, _ := newFake(t)
	look := func() (service.Site, error) {
		l, err := Service{}.Locate([]string{"consul://" + f.at.Addr().String()})
		if err != nil {
			t.Fatal(err)
		}
		return Service{}.Survey(t.Context(), l, servicetest.Dial)
	}
	for says, want := range map[string]string{
		`{"Config": {"Version": "1.13.9", "Server": true}}`:  "consul 1.13.9",
		`{"Config": {"Version": "1.13.9", "Server": false}}`: "consul 1.13.9 through an agent of a client",
	} {
		f.says["GET /v1/agent/self"] = says
		if site, err := look(); err != nil || site.About != want || site.Addrs["consul-1"] != f.at.Addr().String() {
			t.Errorf("%s: %+v, %v", says, site, err)
		}
	}
	for says, want := range map[string]string{`{}`: "not as a Consul does", "<html>": "invalid character", "403 Permission denied": "wants a token, and none can be given"} {
		f.says["GET /v1/agent/self"] = says
		if _, err := look(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", says, err, want)
		}
	}
}

// Lockbench reads and removes its own keys on external servers, and writes nothing.
func TestForeign(t *testing.T) {
	f, _ := newFake(t)
	g := Service{}.OpenForeign(service.Site{Location: service.Location{Topology: topologies[0]}, Topology: topologies[0]}, "lockbench:7:", f)
	f.says["GET /v1/session/list"] = "[]"
	for _, well := range []func(context.Context) error{g.Healthy, g.Form} {
		if err := well(t.Context()); err != nil {
			t.Error(err)
		}
	}
	f.says["GET /v1/kv/lockbench:7:"] = "404"
	if n, err := g.Clear(t.Context()); n != 0 || err != nil {
		t.Errorf("of nothing %d keys are removed, %v", n, err)
	}
	f.says["GET /v1/kv/lockbench:7:"], f.says["DELETE /v1/kv/lockbench:7:"] = `["lockbench:7:a", "lockbench:7:b"]`, "true"
	if there, err := g.Under(t.Context(), "lockbench:7:", 1); err != nil || !slices.Equal(there["consul-1"], []string{"lockbench:7:a"}) {
		t.Errorf("there are %v, %v", there, err)
	}
	if n, err := g.Clear(t.Context()); n != 2 || err != nil {
		t.Errorf("%d keys are removed, %v", n, err)
	}
	f.says["GET /v1/kv/lockbench:7:"] = "403"
	if _, err := g.Clear(t.Context()); err == nil || !strings.Contains(err.Error(), "wants a token") {
		t.Errorf("without leave: %v", err)
	}
	for _, asked := range f.asked {
		if method, _, _ := strings.Cut(asked, " "); method != "GET" && asked != "DELETE /v1/kv/lockbench:7:?recurse" {
			t.Errorf("it asks %s", asked)
		}
	}
	if _, flushes := g.(service.Orderly); flushes {
		t.Error("it can be made to forget everything")
	}
}
