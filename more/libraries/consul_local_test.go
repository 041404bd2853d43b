//go:build linux

package libraries

import (
	"net/http"
	"strings"
	"testing"

	"lockbench/internal/needs"
	"lockbench/internal/testing/sitetest"
	"lockbench/locks"
	"lockbench/service/consul"
)

// Consul and the Lock of its client run in world local. An isolated holder gets no notice of the loss, unless its client
// limits the time of each request.
func TestConsulInTheLocalWorld(t *testing.T) {
	t.Parallel() // it waits
	wantConsul(t)
	run, _ := program(t)
	run(0, "1 consul", "run", "steady", "--world", "local", "--seed", "3", "--episodes", "1", "--locks", "no-lock,consul-lock")
	run(0, "double-grant", "run", "cut-off-holder", "--world", "local", "--seed", "3", "--episodes", "1",
		"--locks", "no-lock,consul-lock/session-ttl=2s/lock-delay=1ms", "--expect", "consul-lock/session-ttl=2s/lock-delay=1ms=violated double-grant")
	run(0, "", "run", "cut-off-holder", "--world", "local", "--seed", "3", "--episodes", "1",
		"--locks", "no-lock,consul-lock/session-ttl=2s/lock-delay=1ms/timeout=500ms/monitor-retries=1/monitor-retry-time=100ms")
	run(2, "no model of consul", "run", "steady", "--world", "sim", "--seed", "3", "--episodes", "1", "--locks", "no-lock,consul-lock")
}

// Keys of the owner remain on an external agent, and keys of the run are removed.
func TestConsulOnExternalServers(t *testing.T) {
	wantConsul(t)
	run, _ := program(t)
	site := sitetest.New(t, consul.Service{}, locks.Single, "")
	url := "consul://" + site.Hosts()
	key := func(method, path string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+site.Hosts()+"/v1/kv/"+path, strings.NewReader("theirs"))
		if err != nil {
			t.Fatal(err)
		}
		said, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		said.Body.Close()
	}
	key(http.MethodPut, "theirs")
	key(http.MethodPut, "lockbench") // such as a careless prefix would take as well
	for _, scenario := range []string{"steady", "crash-restart-durable"} {
		run(0, "1 consul", "run", scenario, "--servers", url, "--hooks", site.Hooks(), "--episodes", "1", "--keys", "1", "--seed", "42", "--locks", "no-lock,consul-lock/lock-delay=1ms")
	}
	if left := site.Under(t, url, ""); len(left["consul-1"]) != 3 { // and what world local writes to see that it is well
		t.Errorf("of two keys of the owner's there are %q", left)
	}
	key(http.MethodPut, "lockbench:7:a")
	run(3, `"lockbench:7:a"`, "doctor", "--servers", url)
	for prefix, want := range map[string]int{"lockbench:8:": 0, "lockbench:7:": 1} {
		if n, err := site.Foreign(t, url, prefix).Clear(t.Context()); n != want || err != nil {
			t.Errorf("of %s %d keys were removed (%v), want %d", prefix, n, err, want)
		}
	}
	run(0, "1 consul", "doctor", "--servers", url)
}

// wantConsul skips a test where there is no Consul.
func wantConsul(t *testing.T) {
	t.Helper()
	needs.OrSkip(t, consul.Name, needs.Programs(consul.Name))
}
