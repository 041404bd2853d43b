//go:build linux

package proxy

import (
	"errors"
	"io"
	"net"
	"testing"

	"lockbench/internal/world"
)

// The answer to the request that was meant is kept back, and not before the server has
// done it; the requests of others, greetings and other links go on.
func TestHoldReply(t *testing.T) {
	l := newLab(t)
	one, other := l.dial("c1", "n1"), l.dial("c2", "n1")
	reply := l.proxy.Requests("c1").HoldReply(2)
	one.say("PING")
	one.hears("re: PING")
	one.say("SETNX a")
	one.hears("re: SETNX a")
	other.say("GET a")
	other.hears("re: GET a")
	one.say("EXPIRE a")
	l.until("the answer is there", func() bool {
		select {
		case <-reply.Reached():
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
	reply.GoOn()
	reply.GoOn()
	one.hears("re: EXPIRE a")
	one.talks()
}

// A link that is cut while an answer is kept back keeps it for itself.
func TestHoldReplyThenCut(t *testing.T) {
	l := newLab(t)
	c := l.dial("c1", "n1")
	reply := l.proxy.Requests("c1").HoldReply(1)
	c.say("GET a")
	<-reply.Reached()
	l.must(l.proxy.SetLinks([]world.Link{{From: "n1", To: "c1"}}, world.LinkState{Cut: true}))
	reply.GoOn()
	l.atGate(world.Link{From: "n1", To: "c1"}, len("re: GET a\n"))
	l.must(l.proxy.SetLinks([]world.Link{{From: "n1", To: "c1"}}, world.LinkState{}))
	c.hears("re: GET a")
}

// A waiter that gives up leaves nothing behind, and neither does a killed connection.
func TestHoldReplyGivenUp(t *testing.T) {
	l := newLab(t)
	c := l.dial("c1", "n1")
	reply := l.proxy.Requests("c1").HoldReply(2)
	c.say("GET a")
	c.hears("re: GET a")
	reply.GoOn()
	c.talks()
	reply = l.proxy.Requests("c1").HoldReply(1)
	c.say("GET b")
	<-reply.Reached()
	c.Close()
	reply.GoOn()
	l.until("the connection is gone", func() bool {
		l.proxy.mu.Lock()
		defer l.proxy.mu.Unlock()
		return len(l.proxy.conns) == 0
	})
}

// A lost answer never arrives, and the server has done what it was asked. The connection
// ends, and another one of the same client is not concerned.
func TestLoseReply(t *testing.T) {
	l := newLab(t)
	c, second := l.dial("c1", "n1"), l.dial("c1", "n1")
	second.talks()
	reply := l.proxy.Requests("c1").HoldReply(1)
	c.say("SET a")
	<-reply.Reached()
	reply.Lose(false)
	reply.GoOn()
	if err := c.ends(); errors.Is(err, io.EOF) {
		t.Errorf("the connection ended well: %v", err)
	}
	if !l.nodes["n1"].heard("SET a") {
		t.Error("the server was not asked")
	}
	second.talks()
	l.dial("c1", "n1").talks()
}

// In silence nothing arrives any more, not even the end that the server says, until the
// client hangs up; what it still asks is done.
func TestLoseReplyInSilence(t *testing.T) {
	l := newLab(t)
	c, second := l.dial("c1", "n1"), l.dial("c1", "n1")
	second.talks()
	reply := l.proxy.Requests("c1").HoldReply(1)
	c.say("SET a")
	<-reply.Reached()
	reply.Lose(true)
	reply.GoOn()
	c.say("GET a")
	l.until("the server received the request again", func() bool { return l.nodes["n1"].heard("GET a") })
	second.talks()
	l.must(c.Conn.(*net.TCPConn).CloseWrite())
	if heard, _ := io.ReadAll(c.r); len(heard) > 0 {
		t.Errorf("heard %q", heard)
	}
}
