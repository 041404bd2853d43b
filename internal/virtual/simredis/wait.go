package simredis

import (
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
)

// wait executes a command that may wait for other clients, or leaves it to miniredis. It holds no mutex during the wait.
func (c *call) wait() (done bool) {
	switch {
	case c.name == "WAIT":
		c.peer.WriteRaw(c.node.role.wait(c.session.wrote, c.args[0], c.args[1]))
	case c.node.role.readonly.Load():
		c.peer.WriteError(readonlyText)
	case c.node.cluster.replicates():
		c.refuse(c.name + " where there are replicas")
	case c.readers.used.Load():
		c.refuse(c.name + " where connections cache")
	default:
		return false
	}
	return true
}

// wait executes WAIT for a connection that has written up to an offset.
func (r *replication) wait(offset int64, replicas, timeout string) (reply string) {
	want, err1 := strconv.Atoi(replicas)
	millis, err2 := strconv.Atoi(timeout)
	if err1 != nil || err2 != nil {
		return proto.Error("ERR value is not an integer or out of range")
	}
	var limit <-chan time.Time
	if millis > 0 {
		limit = time.After(time.Duration(millis) * time.Millisecond)
	}
	c := r.cluster
	c.mu.Lock()
	if r.following != "" {
		c.mu.Unlock()
		return proto.Error("ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated.")
	}
	if len(r.replicas) > 0 {
		r.offset++
		r.spread(part{life: r.life, from: r.offset - 1, to: r.offset, answerSoon: true})
	}
	for {
		have := 0
		for _, known := range r.replicas {
			if known.acked >= offset {
				have++
			}
		}
		waiting := r.waiting
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
			return proto.Int(have)
		}
		c.mu.Lock()
	}
}
