package nats

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"lockbench/internal/service"
	"lockbench/internal/testing/servicetest"
	"lockbench/locks"
)

// answerUser answers the requests that every user may send.
func (f *fake) answerUser(n *node, subject, body string) any {
	no := func(code int, reason jetstream.ErrorCode, text string) any {
		return map[string]any{"error": jetstream.APIError{Code: code, ErrorCode: reason, Description: text}}
	}
	stream, isInfo := strings.CutPrefix(subject, "$JS.API.STREAM.INFO.")
	gone, isDelete := strings.CutPrefix(subject, "$JS.API.STREAM.DELETE.")
	switch {
	case n.sick != "":
		return no(503, 10008, n.sick)
	case isInfo:
		leader, known := n.buckets[stream]
		if !known {
			return no(404, jetstream.JSErrCodeStreamNotFound, "stream not found")
		}
		return map[string]any{"cluster": map[string]any{"leader": leader, "replicas": []any{map[string]any{"name": "nats-9", "current": !n.behind}}}}
	case subject == "$JS.API.STREAM.NAMES": // two on each page
		var page struct{ Offset int }
		_ = json.Unmarshal([]byte(body), &page)
		all := slices.Sorted(maps.Keys(n.buckets))
		return map[string]any{"total": len(all), "streams": all[page.Offset:min(page.Offset+2, len(all))]}
	case isDelete:
		for _, other := range f.nodes {
			delete(other.buckets, gone)
		}
		return map[string]bool{"success": true}
	}
	return nil
}

var everyNode = []string{"nats-1", "nats-2", "nats-3"}

func (f *fake) group() {
	f.each(func(_ int, n *node) {
		n.about, n.buckets = info{Cluster: "c", JetStream: true, Version: "2.12.15"}, map[string]string{}
	})
}

// Servers that are not a group, or not all servers of one, are refused.
func TestSurvey(t *testing.T) {
	f, _ := newFake(t, Quorum)
	f.group()
	site, err := f.Survey(t, Service, everyNode...)
	if err != nil || site.Topology.InTable() != "nats quorum of 3" || site.About != "NATS 2.12.15" || site.Called[f.At("nats-3")] != "nats-3" {
		t.Errorf("%+v, %v", site, err)
	}
	one, two := f.nodes["nats-1"], f.nodes["nats-2"]
	f.Refuses(t, Service, []servicetest.Refused{
		{Name: "one of a group", Nodes: everyNode[:1], Want: "name all servers that keep streams"},
		{Name: "of another group", Is: func() { two.about.Cluster = "d" }, Nodes: everyNode[:2], Want: "of two clusters"},
		{
			Name: "the same by another address", Is: func() { two.about.Cluster, two.about.ID = "c", "ID-nats-1" },
			Nodes: everyNode[:2], Want: "is the same server as",
		},
		{
			Name: "two that are alone", Is: func() { one.about.Cluster, two.about = "", info{JetStream: true} },
			Nodes: everyNode[:2], Want: "without a cluster",
		},
		{Name: "without JetStream", Is: func() { one.about.JetStream = false }, Nodes: everyNode[:1], Want: "serves no JetStream"},
	})
}

// Requests that any client may send show the leader of the bucket and whether all servers are well.
func TestExternalLeaders(t *testing.T) {
	f, _ := newFake(t, Quorum)
	f.group()
	site, err := f.Survey(t, Service, everyNode...)
	if err != nil {
		t.Fatal(err)
	}
	g := Service.External.Open(site, "lockbench:7:", f).Servers.(external)
	const stream = "KV_lockbench-7-locks"
	led := func(by ...string) func() {
		return func() {
			f.each(func(i int, n *node) { n.buckets = map[string]string{"KV_other": "nats-1", stream: by[i]} })
		}
	}
	behind := func(is bool) { f.each(func(_ int, n *node) { n.behind = is }) }
	ofKey := func(ctx context.Context) (string, error) { return g.LeaderOf(ctx, "a") }
	servicetest.Leads(t, g, ofKey, []servicetest.Led{
		{Name: "without a bucket"},
		{Name: "with one", Is: led("nats-2", "nats-2", "nats-2"), Leader: "nats-2", Leads: "nats-2"},
		{Name: "while an old one believes", Is: led("nats-1", "nats-3", "nats-3"), Leader: "nats-3", Leads: "nats-1 nats-3", Ill: "2 nodes lead"},
		{
			Name: "while a follower has not noticed", Is: led("nats-2", "nats-3", "nats-3"),
			Leader: "nats-3", Leads: "nats-3", Ill: "takes nats-2 for the leader",
		},
		{Name: "before an election", Is: led("", "", ""), Ill: "knows no leader"},
		{Name: "of a server that --servers does not name", Is: led("nats-9", "nats-9", "nats-9"), Ill: "no node leads"},
		{
			Name: "while the others have not noticed", Is: func() { led("nats-2", "nats-2", "nats-2")(); f.Down("nats-2", true) },
			Ill: servicetest.ErrNotRunning.Error(),
		},
		{Name: "with one that is behind", Is: func() { f.Down("nats-2", false); behind(true) }, Leader: "nats-2", Leads: "nats-2", Ill: "is behind"},
		{
			Name: "with one that is sick", Is: func() { behind(false); f.nodes["nats-1"].sick = "unavailable" },
			Leader: "nats-2", Leads: "nats-2", Ill: "unavailable",
		},
	})
	if got := g.Params()[Bucket]; bucketPrefix+got != stream {
		t.Errorf("clients get the bucket %q", got)
	}
}

// Clear removes only buckets of the run, on all pages of the list.
func TestClear(t *testing.T) {
	f, _ := newFake(t, locks.Single)
	all := []string{"KV_lockbench", "KV_lockbench-42-locks", "KV_lockbench-4-locks", "KV_my-lockbench-4-x", "KV_orders", "lockbench-4-stream"}
	f.set(func(one, _, _ *node) {
		one.about.JetStream = true
		for _, stream := range all {
			one.buckets[stream] = ""
		}
	})
	site, err := f.Survey(t, Service, "nats-1")
	if err != nil {
		t.Fatal(err)
	}
	g := Service.External.Open(site, "lockbench:4:", f)
	under, err := g.Under(t.Context(), "lockbench:", 2)
	if want := []string{"lockbench-4-locks", "lockbench-42-locks"}; err != nil || !slices.Equal(under["nats-1"], want) {
		t.Errorf("there are %q (%v), want %q", under, err, want)
	}
	if n, err := g.Clear(t.Context()); n != 1 || err != nil {
		t.Errorf("%d were removed (%v), want 1", n, err)
	}
	var left []string
	f.set(func(one, _, _ *node) { left = slices.Sorted(maps.Keys(one.buckets)) })
	if want := slices.Sorted(slices.Values(append(slices.Delete(all, 2, 3), "KV_locks"))); !slices.Equal(left, want) {
		t.Errorf("left is %q, want %q", left, want)
	}
}

// greets returns a connection to a server that greets, and the lines that the server reads.
func greets(t *testing.T, greeting string) (net.Conn, <-chan string) {
	near, far := net.Pipe()
	lines := make(chan string, 10)
	go func() {
		defer close(lines)
		fmt.Fprintf(far, "INFO %s\r\n", greeting)
		for read := bufio.NewScanner(far); read.Scan(); {
			lines <- read.Text()
			if read.Text() == "PING" {
				fmt.Fprint(far, "-ERR 'Authorization Violation'\r\n")
			}
		}
	}()
	t.Cleanup(func() {
		near.Close()
		far.Close()
	})
	return near, lines
}

// TestGreeting: the proxy takes TLS and the addresses of other servers out of a greeting, and forwards what
// the client sends.
func TestGreeting(t *testing.T) {
	c, lines := greets(t, `{"client_id":12345678901234567890,"auth_required":true,"nonce":"n","connect_urls":["10.0.0.1:4222"],"tls_available":true}`)
	in, err := Service.External.Login(t.Context(), c, service.Access{})
	if err != nil {
		t.Fatal(err)
	}
	want := "INFO {\"auth_required\":true,\"client_id\":12345678901234567890,\"nonce\":\"n\"}\r\n"
	said := make([]byte, len(want))
	if _, err := io.ReadFull(in, said); err != nil || string(said) != want {
		t.Errorf("the client reads %q (%v), want %q", said, err, want)
	}
	if _, err := in.Write([]byte("CONNECT {}\r\n")); err != nil || <-lines != "CONNECT {}" {
		t.Errorf("the server does not read what the client has sent (%v)", err)
	}
}

// TestGreetingRefuses: the URL and the server must agree on TLS.
func TestGreetingRefuses(t *testing.T) {
	c, _ := greets(t, `{"tls_required":true}`)
	if _, err := Service.External.Login(t.Context(), c, service.Access{}); err == nil || !strings.Contains(err.Error(), "natss://") {
		t.Errorf("a server that wants TLS: %v", err)
	}
	c, _ = greets(t, `{}`)
	if _, err := Service.External.Login(t.Context(), c, service.Access{TLS: new(tls.Config)}); err == nil || !strings.Contains(err.Error(), "does not support TLS") {
		t.Errorf("a server without TLS: %v", err)
	}
}

// TestLogin: lockbench and clients send a user and a password, or a token.
func TestLogin(t *testing.T) {
	for _, c := range []struct {
		as     service.Credentials
		wants  string
		params map[string]string
	}{
		{service.Credentials{User: "app", Password: "p"}, `"user":"app","pass":"p"`, map[string]string{"user": "app", "password": "p"}},
		{service.Credentials{Password: "p"}, `"auth_token":"p"`, map[string]string{"token": "p"}},
		{service.Credentials{}, `"name":"lockbench"`, nil},
	} {
		conn, lines := greets(t, `{}`)
		dial := func(context.Context, service.Role, string) (net.Conn, error) { return conn, nil }
		var refused *service.LoginError
		if _, err := look(t.Context(), "a", c.as, dial); !errors.As(err, &refused) || refused.Said != "Authorization Violation" {
			t.Errorf("a refused login: %v", err)
		}
		if line := <-lines; !strings.HasPrefix(line, "CONNECT") || !strings.Contains(line, c.wants) {
			t.Errorf("the server reads %q, want %s", line, c.wants)
		}
		site := service.Site{Topology: topologies[0], Location: service.Location{Logins: map[service.Role]service.Credentials{service.Data: c.as}}}
		params := Service.External.Open(site, "lockbench:1:", nil).Params()
		delete(params, Bucket)
		if !maps.Equal(params, c.params) {
			t.Errorf("clients get %v, want %v", params, c.params)
		}
	}
}
