package etcd

import (
	"strings"
	"testing"

	"lockbench/internal/service"
	"lockbench/internal/testing/servicetest"
)

func TestLocate(t *testing.T) {
	servicetest.Locates(t, Service, []servicetest.Located{
		{URLs: "etcd://a", Addrs: "a:2379", Topology: "1 etcd"},
		{URLs: "etcds://a,b:1,[::1]:2", Addrs: "a:2379 b:1 [::1]:2", Topology: "etcd quorum of 3", TLS: true},
		{URLs: "etcd://a etcd://b", Addrs: "a:2379 b:2379", Topology: "etcd quorum of 2"},
		{URLs: "etcd://a etcds://b", Refused: "in one way"},
		{URLs: "etcd://a,a:2379", Refused: "named twice"},
		{URLs: "etcd://a/x", Refused: "/x means nothing"},
		{URLs: "etcd+ring://a", Refused: "named as etcd://HOST:PORT"},
		{URLs: "etcd://u:p@a", Refused: "a password in a URL"},
	})
}

// All members that serve clients must be named.
func TestSurvey(t *testing.T) {
	f, _ := newFake(t)
	at := func(name string) string { return f.members[name].at.Addr().String() }
	look := func(names ...string) (service.Site, error) {
		var addrs []string
		for _, n := range names {
			addrs = append(addrs, at(n))
		}
		l, err := Service.External.Locate([]string{"etcd://" + strings.Join(addrs, ",")})
		if err != nil {
			t.Fatal(err)
		}
		return Service.External.Survey(t.Context(), l, servicetest.Dial)
	}
	site, err := look("etcd-1", "etcd-3")
	if err != nil || site.Topology.InTable() != "etcd quorum of 2" || site.About != "etcd 3.6.16" || site.Called[at("etcd-3")] != "etcd-2" {
		t.Errorf("%+v, %v", site, err)
	}
	if _, err := look("etcd-3"); err == nil || !strings.Contains(err.Error(), "name all members") {
		t.Errorf("one of two members is named: %v", err)
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
