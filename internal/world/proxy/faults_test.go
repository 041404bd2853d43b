//go:build linux

package proxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/rs/zerolog/log"

	"lockbench/internal/world"
)

func TestCutRequests(t *testing.T) {
	l := newLab(t)
	p, other := l.dial("c1", "n1"), l.dial("c2", "n1")
	p.talks()
	link := world.Link{From: "c1", To: "n1"}
	l.must(l.proxy.SetLinks([]world.Link{link}, world.LinkState{Cut: true}))
	var want []string
	bytes := 0
	for i := range 50 {
		line := fmt.Sprint("held ", i)
		p.say(line)
		want = append(want, line)
		bytes += len(line) + 1
	}
	l.atGate(link, bytes)
	other.talks() // only c1 is concerned
	if l.nodes["n1"].heard("held 0") {
		t.Fatal("n1 heard through a cut link")
	}
	l.must(l.proxy.SetLinks([]world.Link{link}, world.LinkState{}))
	for _, line := range want {
		p.hears("re: " + line)
	}
}

func TestCutReplies(t *testing.T) {
	l := newLab(t)
	p := l.dial("c1", "n1")
	p.talks()
	link := world.Link{From: "n1", To: "c1"}
	l.must(l.proxy.SetLinks([]world.Link{link}, world.LinkState{Cut: true}))
	p.say("done, and not told")
	l.until("n1 to hear", func() bool { return l.nodes["n1"].heard("done, and not told") })
	l.atGate(link, len("re: done, and not told\n"))
	_ = p.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if line, err := p.r.ReadString('\n'); err == nil {
		t.Fatalf("c1 heard %q through a cut link", line)
	}
	_ = p.SetReadDeadline(time.Now().Add(patience))
	l.must(l.proxy.SetLinks([]world.Link{link}, world.LinkState{}))
	p.hears("re: done, and not told")
}

// TestCutReachesBothDiallers: a link is cut on every connection between the two,
// whichever end dialled it.
func TestCutReachesBothDiallers(t *testing.T) {
	l := newLab(t)
	byFrom, byTo := l.dial("n1", "n2"), l.dial("n2", "n1")
	byFrom.talks()
	byTo.talks()
	l.must(l.proxy.SetLinks([]world.Link{{From: "n1", To: "n2"}}, world.LinkState{Cut: true}))
	byFrom.say("request") // n1 -> n2, held
	byTo.say("question")  // n2 -> n1, passes; its answer is held
	l.until("n1 to hear the question", func() bool { return l.nodes["n1"].heard("question") })
	l.atGate(world.Link{From: "n1", To: "n2"}, len("request\n")+len("re: question\n"))
	if l.nodes["n2"].heard("request") {
		t.Fatal("n2 heard through a cut link")
	}
	l.must(l.proxy.SetLinks([]world.Link{{From: "n1", To: "n2"}}, world.LinkState{}))
	byFrom.hears("re: request")
	byTo.hears("re: question")
}

func TestNewConnectionOverCutLink(t *testing.T) {
	l := newLab(t)
	link := world.Link{From: "c1", To: "n1"}
	l.must(l.proxy.SetLinks([]world.Link{link}, world.LinkState{Cut: true}))
	patient, hasty := l.dial("c1", "n1"), l.dial("c1", "n1")
	patient.say("patient")
	hasty.say("hasty")
	l.atGate(link, len("patient\nhasty\n"))
	hasty.Close()
	l.until("the proxy to forget the hasty one", func() bool {
		l.proxy.mu.Lock()
		defer l.proxy.mu.Unlock()
		return len(l.proxy.conns) == 1
	})
	if n := l.nodes["n1"].accepted(); n != 0 {
		t.Fatalf("n1 has %d connections over a cut link", n)
	}
	l.must(l.proxy.SetLinks([]world.Link{link}, world.LinkState{}))
	patient.hears("re: patient")
	if l.nodes["n1"].heard("hasty") {
		t.Error("a connection that was never made has delivered something")
	}
}

func TestDelayConcernsOneSource(t *testing.T) {
	l := newLab(t)
	slow, fast := l.dial("c1", "n1"), l.dial("c2", "n1")
	slow.talks()
	link := []world.Link{{From: "c1", To: "n1"}}
	l.must(l.proxy.SetLinks(link, world.LinkState{Delay: world.Delay{By: time.Hour}}))
	for i := range 50 {
		slow.say(fmt.Sprint("slow ", i))
	}
	fast.talks()
	later := l.dial("c1", "n1") // begun while the delay is on
	later.say("later")
	fast.talks()
	if l.nodes["n1"].heard("slow 0") || l.nodes["n1"].heard("later") {
		t.Fatal("an hour has not passed")
	}
	l.must(l.proxy.SetLinks(link, world.LinkState{}))
	for i := range 50 {
		slow.hears(fmt.Sprint("re: slow ", i))
	}
	later.hears("re: later")
	l.must(l.proxy.SetLinks(link, world.LinkState{})) // once more is no harm
}

func TestDelayIsAsLongAsItSays(t *testing.T) {
	l := newLab(t)
	p := l.dial("c1", "n1")
	p.talks()
	link := []world.Link{{From: "n1", To: "c1"}}
	const delay = 30 * time.Millisecond
	l.must(l.proxy.SetLinks(link, world.LinkState{Delay: world.Delay{By: time.Hour}}))
	l.must(l.proxy.SetLinks(link, world.LinkState{Delay: world.Delay{By: delay}})) // replaces
	began := time.Now()
	p.talks()
	if took := time.Since(began); took < delay {
		t.Errorf("the answer took %v, less than the delay", took)
	}
	if err := l.proxy.SetLinks(link, world.LinkState{Delay: world.Delay{By: time.Second, Jitter: 2 * time.Second}}); err == nil {
		t.Error("a message would arrive before it was sent")
	}
}

// TestDelayAndCut: toxiproxy holds a lock of the link while it waits for writers,
// so if the gate stood in its way, none of these calls would return.
func TestDelayAndCut(t *testing.T) {
	l := newLab(t)
	p := l.dial("c1", "n1")
	p.talks()
	link := []world.Link{{From: "c1", To: "n1"}}
	l.must(l.proxy.SetLinks(link, world.LinkState{Cut: true}))
	p.say("one")
	l.must(l.proxy.SetLinks(link, world.LinkState{Cut: true, Delay: world.Delay{By: time.Hour}}))
	p.say("two")
	q := l.dial("c1", "n1")
	q.say("three")
	l.must(l.proxy.SetLinks(link, world.LinkState{Cut: true}))
	l.atGate(link[0], len("one\ntwo\nthree\n"))
	if l.nodes["n1"].heard("one") || l.nodes["n1"].heard("three") {
		t.Fatal("n1 heard through a cut link")
	}
	l.must(l.proxy.SetLinks(link, world.LinkState{}))
	p.hears("re: one")
	p.hears("re: two")
	q.hears("re: three")
}

// TestThrottle: what waits for its turn goes on at once when the limit ends, in order,
// and the library that does it says nothing on anybody's terminal.
func TestThrottle(t *testing.T) {
	said := make(lines, 1)
	before := log.Logger
	log.Logger = zerolog.New(said)
	t.Cleanup(func() { log.Logger = before })
	l := newLab(t)
	p := l.dial("c1", "n1")
	p.talks()
	link := []world.Link{{From: "c1", To: "n1"}}
	l.must(l.proxy.SetLinks(link, world.LinkState{Rate: 1000}))
	p.talks()
	long := strings.Repeat("x", 50_000) // nearly a minute at this rate
	p.say(long)
	p.say("after it")
	l.must(l.proxy.SetLinks(link, world.LinkState{}))
	p.hears("re: " + long)
	p.hears("re: after it")
	select {
	case line := <-said:
		t.Errorf("toxiproxy wrote %s", line)
	default:
	}
}

// lines keeps the first line that is written to it.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default:
	}
	return len(p), nil
}

func TestDropReplies(t *testing.T) {
	l := newLab(t)
	p, idle := l.dial("c1", "n1"), l.dial("c1", "n1")
	p.talks()
	idle.talks()
	link := world.Link{From: "n1", To: "c1"}
	l.must(l.proxy.SetLinks([]world.Link{link}, world.LinkState{Drop: true}))
	p.say("lost")
	l.until("the reply to be lost", func() bool { return l.proxy.Lost(link) == int64(len("re: lost\n")) })
	if !l.nodes["n1"].heard("lost") {
		t.Error("n1 should have heard it")
	}
	l.must(l.proxy.SetLinks([]world.Link{link}, world.LinkState{}))
	_ = p.ends()
	idle.talks() // it has lost nothing
	l.dial("c1", "n1").talks()
}

// TestDropThenCut: the end of a connection that has lost something must not be
// heard through a cut.
func TestDropThenCut(t *testing.T) {
	l := newLab(t)
	p := l.dial("c1", "n1")
	p.talks()
	link := world.Link{From: "n1", To: "c1"}
	l.must(l.proxy.SetLinks([]world.Link{link}, world.LinkState{Drop: true}))
	p.say("lost")
	l.until("the reply to be lost", func() bool { return l.proxy.Lost(link) > 0 })
	l.must(l.proxy.SetLinks([]world.Link{link}, world.LinkState{Cut: true, Drop: true}))
	l.must(l.proxy.SetLinks([]world.Link{link}, world.LinkState{Cut: true}))
	_ = p.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := p.r.ReadByte(); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("c1 heard through a cut link: %v", err)
	}
	_ = p.SetReadDeadline(time.Now().Add(patience))
	l.must(l.proxy.SetLinks([]world.Link{link}, world.LinkState{}))
	_ = p.ends()
}

func TestFreezeIsApartFromCut(t *testing.T) {
	l := newLab(t)
	p := l.dial("c1", "n1")
	p.talks()
	l.must(l.proxy.SetLinks([]world.Link{{From: "c1", To: "n1"}}, world.LinkState{Cut: true}))
	l.proxy.Freeze("c1", true)
	p.say("held twice")
	l.must(l.proxy.SetLinks([]world.Link{{From: "c1", To: "n1"}}, world.LinkState{}))
	l.atGate(world.Link{From: "c1", To: "n1"}, len("held twice\n"))
	l.dial("c2", "n1").talks()
	if l.nodes["n1"].heard("held twice") {
		t.Fatal("a frozen end was heard")
	}
	l.proxy.Freeze("c1", false)
	p.hears("re: held twice")
}

// TestBackPressure: what is held is bounded, and the sender is held up as a full
// TCP window would.
func TestBackPressure(t *testing.T) {
	l := newLab(t)
	p := l.dial("c1", "n1")
	p.talks()
	l.must(l.proxy.SetLinks([]world.Link{{From: "c1", To: "n1"}}, world.LinkState{Cut: true}))
	line := strings.Repeat("x", 1<<16)
	total := 0
	_ = p.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
	for total <= 4*underWayMax {
		n, err := p.Write([]byte(line))
		total += n
		if err != nil {
			break
		}
	}
	if total > 3*underWayMax {
		t.Fatalf("%d bytes were taken over a cut link", total)
	}
}

// TestCloseAtAnyMoment leaves connections in every state there is.
func TestCloseAtAnyMoment(t *testing.T) {
	l := newLab(t)
	idle, held, delayed, lossy := l.dial("c1", "n1"), l.dial("c2", "n1"), l.dial("n1", "n2"), l.dial("c1", "n2")
	for _, p := range []*peer{idle, held, delayed, lossy} {
		p.talks()
	}
	l.must(l.proxy.SetLinks([]world.Link{{From: "c2", To: "n1"}}, world.LinkState{Cut: true, Delay: world.Delay{By: time.Hour}}))
	l.must(l.proxy.SetLinks([]world.Link{{From: "n1", To: "n2"}}, world.LinkState{Delay: world.Delay{By: time.Hour}}))
	l.must(l.proxy.SetLinks([]world.Link{{From: "n2", To: "c1"}}, world.LinkState{Drop: true}))
	held.say("held")
	l.dial("c2", "n1").say("never made")
	delayed.say("delayed")
	lossy.say("lost")
	l.until("a loss", func() bool { return l.proxy.Lost(world.Link{From: "n2", To: "c1"}) > 0 })
	l.must(l.proxy.Close())
	_ = idle.ends()
	l.must(l.proxy.Close()) // again
	if err := l.proxy.SetLinks(nil, world.LinkState{Cut: true}); err == nil {
		t.Error("a closed proxy cuts nothing")
	}
}
