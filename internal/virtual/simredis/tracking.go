package simredis

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/proto"
	"github.com/alicebob/miniredis/v2/server"
)

// This file implements client-side caching: a server stores which connections have read a key, and sends its name to each of
// them once when the key changes or disappears.

// activeExpiry is the period in which a server searches for expired keys, as with hz 10.
const activeExpiry = 100 * time.Millisecond

// tracking is the state of a connection after CLIENT TRACKING and CLIENT CACHING.
type tracking struct {
	on, optIn, optOut, noLoop bool
	caching                   bool // CLIENT CACHING applies to the next command or transaction
}

// remembers reports whether the keys of a reading command are stored.
func (t tracking) remembers() bool {
	return t.on && !(t.optIn && !t.caching) && !(t.optOut && t.caching)
}

// track answers CLIENT TRACKING. It does not support pushes to other connections (REDIRECT) and by prefix (BCAST).
func (c *caller) track(option string, options []string) (reply string, known bool) {
	asked := tracking{on: true, caching: c.tracking.caching}
	for _, o := range options {
		switch strings.ToUpper(o) {
		case "OPTIN":
			asked.optIn = true
		case "OPTOUT":
			asked.optOut = true
		case "NOLOOP":
			asked.noLoop = true
		case "BCAST", "REDIRECT", "PREFIX":
			return "", false
		default:
			return proto.Error(syntaxError), true
		}
	}
	before := c.tracking
	switch {
	case option == "OFF":
		c.tracking = tracking{}
		return okay, true
	case option != "ON":
		return proto.Error(syntaxError), true
	case asked.optIn && asked.optOut:
		return proto.Error("ERR You can't specify both OPTIN mode and OPTOUT mode"), true
	case asked.optIn && before.optOut, asked.optOut && before.optIn:
		return proto.Error("ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode."), true
	}
	c.tracking = asked
	return okay, true
}

// cache answers CLIENT CACHING.
func (c *caller) cache(option string) string {
	t := &c.tracking
	switch {
	case !t.on:
		return proto.Error("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
	case option == "YES" && !t.optIn:
		return proto.Error("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
	case option == "NO" && !t.optOut:
		return proto.Error("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
	case option != "YES" && option != "NO":
		return proto.Error(syntaxError)
	}
	t.caching = true
	return okay
}

// tracks returns the tracking state and the protocol version of the connection.
func (c *caller) tracks() (t tracking, resp3 bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tracking, c.resp3
}

// commandDone ends the effect of CLIENT CACHING.
func (c *caller) commandDone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tracking.caching = false
}

// readers are the connections that have read keys. exec guards all fields.
type readers struct {
	of    map[string]map[int]bool // by key: the numbers of the callers
	there map[string]bool         // the keys of them that exist, or existed until they expired
	// the connection whose command runs, if any
	asking  *session
	pending map[*session]string // pushes of the running command
	// declared are the keys of the running script. A server of this version stores all of them, whichever of them the
	// script reads.
	declared []string
	cycle    bool      // the next search for expired keys is scheduled
	began    time.Time // those looks
}

func newReaders() readers {
	return readers{began: time.Now(), of: map[string]map[int]bool{}, there: map[string]bool{}, pending: map[*session]string{}}
}

// note records after a greeting whether the client caches from now on.
func (n *node) note(c *caller) {
	if t, _ := c.tracks(); t.on {
		n.cached.Store(true)
	}
}

// tracker is a connection with tracking.
type tracker struct {
	peer *server.Peer
	*session
}

// trackers returns all trackers in the order of their numbers.
func (n *node) trackers() (all []tracker) {
	n.peers.Range(func(p, of any) bool {
		s := of.(*session)
		if s.caller != nil {
			if t, _ := s.caller.tracks(); t.on {
				all = append(all, tracker{p.(*server.Peer), s})
			}
		}
		return true
	})
	slices.SortFunc(all, func(a, b tracker) int { return cmp.Compare(a.caller.id, b.caller.id) })
	return all
}

// runTracked is run for nodes with a caching connection. The caller must hold exec.
func (n *node) runTracked(p *server.Peer, s *session, name string, args []string) (done bool) {
	m := n.redis.Load()
	if m == nil {
		return n.run(p, s, name, args)
	}
	if _, resp3 := s.caller.tracks(); p.Resp3 != resp3 {
		p.Resp3 = resp3 // a greeting that was answered at once has set it
	}
	commands := [][]string{append([]string{name}, args...)}
	switch {
	case name == "EXEC":
		commands = s.commands
	case s.multi:
		return n.run(p, s, name, args)
	}
	for _, c := range commands {
		if name == "EXEC" && unordered[c[0]] {
			return n.refuse(p, c[0]+" in a transaction where connections cache", c[1:])
		}
	}
	n.readers.asking = s
	n.setClock(m)
	existed := map[string]bool{}
	for _, c := range commands {
		keys := keysOf(c)
		n.pushExpired(m, keys)
		for _, key := range keys {
			existed[key] = m.DB(0).Exists(key)
		}
	}
	if covered()[name].write || name == "EXEC" {
		said := n.ran(p, s, name, args)
		p.WriteRaw(said)
		answers := []string{said}
		if name == "EXEC" {
			answers, _ = proto.ReadArray(said) // nil if the transaction failed
		}
		for i := range min(len(answers), len(commands)) {
			n.observe(s, commands[i], answers[i], existed)
		}
	} else {
		if isScript(name) {
			n.readers.declared = keysOf(commands[0])
		}
		n.run(p, s, name, args)
		n.readers.declared = nil
		n.observe(s, commands[0], "", existed)
	}
	n.push(m)
	n.readers.asking = nil
	return true
}

// unordered are commands of which the simulation does not know the position among the reads and writes of a transaction, or
// the connection.
var unordered = map[string]bool{"EVAL": true, "EVALSHA": true, "SUBSCRIBE": true, "PSUBSCRIBE": true, "UNSUBSCRIBE": true, "PUNSUBSCRIBE": true}

func isScript(name string) bool { return name == "EVAL" || name == "EVALSHA" }

// ran executes a command and returns its answer.
func (n *node) ran(p *server.Peer, s *session, name string, args []string) string {
	return n.captured(p, func(aside *server.Peer) { n.run(aside, s, name, args) })
}

// keysOf returns the keys of a command.
func keysOf(command []string) []string {
	name, args := command[0], command[1:]
	if !isScript(name) {
		return covered()[name].keys(args)
	}
	if len(args) < 2 {
		return nil
	}
	count, _ := strconv.Atoi(args[1]) // a number, because the command was checked
	return args[2:min(2+max(count, 0), len(args))]
}

// observe records the reads and writes of a command. existed has the keys that existed before, and observe updates it. The
// caller must hold exec.
func (n *node) observe(s *session, command []string, said string, existed map[string]bool) {
	name := command[0]
	switch {
	case reads(command):
		n.remember(s, keysOf(command))
	case !covered()[name].write:
	case name == "FLUSHALL":
		n.flushed()
		clear(existed)
	default:
		for _, key := range modified(name, command[1:], said, existed) {
			n.invalidate(key)
			existed[key] = !deletes[name]
		}
	}
}

// reads reports whether a server considers a command a read.
func reads(command []string) bool {
	e := serverTable().find(command)
	return e != nil && e.is("readonly")
}

// remember records that a connection has read keys. The caller must hold exec.
func (n *node) remember(s *session, keys []string) {
	if t, _ := s.caller.tracks(); !t.remembers() {
		return
	}
	for _, key := range keys {
		if n.readers.of[key] == nil {
			n.readers.of[key] = map[int]bool{}
		}
		n.readers.of[key][s.caller.id] = true
	}
}

// invalidate queues messages for the connections that have read a changed key, and removes these connections. push sends the
// messages. The caller must hold exec.
func (n *node) invalidate(key string) {
	who := n.readers.of[key]
	if who == nil {
		return
	}
	delete(n.readers.of, key)
	delete(n.readers.there, key)
	for _, t := range n.trackers() {
		said, resp3 := t.caller.tracks()
		if who[t.caller.id] && resp3 && !(said.noLoop && t.session == n.readers.asking) {
			n.readers.pending[t.session] += invalidated(proto.Strings(key))
		}
	}
}

// flushed queues a message for every tracking connection, including the one that flushed. The caller must hold exec.
func (n *node) flushed() {
	clear(n.readers.of)
	clear(n.readers.there)
	for _, t := range n.trackers() {
		if _, resp3 := t.caller.tracks(); resp3 {
			n.readers.pending[t.session] += invalidated(proto.NilResp3)
		}
	}
}

func invalidated(keys string) string { return proto.Push(proto.String("invalidate"), keys) }

// push sends the queued messages: to the connection of the command after its reply, to all others at once. The caller must
// hold exec.
func (n *node) push(m *miniredis.Miniredis) {
	for _, t := range n.trackers() {
		said := n.readers.pending[t.session]
		if said == "" {
			continue
		}
		t.peer.WriteRaw(said)
		if t.session != n.readers.asking {
			t.peer.Flush()
		}
	}
	clear(n.readers.pending)
	for key := range n.readers.of {
		if !n.readers.there[key] && m.DB(0).Exists(key) {
			n.readers.there[key] = true
		}
	}
	if n.readers.cycle || len(n.readers.there) == 0 {
		return
	}
	n.readers.cycle = true
	n.cluster.host.After(n.index, activeExpiry-time.Since(n.readers.began)%activeExpiry, func() { n.expireActively(m) })
}

// expireActively searches for expired keys, like a server.
func (n *node) expireActively(m *miniredis.Miniredis) {
	n.exec.Lock()
	defer n.exec.Unlock()
	if n.redis.Load() != m {
		return // the process has been restarted
	}
	n.readers.cycle = false
	n.setClock(m)
	n.pushExpired(m, slices.Sorted(maps.Keys(n.readers.there)))
	n.push(m)
}

// pushExpired sends messages for expired keys. A server finds them only by its search. The caller must hold exec.
func (n *node) pushExpired(m *miniredis.Miniredis, keys []string) {
	for _, key := range keys {
		if n.readers.there[key] && !m.DB(0).Exists(key) {
			n.invalidate(key)
		}
	}
}

// calledTracked executes a command that a script calls on a node with a caching connection. It executes writes itself to
// see their changes.
func (n *node) calledTracked(m *miniredis.Miniredis, p *server.Peer, name string, args []string) (done bool) {
	command := append([]string{name}, args...)
	if !covered()[name].write {
		if reads(command) {
			n.remember(n.readers.asking, n.readers.declared)
		}
		return false
	}
	existed := map[string]bool{}
	for _, key := range keysOf(command) {
		existed[key] = n.aside(m, p, []string{"EXISTS", key}) == proto.Int(1)
	}
	said := n.aside(m, p, command)
	p.WriteRaw(said)
	n.observe(n.readers.asking, command, said, existed)
	return true
}

// deletes are the commands that delete their key.
var deletes = map[string]bool{"DEL": true, "UNLINK": true, "GETDEL": true}

// modified returns the keys that a command has changed according to its answer, in the order in which a server reports
// them.
func modified(name string, args []string, said string, existed map[string]bool) []string {
	keys := covered()[name].keys(args)
	nothing := slices.Contains([]string{proto.Int(0), proto.Nil, proto.NilResp3, proto.NilList, proto.Array()}, said)
	switch {
	case strings.HasPrefix(said, "-"):
		return nil
	case name == "SET":
		return setKey(args, nothing)
	case name == "DEL", name == "UNLINK", name == "LTRIM":
		return slices.DeleteFunc(keys, func(key string) bool { return !existed[key] })
	case name == "RENAME" && args[0] == args[1]:
		return nil
	case name == "RPOPLPUSH" && !nothing:
		return []string{args[1], args[0]}
	case nothing && !changesAlways[name]:
		return nil
	}
	return keys
}

// setKey returns the key of SET if it was set. With GET, the answer is the previous value.
func setKey(args []string, nothing bool) []string {
	has := func(option string) bool {
		return slices.ContainsFunc(args[2:], func(arg string) bool { return strings.EqualFold(arg, option) })
	}
	set := !nothing
	if has("GET") {
		set = !(has("NX") && !nothing || has("XX") && nothing)
	}
	if !set {
		return nil
	}
	return args[:1]
}

// changesAlways are the commands that change their key unless they fail, whatever they answer.
var changesAlways = map[string]bool{"DECR": true, "DECRBY": true, "INCR": true, "INCRBY": true, "GETSET": true,
	"HINCRBY": true, "HSET": true, "ZADD": true, "ZINCRBY": true}
