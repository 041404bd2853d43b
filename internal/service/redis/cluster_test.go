package redis

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"lockbench/internal/service"
	"lockbench/locks"
)

// canned are servers with canned answers.
type canned struct {
	*sharded
	answers []map[string][]any // of each server, by command, in turn; the last one stays
}

// newCanned returns a cluster of servers, of which half are masters.
func newCanned(answers ...map[string][]any) *canned {
	on, _ := service.Find(Service, locks.Cluster)
	s := &canned{Service.Open(on.Sized(len(answers)), addresses{}).(*sharded), answers}
	s.ask = func(_ context.Context, node string, command ...string) (any, error) {
		of := s.answers[node[len("redis-")]-'1']
		all := of[strings.Join(command, " ")]
		if len(all) == 0 {
			return nil, errors.New(node + " was not to be asked " + strings.Join(command, " "))
		}
		if len(all) > 1 {
			of[strings.Join(command, " ")] = all[1:]
		}
		if err, ok := all[0].(error); ok {
			return nil, err
		}
		return all[0], nil
	}
	return s
}

// addresses is a host that knows where servers are, and nothing else.
type addresses struct{ service.Host }

func (addresses) Addr(node string) netip.AddrPort {
	return netip.MustParseAddrPort("127.0.0." + node[len("redis-"):] + ":7000")
}

// view is an answer to CLUSTER NODES: redis-1 and redis-2 share the slots, redis-3 and
// redis-4 follow them.
const view = `aa 127.0.0.1:7000@7001,,tls-port=0 myself,master - 0 0 1 connected 0-8191
bb 127.0.0.2:7000@7001 master - 0 0 2 connected 8192-16382 16383 [93->-aa]
cc 127.0.0.3:7000@7001 slave aa 0 0 1 connected
dd 127.0.0.4:7000@7001 slave bb 0 0 2 connected
`

func group(views ...string) *canned {
	var answers []map[string][]any
	for i, v := range views {
		role := []any{"slave", "127.0.0.1", int64(7000), "connected", int64(7)}
		if i < 2 {
			role = []any{"master", int64(7), []any{[]any{"127.0.0.3", "7000", "7"}}}
		}
		answers = append(answers, map[string][]any{
			"PING": {"PONG"}, "ROLE": {role}, "CLUSTER INFO": {"cluster_state:ok\r\n"}, "CLUSTER NODES": {v},
		})
	}
	return newCanned(answers...)
}

func TestClusterIsHealthy(t *testing.T) {
	for _, test := range []struct {
		name        string
		was, became string
		want        string
	}{
		{"all well", "", "", ""},
		{"taken for dead", "bb 127.0.0.2:7000@7001 master -", "bb 127.0.0.2:7000@7001 master,fail? -", "redis-1 sees redis-2 as master,fail?"},
		{"not met", "dd 127.0.0.4:7000@7001 slave bb 0 0 2 connected\n", "", "redis-1 sees 3 nodes, not 4"},
		{"not connected", "slave bb 0 0 2 connected", "slave bb 0 0 2 disconnected", "redis-1 is not connected to redis-4"},
		{"without followers", "slave bb", "slave aa", "redis-1 sees no replica follow redis-2"},
		{"not agreed", "0-8191", "0-8190", "redis-1 and redis-2 do not agree on who has what"},
		{"no slots left", " 0-8191", "", "redis-1 sees redis-1 as a master without slots"},
	} {
		err := group(strings.Replace(view, test.was, test.became, 1), view, view, view).Healthy(t.Context())
		if got := ""; err != nil {
			got = err.Error()
			if !strings.Contains(got, test.want) || test.want == "" {
				t.Errorf("%s: %s, want %q", test.name, got, test.want)
			}
		} else if test.want != "" {
			t.Errorf("%s: it is well, want %q", test.name, test.want)
		}
	}
	g := group(view, view, view, view)
	g.answers[3]["CLUSTER INFO"] = []any{"cluster_state:fail\r\n"}
	if err := g.Healthy(t.Context()); err == nil || !strings.Contains(err.Error(), "redis-4 reports that the cluster is not well") {
		t.Errorf("a node that is not well: %v", err)
	}
}

// The answer of most nodes counts, because a node that was cut off has an old view.
func TestMasterOfAKey(t *testing.T) {
	old := strings.NewReplacer("myself,master - 0 0 1 connected 0-8191", "master - 0 0 1 connected",
		"slave aa 0 0 1 connected", "master - 0 0 3 connected 0-8191").Replace(view)
	g := group(view, old, old, old)
	for key, want := range map[string]string{"b": "redis-3", "a": "redis-2"} { // slots 3300 and 15495
		if got, err := g.LeaderOf(t.Context(), key); got != want || err != nil {
			t.Errorf("master of %s: %q, %v; want %s", key, got, err, want)
		}
	}
	if _, err := group(view, old).LeaderOf(t.Context(), "b"); err == nil || !strings.Contains(err.Error(), `find the master of "b" (slot 3300)`) {
		t.Errorf("two who do not agree: %v", err)
	}
	if _, err := g.Leader(t.Context()); err == nil {
		t.Error("a cluster has one master")
	}
}

// A command that was executed, but whose answer came too late, counts as done when it is repeated.
func TestConfirmed(t *testing.T) {
	late := errors.New("no answer: deadline exceeded")
	said := ServerError("ERR Slot 0 is already busy")
	for _, test := range []struct {
		answers []any
		want    error
	}{
		{[]any{"OK"}, nil},
		{[]any{late, "OK"}, nil},
		{[]any{late, said}, nil},
		{[]any{said}, said},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		g := newCanned(map[string][]any{"CLUSTER X": test.answers})
		if test.want != nil {
			cancel() // asked once
		}
		if err := g.confirmed(ctx, "redis-1", "CLUSTER", "X"); !errors.Is(err, test.want) {
			t.Errorf("%v: %v, want %v", test.answers, err, test.want)
		}
		cancel()
	}
}
