package simredis

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
)

// replicationTick is the period in which a replica requests lost data again and reports its offset.
const replicationTick = time.Second

// replication is the part of one node in replication. A master copies the state of every key that a
// command has written, in order, and a replica installs it.
//
//	replica  ── ask ──▶ master       requests all data
//	         ◀─ whole ─
//	         ◀─ part ──              repeatedly; after a gap, or a part from another
//	         ── done ─▶              master, the replica requests all data again
//
// Because state is copied, replicas do not execute scripts. As with a real server, an acknowledged write is only on the
// master until the copy has arrived. cluster.mu guards all fields but readonly.
type replication struct {
	*seat
	readonly atomic.Bool // it follows another node and refuses writes

	following string              // the master; empty if this node is a master
	life      int                 // the number of the master's life, which changes with each start and promotion
	offset    int64               // the number of changes written or applied
	online    bool                // of a replica: it has all data and receives the parts
	source    int                 // of a replica: the life of the master that it follows
	replicas  map[string]*replica // of a master: its replicas
	waiting   chan struct{}       // closed when a replica reports its offset
	priority  int                 // of this node, as sentinels see it: they prefer the lowest
}

type replica struct {
	acked int64
	at    time.Time
}

// Messages between data nodes.
type (
	askWhole struct{}
	whole    struct {
		life   int
		offset int64
		all    []entry
	}
	part struct {
		life       int
		from, to   int64
		entries    []entry
		published  []string
		answerSoon bool
	}
	doneTo struct {
		life   int
		offset int64
	}
	// brokenOff is the end of the connection with a server whose process ended.
	brokenOff struct{ life int }
)

// begin is called when the process starts.
func (r *replication) begin() {
	c := r.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	r.life++
	r.replicas, r.waiting, r.online, r.priority = map[string]*replica{}, make(chan struct{}), false, 100
	if c.service != nil && r != &c.service.role {
		r.following = c.service.Name
	}
	if r.following != "" {
		r.readonly.Store(true)
		r.ask()
	}
}

// end is called when the process ends.
func (r *replication) end() {
	c := r.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	r.spread(brokenOff{r.life})
	if r.following != "" {
		r.tell(r.master(), brokenOff{r.life})
	}
}

// master returns the node that this one follows. The caller must hold cluster.mu.
func (r *replication) master() *seat { return &r.cluster.node(r.following).seat }

// follow makes the node a replica of another node. It keeps its own data until all data of the other node arrives.
func (r *replication) follow(master string) {
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	r.following, r.online, r.replicas = master, false, map[string]*replica{}
	r.readonly.Store(true)
	r.ask()
}

// demote makes a master a replica by the order of a sentinel, which ends the connections of all clients.
func (r *replication) demote(master string) {
	c := r.cluster
	c.mu.Lock()
	was := r.following
	c.mu.Unlock()
	if was == master || master == r.Name {
		return
	}
	r.follow(master)
	if was == "" {
		c.host.HangUp(r.index)
	}
}

// promote makes the node a master.
func (r *replication) promote() {
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	if r.following == "" {
		return
	}
	r.following, r.online = "", false
	r.life++
	r.replicas = map[string]*replica{}
	r.readonly.Store(false)
}

// ask requests all data from the master. The caller must hold cluster.mu.
func (r *replication) ask() { r.tell(r.master(), askWhole{}) }

// replicate sends the changes of a command to the replicas and returns the offset after them. The caller holds
// process.exec, so the changes are in order.
func (r *replication) replicate(entries []entry, published []string) int64 {
	c := r.cluster
	if !c.replicates() {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.following != "" {
		return r.offset
	}
	r.offset++
	r.spread(part{life: r.life, from: r.offset - 1, to: r.offset, entries: entries, published: published})
	return r.offset
}

// spread sends a message to all replicas. The caller must hold cluster.mu.
func (r *replication) spread(talk any) {
	for _, n := range r.cluster.data {
		if r.replicas[n.Name] != nil {
			r.tell(&n.seat, talk)
		}
	}
}

// tick is called once a second.
func (r *replication) tick() {
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	switch {
	case r.following == "":
	case !r.online:
		r.ask()
	default:
		r.tell(r.master(), doneTo{r.source, r.offset})
	}
}

// give sends all data to a replica.
func (r *replication) give(to *seat, all []entry) {
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	if r.following != "" {
		return
	}
	r.replicas[to.Name] = &replica{at: time.Now()}
	r.tell(to, whole{r.life, r.offset, all})
}

// takesWhole accepts all data, if they are the master's.
func (r *replication) takesWhole(from *seat, w whole) bool {
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	if r.following != from.Name {
		return false
	}
	r.online, r.source, r.offset = true, w.life, w.offset
	r.tell(from, doneTo{w.life, w.offset})
	return true
}

// takesPart accepts a part, if it is the next one from the master.
func (r *replication) takesPart(from *seat, p part) bool {
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	if r.following != from.Name || !r.online {
		return false
	}
	if r.source != p.life || r.offset != p.from {
		// A part was lost, or the master has changed.
		r.online = false
		r.ask()
		return false
	}
	r.offset = p.to
	if p.answerSoon {
		r.tell(from, doneTo{p.life, p.to})
	}
	return true
}

// acked records the offset of a replica.
func (r *replication) acked(from *seat, d doneTo) {
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	known := r.replicas[from.Name]
	if known == nil || r.life != d.life {
		return
	}
	known.acked, known.at = max(known.acked, d.offset), time.Now()
	close(r.waiting)
	r.waiting = make(chan struct{})
}

// broken is called when the connection with another node has ended.
func (r *replication) broken(from *seat, b brokenOff) {
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	if r.following == from.Name && r.source == b.life {
		r.online = false
	}
	delete(r.replicas, from.Name)
}

// enoughReplicas implements min-replicas-to-write: it reports whether enough replicas have sent a message recently.
func (r *replication) enoughReplicas() bool {
	c := r.cluster
	if c.settings.minReplicas == 0 || !c.replicates() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	good := 0
	for _, known := range r.replicas {
		if time.Since(known.at) <= c.settings.maxLag {
			good++
		}
	}
	return good >= c.settings.minReplicas
}

// sighting answers the ping of a sentinel.
func (r *replication) sighting() sighting {
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	return sighting{following: r.following, online: r.online, offset: r.offset, priority: r.priority}
}

// answer returns the answer to ROLE.
func (r *replication) answer() string {
	c := r.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.following == "" {
		var replicas []string
		for _, n := range c.data {
			if at, ok := r.replicas[n.Name]; ok {
				host, port, _ := strings.Cut(n.addr, ":")
				replicas = append(replicas, proto.Strings(host, port, fmt.Sprint(at.acked)))
			}
		}
		return proto.Array(proto.String("master"), proto.Int(int(r.offset)), proto.Array(replicas...))
	}
	state := "connect"
	master := c.node(r.following)
	if r.online && r.source == master.role.life {
		state = "connected"
	}
	host, _, _ := strings.Cut(master.addr, ":")
	return proto.Array(proto.String("slave"), proto.String(host), proto.Int(dataPort), proto.String(state), proto.Int(int(r.offset)))
}

// info returns the fields of INFO about replication that clients read.
func (r *replication) info() string {
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	role := "master"
	if r.following != "" {
		role = "slave"
	}
	return fmt.Sprintf("# Replication\r\nrole:%s\r\nconnected_slaves:%d\r\n", role, len(r.replicas))
}
