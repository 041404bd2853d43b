//go:build linux

package mesh

import (
	"testing"

	"lockbench/internal/world"
)

// The answer to the request that was meant is kept back, and not before the server has
// done it; the requests of others, greetings and other links go on.
func TestHoldReply(t *testing.T) {
	l := newLab(t)
	one, other := l.dial("c1", "n1"), l.dial("c2", "n1")
	reached, goOn := l.mesh.HoldReply("c1", 2)
	one.say("PING")
	one.hears("re: PING")
	one.say("SETNX a")
	one.hears("re: SETNX a")
	other.say("GET a")
	other.hears("re: GET a")
	one.say("EXPIRE a")
	l.until("the answer is there", func() bool {
		select {
		case <-reached:
			return true
		default:
			return false
		}
	})
	if !l.nodes["n1"].heard("EXPIRE a") {
		t.Error("the server was not asked")
	}
	l.atGate(world.Link{From: "n1", To: "c1"}, len("re: EXPIRE a\n"))
	second := l.dial("c1", "n2")
	second.talks() // another connection of the same client
	goOn()
	goOn()
	one.hears("re: EXPIRE a")
	one.talks()
}

// A link that is cut while an answer is kept back keeps it for itself.
func TestHoldReplyThenCut(t *testing.T) {
	l := newLab(t)
	c := l.dial("c1", "n1")
	reached, goOn := l.mesh.HoldReply("c1", 1)
	c.say("GET a")
	<-reached
	l.must(l.mesh.Cut([]world.Link{{From: "n1", To: "c1"}}))
	goOn()
	l.atGate(world.Link{From: "n1", To: "c1"}, len("re: GET a\n"))
	l.must(l.mesh.Join([]world.Link{{From: "n1", To: "c1"}}))
	c.hears("re: GET a")
}

// Whoever gives up waiting leaves nothing behind, and neither does one that is killed.
func TestHoldReplyGivenUp(t *testing.T) {
	l := newLab(t)
	c := l.dial("c1", "n1")
	_, goOn := l.mesh.HoldReply("c1", 2)
	c.say("GET a")
	c.hears("re: GET a")
	goOn()
	c.talks()
	reached, goOn := l.mesh.HoldReply("c1", 1)
	c.say("GET b")
	<-reached
	c.Close()
	goOn()
	l.until("the connection is gone", func() bool {
		l.mesh.mu.Lock()
		defer l.mesh.mu.Unlock()
		return len(l.mesh.conns) == 0
	})
}
