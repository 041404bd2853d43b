package simredis

import (
	"context"
	"errors"
	"time"
)

// replicationTick is how often a node does what it does by the clock: a replica
// asks again for what it has lost, and tells how far it is.
const replicationTick = time.Second

// replication is the part of one node in replication. A master copies the state of every key that a
// command has written, in order, and a replica installs it.
//
//	replica  ── ask ──▶ master       everything from the beginning
//	         ◀─ whole ─
//	         ◀─ part ──              repeatedly; after a gap, or a part of another
//	         ── done ─▶              master, the replica asks again
//
// Copying state needs no second execution of scripts. As with a real server, an acknowledged write is
// only on the master until the copy has arrived.
type replication struct {
	following string // the master; empty: this node is one
	life      int    // of the master, new with each start and each promotion
	offset    int64  // how much was written, or applied
	online    bool   // of a replica: it has the whole and hears the parts
	source    int    // of a replica: the life of the master that it follows
	asked     time.Time
	replicas  map[string]*replica // of a master: those that hear it
	waiting   chan struct{}       // closed when a replica tells how far it is
	last      time.Time           // of a replica: when it heard of its master
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
	brokenOff struct{ life int }
)

// begin is the start of a node's process. Needs cluster.mu.
func (n *node) begin() {
	n.life++
	n.replicas, n.waiting, n.online, n.last = map[string]*replica{}, make(chan struct{}), false, time.Now()
}

// follow makes the node a replica of another; its own data stays until the whole of
// the other's arrives.
func (n *node) follow(master string) {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	n.following, n.online, n.replicas = master, false, map[string]*replica{}
	n.readonly.Store(true)
	n.ask()
}

// promote makes it a master.
func (n *node) promote() {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.following == "" {
		return
	}
	n.following, n.online = "", false
	n.life++
	n.replicas = map[string]*replica{}
	n.readonly.Store(false)
}

// ask asks the master for everything. Needs cluster.mu.
func (n *node) ask() {
	if master, err := n.cluster.node(n.following); err == nil {
		n.asked = time.Now()
		n.tell(&master.seat, askWhole{})
	}
}

// replicate sends what a command has written to the replicas and returns the offset
// after it. Called under exec, so in order.
func (n *node) replicate(entries []entry, published []string) int64 {
	c := n.cluster
	if !c.replicates() {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.following != "" {
		return n.offset
	}
	n.offset++
	n.spread(part{life: n.life, from: n.offset - 1, to: n.offset, entries: entries, published: published})
	return n.offset
}

// spread tells all replicas. Needs cluster.mu.
func (n *node) spread(talk any) {
	for _, r := range n.cluster.data {
		if n.replicas[r.Name] != nil {
			n.tell(&r.seat, talk)
		}
	}
}

// Ticks is how often a node does something by the clock.
func (n *node) Ticks() (least, most time.Duration) {
	if !n.cluster.replicates() {
		return 0, 0
	}
	return replicationTick, replicationTick
}

// Tick is what a node does once a second.
func (n *node) Tick() {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	master, err := c.node(n.following)
	switch {
	case n.following == "" || err != nil:
	case !n.online:
		n.ask()
	default:
		n.tell(&master.seat, doneTo{n.source, n.offset})
	}
}

// Hear is what another server tells this one.
func (n *node) Hear(who int, talk any) {
	from := n.cluster.seats[who]
	switch talk := talk.(type) {
	case ping:
		n.tellSentinel(from)
	case askWhole:
		n.sendWhole(from)
	case whole:
		n.takeWhole(from, talk)
	case part:
		n.takePart(from, talk)
	case doneTo:
		n.acked(from, talk)
	case brokenOff:
		n.cluster.mu.Lock()
		if n.following == from.Name && n.source == talk.life {
			n.online = false
		}
		n.cluster.mu.Unlock()
	case beMaster:
		n.promote()
	case beReplica:
		n.demote(talk.of)
	}
}

// sendWhole answers a replica that asks for everything.
func (n *node) sendWhole(to *seat) {
	n.exec.Lock() // no command may come between the copy and the offset
	defer n.exec.Unlock()
	m := n.redis.Load()
	if m == nil {
		return
	}
	n.setClock(m)
	all := dump(m, m.DB(0).Keys(), n.clock.Now())
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.following != "" {
		return
	}
	n.replicas[to.Name] = &replica{at: time.Now()}
	n.tell(to, whole{n.life, n.offset, all})
}

func (n *node) takeWhole(from *seat, w whole) {
	c := n.cluster
	c.mu.Lock()
	if n.following != from.Name {
		c.mu.Unlock()
		return
	}
	n.online, n.source, n.offset, n.last = true, w.life, w.offset, time.Now()
	n.tell(from, doneTo{w.life, w.offset})
	c.mu.Unlock()
	n.exec.Lock()
	defer n.exec.Unlock()
	if m := n.redis.Load(); m != nil {
		m.DB(0).FlushDB()
		n.load(w.all)
		n.flushed()
		n.push(m)
	}
}

func (n *node) takePart(from *seat, p part) {
	c := n.cluster
	c.mu.Lock()
	if n.following != from.Name || !n.online {
		c.mu.Unlock()
		return
	}
	if n.source != p.life || n.offset != p.from {
		// Something was lost on the way, or the master is not the one that it was.
		n.online = false
		n.ask()
		c.mu.Unlock()
		return
	}
	n.offset, n.last = p.to, time.Now()
	if p.answerSoon {
		n.tell(from, doneTo{p.life, p.to})
	}
	c.mu.Unlock()
	n.exec.Lock()
	defer n.exec.Unlock()
	n.load(p.entries)
	m := n.redis.Load()
	if m == nil {
		return
	}
	for _, e := range p.entries {
		n.invalidate(e.key)
	}
	n.push(m)
	if len(p.published) == 2 {
		m.Publish(p.published[0], p.published[1])
	}
}

// acked notes how far a replica is.
func (n *node) acked(from *seat, d doneTo) {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	r := n.replicas[from.Name]
	if r == nil || n.life != d.life {
		return
	}
	r.acked, r.at = max(r.acked, d.offset), time.Now()
	close(n.waiting)
	n.waiting = make(chan struct{})
}

// enoughReplicas is min-replicas-to-write: as many as asked for were heard of lately.
func (n *node) enoughReplicas() bool {
	c := n.cluster
	if c.settings.minReplicas == 0 || !c.replicates() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	good := 0
	for _, r := range n.replicas {
		if time.Since(r.at) <= c.settings.maxLag {
			good++
		}
	}
	return good >= c.settings.minReplicas
}

// drop ends the connections of all clients, as a server does that is demoted.
func (n *node) drop() { n.cluster.host.HangUp(n.index) }

// demote makes a master a replica, by order of a sentinel.
func (n *node) demote(master string) {
	c := n.cluster
	c.mu.Lock()
	was := n.following
	c.mu.Unlock()
	if was == master || master == n.Name {
		return
	}
	n.follow(master)
	if was == "" {
		n.drop()
	}
}

// Offsets returns how much each data node has written or applied.
func (c *cluster) Offsets(context.Context) map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	offsets := map[string]int64{}
	for _, n := range c.data {
		if n.running() {
			offsets[n.Name] = n.offset
		}
	}
	return offsets
}

// Nudge writes something to the master's stream that touches no key.
func (c *cluster) Nudge(_ context.Context, master string) error {
	n, err := c.node(master)
	if err != nil {
		return err
	}
	if !n.running() {
		return errors.New(master + " does not answer")
	}
	n.exec.Lock()
	defer n.exec.Unlock()
	n.replicate(nil, nil)
	return nil
}
