package zookeeper

import (
	"strings"
	"testing"

	"lockbench/internal/service"
	"lockbench/internal/testing/servicetest"
	"lockbench/locks"
)

func TestLocate(t *testing.T) {
	for urls, want := range map[string]string{
		"zookeeper://a":           "a:2181, 1 zookeeper",
		"zookeepers://a,b:1":      "a:2181 b:1, zookeeper quorum of 2",
		"zookeeper://a/x":         "/x means nothing",
		"zookeeper://a,a:2181":    "named twice",
		"zookeeper+ring://a":      "named as zookeeper://HOST:PORT",
		"zookeeper://u@a":         "a:2181, 1 zookeeper", // Survey refuses users
		"zookeeper://a zookeeper": "not a URL",
	} {
		l, err := Service.External.Locate(strings.Fields(urls))
		got := strings.Join(l.Addrs, " ") + ", " + l.Topology.InTable()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || l.NoLogin == "" && err == nil {
			t.Errorf("%s: %s, want %s", urls, got, want)
		}
	}
}

// The servers must be those that --servers describes.
func TestSurveyRefuses(t *testing.T) {
	f, _ := newFake(t, Quorum)
	form, _ := service.Find(Service, Quorum)
	var addrs []string
	for _, n := range form.Nodes() {
		addrs = append(addrs, f.members[n.Name].at.Addr().String())
	}
	l, err := Service.External.Locate([]string{"zookeeper://" + strings.Join(addrs, ",")})
	if err != nil {
		t.Fatal(err)
	}
	one, two := f.members["zookeeper-1"], f.members["zookeeper-2"]
	for want, set := range map[string]func(){
		"both lead":             func() { one.mode, two.mode = leader, leader },
		"is observer":           func() { one.mode = "observer" },
		"is a server by itself": func() { one.mode = standalone },
		"serves no clients":     func() { one.mode = "" },
		"whitelist lacks srvr":  func() { one.mode = "denied" },
		"unknown error":         func() {}, // the fake answers requests with themselves
	} {
		one.mode, two.mode = follower, leader
		set()
		if _, err := Service.External.Survey(t.Context(), l, servicetest.Dial); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Servers that only answer srvr, as all do by default, are healthy.
func TestWhitelist(t *testing.T) {
	f, g := newFake(t, locks.Single)
	f.members["zookeeper-1"].mode, f.members["zookeeper-1"].shy = standalone, true
	if err := g.Answers(t.Context(), "zookeeper-1"); err != nil {
		t.Error(err)
	}
	if err := g.Healthy(t.Context()); err != nil {
		t.Error(err)
	}
	f, g = newFake(t, Quorum)
	for _, m := range f.members {
		m.shy = true
	}
	f.members["zookeeper-1"].mode = leader
	if err := g.Healthy(t.Context()); err != nil {
		t.Error(err)
	}
}
