package simredis

import (
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// wait executes a command that may wait for other clients. It holds no mutex during the wait.
func (n *node) wait(p *server.Peer, s *session, name string, args []string) (done bool) {
	if name != "WAIT" {
		if n.readonly.Load() {
			p.WriteError(readonlyText)
			return true
		}
		if n.cluster.replicates() {
			return n.refuse(p, name+" where there are replicas", args)
		}
		if n.cached.Load() {
			return n.refuse(p, name+" where connections cache", args)
		}
		return false
	}
	want, err1 := strconv.Atoi(args[0])
	millis, err2 := strconv.Atoi(args[1])
	if err1 != nil || err2 != nil {
		p.WriteError("ERR value is not an integer or out of range")
		return true
	}
	offset := s.wrote
	var limit <-chan time.Time
	if millis > 0 {
		limit = time.After(time.Duration(millis) * time.Millisecond)
	}
	c := n.cluster
	c.mu.Lock()
	if n.following != "" {
		c.mu.Unlock()
		p.WriteError("ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated.")
		return true
	}
	if len(n.replicas) > 0 {
		n.offset++
		n.spread(part{life: n.life, from: n.offset - 1, to: n.offset, answerSoon: true})
	}
	for {
		have := 0
		for _, r := range n.replicas {
			if r.acked >= offset {
				have++
			}
		}
		waiting := n.waiting
		c.mu.Unlock()
		over := have >= want
		if !over {
			select {
			case <-waiting:
			case <-limit:
				over = true
			case <-c.host.Done():
				over = true
			}
		}
		if over {
			p.WriteInt(have)
			return true
		}
		c.mu.Lock()
	}
}
