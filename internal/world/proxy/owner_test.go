//go:build linux

package proxy

import (
	"errors"
	"net/netip"
	"testing"

	"lockbench/internal/world"
)

// TestOwner: a client with an unknown address is looked up, and rejected if no owner is found.
func TestOwner(t *testing.T) {
	names := make(chan string)
	l := newLabWith(t, func(dialler, at netip.AddrPort) (string, error) {
		if name := <-names; name != "" {
			return name, nil
		}
		return "", errors.New("no process has it open")
	})
	anyone := netip.MustParseAddr("127.0.0.1")
	dial := func(name string) *peer {
		p := l.dialAddr(anyone, l.nodes["n1"].announced)
		names <- name // not before: a stranger may be turned away while it still dials
		return p
	}
	one, two := dial("c1"), dial("c2")
	one.talks()
	two.talks()
	link := world.Link{From: "c1", To: "n1"}
	l.must(l.proxy.SetLinks([]world.Link{link}, world.LinkState{Cut: true}))
	one.say("held")
	l.atGate(link, len("held\n"))
	two.talks()
	if l.nodes["n1"].heard("held") {
		t.Error("n1 heard through a cut link")
	}
	l.must(l.proxy.SetLinks([]world.Link{link}, world.LinkState{}))
	one.hears("re: held")
	if n := l.proxy.Rejected(); n != 0 {
		t.Errorf("%d rejected", n)
	}
	for _, name := range []string{"", "c9"} {
		_ = dial(name).ends()
	}
	if n := l.proxy.Rejected(); n != 2 {
		t.Errorf("%d rejected; want 2", n)
	}
	l.dial("c1", "n1").talks() // a known address is not looked up
}

// While one is looked up, others are let in, and the proxy closes when the answer is there.
func TestOwnerTakesItsTime(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	l := newLabWith(t, func(dialler, at netip.AddrPort) (string, error) {
		asked <- struct{}{}
		<-answer
		return "c1", nil
	})
	slow := l.dialAddr(netip.MustParseAddr("127.0.0.1"), l.nodes["n1"].announced)
	<-asked
	l.dial("c2", "n1").talks()
	closed := make(chan error)
	go func() { closed <- l.proxy.Close() }()
	close(answer)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	_ = slow.ends()
}
