// Package servicetest is the questions that the tests of all services ask alike.
package servicetest

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/service"
	"lockbench/locks"
)

// Suite is the answers of one service to the questions that need no server.
type Suite struct {
	Service  *service.Service
	Versions map[string]Version // by the outputs of programs
	URLs     []Located
	NoLogin  bool // the service takes no user
	Settings Settings
}

// Version is the result of reading a version. The zero value means that the output is of another program.
type Version struct {
	Text   string
	Enough bool
}

// Located is what URLs mean, with blanks between, or why they are refused.
type Located struct {
	URLs, Addrs, Topology, User, Database, Refused string
	TLS                                            bool
}

// Settings is how the servers of a topology get the settings of a scenario.
type Settings struct {
	Topology locks.Topology
	// Line returns the argument or the line of a file by which a node gets a setting; nil: no node gets settings in this form.
	Line func(n service.Node, name, value string) string
	Own  []string // settings of lockbench, which servers do not get
	// Trusted are decided settings that a program would take from a scenario: the reader of scenarios refuses them.
	Trusted []string
}

// Run tests a service.
func (s Suite) Run(t *testing.T) {
	t.Run("versions", s.versions)
	t.Run("URLs", s.urls)
	t.Run("settings", s.settings)
}

func (s Suite) versions(t *testing.T) {
	if !slices.Contains(valuesOf(s.Versions), Version{}) {
		t.Error("no output of another program is read")
	}
	for output, want := range s.Versions {
		text, enough, err := s.Service.Needs.Version(output)
		if (Version{text, enough}) != want || (err == nil) != (want.Text != "") {
			t.Errorf("%q: %q, %v, %v", output, text, enough, err)
		}
	}
}

func valuesOf(all map[string]Version) (values []Version) {
	for _, v := range all {
		values = append(values, v)
	}
	return values
}

func (s Suite) urls(t *testing.T) {
	if external := s.Service.External.Locate != nil; external != (len(s.URLs) > 0) {
		t.Errorf("lockbench can use external servers: %t, and %d URLs are read", external, len(s.URLs))
	}
	for _, c := range s.URLs {
		l, err := s.Service.External.Locate(strings.Fields(c.URLs))
		if c.Refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.Refused) {
				t.Errorf("%s: %v, want %q", c.URLs, err, c.Refused)
			}
			continue
		}
		got := Located{c.URLs, strings.Join(l.Addrs, " "), l.Topology.InTable(), l.User, l.Database, "", l.TLS}
		if err != nil || got != c || (l.NoLogin != "") != s.NoLogin {
			t.Errorf("got %+v, %v, want %+v; takes no login: %q", got, err, c, l.NoLogin)
		}
	}
}

// settings gives every setting a value. Settings that lockbench decides are ignored, and all others reach the servers.
func (s Suite) settings(t *testing.T) {
	given := map[string]string{}
	for _, set := range s.Service.Settings {
		if !slices.Contains(s.Settings.Trusted, set.Name) {
			given[set.Name] = "given-" + set.Name
		}
	}
	form, _ := service.Find(s.Service, s.Settings.Topology)
	taken := map[string]bool{}
	for _, n := range form.Nodes() {
		p := s.Service.Program(Place(s.Service, form.Name, n.Name, given))
		lines := p.Args
		for _, file := range p.Files {
			lines = append(lines, strings.Split(file, "\n")...)
		}
		for name, value := range given {
			if line := s.Settings.Line(n, name, value); line != "" && slices.Contains(lines, line) {
				taken[name] = true
			}
		}
	}
	for _, set := range s.Service.Settings {
		want := set.Decided == "" && !slices.Contains(s.Settings.Own, set.Name)
		if taken[set.Name] != want {
			t.Errorf("%s of a scenario is taken: %t; decided: %q", set.Name, taken[set.Name], set.Decided)
		}
	}
}

// Decided returns the names of the settings that lockbench decides.
func Decided(s *service.Service) (names []string) {
	for _, set := range s.Settings {
		if set.Decided != "" {
			names = append(names, set.Name)
		}
	}
	return names
}

// Place returns the place of a node. The first node is at 127.0.0.1, and at 127.0.0.65 for all others, and so on. Each node
// has a leader, the last node.
func Place(s *service.Service, topology locks.Topology, node string, settings map[string]string) service.Place {
	form, _ := service.Find(s, topology)
	p := service.Place{
		Topology: form, Settings: settings, Peers: map[string][]netip.AddrPort{}, Port: 7000, Config: "/config", Data: "/config/data",
	}
	for i, n := range form.Nodes() {
		own, announced := netip.AddrFrom4([4]byte{127, 0, 0, byte(1 + i)}), netip.AddrFrom4([4]byte{127, 0, 0, byte(65 + i)})
		leader := netip.AddrPortFrom(announced, p.Port)
		seen := announced
		if n.Name == node {
			p.Node, p.Bind, p.Announced, seen = n, own, leader, own
		}
		for port := range uint16(form.PeerPorts + 1) {
			p.Peers[n.Name] = append(p.Peers[n.Name], netip.AddrPortFrom(seen, p.Port+port))
		}
		p.Leader = &leader
	}
	return p
}
