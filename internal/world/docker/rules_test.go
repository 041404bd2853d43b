//go:build linux

package docker

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/world"
)

// draft are the links of a cluster without running containers.
func draft() *links {
	all := subnet{third: 8}
	l := newLinks(nil, nil, all.gateway(), 1, nil)
	for k, name := range []string{"redis-1", "redis-2", "redis-3"} {
		l.nodes = append(l.nodes, &node{
			Node: service.Node{Name: name, Role: service.Data}, announced: netip.AddrPortFrom(all.node(k), serverPort),
		})
	}
	return l
}

func TestRules(t *testing.T) {
	l := draft()
	if got, want := l.rulesFor(l.nodes[0]), "table ip lockbench\ndelete table ip lockbench\ntable ip lockbench {\n}\n"; got != want {
		t.Errorf("nothing is wrong: %s", got)
	}
	slow := world.Link{From: "redis-3", To: "redis-1"}
	l.states[world.Link{From: "redis-1", To: "redis-2"}] = link{LinkState: world.LinkState{Cut: true}}
	l.states[slow] = link{LinkState: world.LinkState{Cut: true, Delay: world.Delay{By: time.Second}}, relays: []netip.AddrPort{netip.MustParseAddrPort("198.19.8.1:5001")}}
	l.states[back(slow)] = link{relays: []netip.AddrPort{netip.MustParseAddrPort("198.19.8.1:5000")}}
	for k, want := range []string{`table ip lockbench
delete table ip lockbench
table ip lockbench {
 chain in {
  type filter hook input priority -300;
  ip saddr 198.19.8.13 drop;
 }
 chain out {
  type filter hook output priority -300;
  ip daddr 198.19.8.12 drop;
 }
 chain relay {
  type nat hook output priority -101;
  ip daddr 198.19.8.13 tcp dport 6379 dnat to 198.19.8.1:5000;
 }
 chain renew {
  type filter hook output priority 10;
  ip daddr 198.19.8.13 tcp dport 6379 reject with tcp reset;
  ip daddr 198.19.8.13 tcp sport 6379 reject with tcp reset;
 }
}
`, `table ip lockbench
delete table ip lockbench
table ip lockbench {
 chain in {
  type filter hook input priority -300;
  ip saddr 198.19.8.11 drop;
 }
}
`} {
		if got := l.rulesFor(l.nodes[k]); got != want {
			t.Errorf("%s: got\n%swant\n%s", l.nodes[k].Name, got, want)
		}
	}
	if got := l.rulesFor(l.nodes[2]); !strings.Contains(got, "ip daddr 198.19.8.11 tcp dport 6379 dnat to 198.19.8.1:5001") {
		t.Errorf("redis-3 goes to redis-1 by the relay's other end: %s", got)
	}
	delete(l.states, slow)
	if got := l.rulesFor(l.nodes[2]); strings.Contains(got, "dnat") {
		t.Errorf("nothing is slow: %s", got)
	}
}

func TestExplain(t *testing.T) {
	for said, want := range map[string]string{
		"permission denied while trying to connect to the Docker daemon socket": "group docker",
		"dial unix /var/run/docker.sock: connect: no such file or directory":    "DOCKER_HOST",
		"failed to connect to the docker API at unix:///x":                      "DOCKER_HOST",
		"write /x: no space left on device":                                     "docker system df",
		"Bind for 127.0.0.1:1 failed: port is already allocated":                "try again",
		"exec format error": "--image",
	} {
		cause := errors.New(said)
		if got := explain(cause); !strings.Contains(got.Error(), want) || !errors.Is(got, cause) {
			t.Errorf("%q: got %v", said, got)
		}
	}
	if explain(nil) != nil {
		t.Error("nothing is to be explained")
	}
	other := errors.New("something else")
	if !errors.Is(explain(other), other) {
		t.Error("what has no remedy stays as it is")
	}
}

// An invalid address is reported once, and not as a daemon that does not answer.
func TestDockerHostThatIsNoAddress(t *testing.T) {
	for _, said := range []string{"nonsense", "unix://"} {
		t.Setenv("DOCKER_HOST", said)
		_, err := connect()
		if got := fmt.Sprint(err); !strings.HasPrefix(got, fmt.Sprintf("DOCKER_HOST is %q, which is not an address", said)) || strings.Contains(got, "answers") {
			t.Errorf("%s: got %v", said, err)
		}
	}
}

func TestOwnerIsAliveUntilItLetsGo(t *testing.T) {
	o, err := claimOwner()
	if err != nil {
		t.Fatal(err)
	}
	if !alive(o.name) {
		t.Error("it lives")
	}
	o.release()
	if alive(o.name) {
		t.Error("it has let go")
	}
}
