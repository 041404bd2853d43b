package simredis

import "time"

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
// master until the copy has arrived.
type replication struct {
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

// follow makes the node a replica of another node. It keeps its own data until all data of the other node arrives.
func (n *node) follow(master string) {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	n.following, n.online, n.replicas = master, false, map[string]*replica{}
	n.readonly.Store(true)
	n.ask()
}

// promote makes the node a master.
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

// ask requests all data from the master. The caller must hold cluster.mu.
func (n *node) ask() {
	n.tell(&n.cluster.node(n.following).seat, askWhole{})
}

// replicate sends the changes of a command to the replicas and returns the offset after them. The caller holds exec, so the
// changes are in order.
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

// spread sends a message to all replicas. The caller must hold cluster.mu.
func (n *node) spread(talk any) {
	for _, r := range n.cluster.data {
		if n.replicas[r.Name] != nil {
			n.tell(&r.seat, talk)
		}
	}
}

// Ticks returns the period of Tick.
func (n *node) Ticks() (least, most time.Duration) {
	if !n.cluster.replicates() {
		return 0, 0
	}
	return replicationTick, replicationTick
}

// Tick is called once a second.
func (n *node) Tick() {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case n.following == "":
	case !n.online:
		n.ask()
	default:
		n.tell(&c.node(n.following).seat, doneTo{n.source, n.offset})
	}
}

// Hear handles a message from another server.
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
		delete(n.replicas, from.Name)
		n.cluster.mu.Unlock()
	case beMaster:
		n.promote()
	case beReplica:
		n.demote(talk.of)
	}
}

// sendWhole sends all data to a replica.
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
	n.online, n.source, n.offset = true, w.life, w.offset
	n.tell(from, doneTo{w.life, w.offset})
	c.mu.Unlock()
	n.exec.Lock()
	defer n.exec.Unlock()
	if m := n.redis.Load(); m != nil {
		n.flush(m)
		m.DB(0).FlushDB()
		n.load(w.all)
		n.wrote(m)
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
		// A part was lost, or the master has changed.
		n.online = false
		n.ask()
		c.mu.Unlock()
		return
	}
	n.offset = p.to
	if p.answerSoon {
		n.tell(from, doneTo{p.life, p.to})
	}
	c.mu.Unlock()
	n.exec.Lock()
	defer n.exec.Unlock()
	m := n.redis.Load()
	if m == nil {
		return
	}
	n.flush(m)
	n.load(p.entries)
	n.wrote(m)
	for _, e := range p.entries {
		n.invalidate(e.key)
	}
	n.push(m)
	if len(p.published) == 2 {
		m.Publish(p.published[0], p.published[1])
	}
}

// acked records the offset of a replica.
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

// enoughReplicas implements min-replicas-to-write: it reports whether enough replicas have sent a message recently.
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

// demote makes a master a replica by the order of a sentinel, which ends the connections of all clients.
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
		c.host.HangUp(n.index)
	}
}
