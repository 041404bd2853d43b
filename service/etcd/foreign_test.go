package etcd

import (
	"context"
	"net"
	"strings"
	"testing"

	"lockbench/service"
)

func TestLocate(t *testing.T) {
	for _, c := range []struct {
		urls, addrs, topology, refused string
		tls                            bool
	}{
		{urls: "etcd://a", addrs: "a:2379", topology: "1 etcd"},
		{urls: "etcds://a,b:1,[::1]:2", addrs: "a:2379 b:1 [::1]:2", topology: "etcd quorum of 3", tls: true},
		{urls: "etcd://a etcd://b", addrs: "a:2379 b:2379", topology: "etcd quorum of 2"},
		{urls: "etcd://a etcds://b", refused: "in one way"},
		{urls: "etcd://a,a:2379", refused: "named twice"},
		{urls: "etcd://a/x", refused: "/x means nothing"},
		{urls: "etcd+ring://a", refused: "named as etcd://HOST:PORT"},
		{urls: "etcd://u:p@a", refused: "a password in a URL"},
	} {
		l, err := Service{}.Locate(strings.Fields(c.urls))
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want %q", c.urls, err, c.refused)
			}
			continue
		}
		if got := strings.Join(l.Addrs, " "); err != nil || got != c.addrs || l.Topology.InTable() != c.topology || l.TLS != c.tls {
			t.Errorf("%s: %s, %s, %v, %v", c.urls, got, l.Topology.InTable(), l.TLS, err)
		}
	}
}

// Members that nobody has named are found, but for those that serve nobody.
func TestSurvey(t *testing.T) {
	f, _ := newFake(t)
	dial := func(ctx context.Context, _ service.Role, addr string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	at := func(name string) string { return f.members[name].at.Addr().String() }
	look := func(names ...string) (service.Site, error) {
		var addrs []string
		for _, n := range names {
			addrs = append(addrs, at(n))
		}
		l, err := Service{}.Locate([]string{"etcd://" + strings.Join(addrs, ",")})
		if err != nil {
			t.Fatal(err)
		}
		return Service{}.Survey(t.Context(), l, dial)
	}
	site, err := look("etcd-1")
	if err != nil || site.Topology.InTable() != "etcd quorum of 2" || site.About != "etcd 3.6.16" || site.Called[at("etcd-3")] == "" {
		t.Errorf("%+v, %v", site, err)
	}
	refused := func(what, want string) {
		t.Helper()
		if _, err := look("etcd-1", "etcd-2"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	two := f.members["etcd-2"]
	two.cluster = "other"
	refused("of another cluster", "of two clusters")
	two.cluster, two.learner = "", true
	refused("a learner", "is a learner")
	two.learner, two.id = false, "1"
	refused("the same by another address", "is the same server as")
}
