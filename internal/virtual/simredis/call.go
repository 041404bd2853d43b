package simredis

import (
	"fmt"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// call is a command of a connection in execution. Before miniredis executes it, the call checks whether the command is
// covered and may write. Afterwards it sends the changes to the replicas.
//
//	connection ─▶ hook ─▶ call.run ─▶ miniredis ─▶ hook (once more, lets it pass)
//	                         │            └─ script ─▶ hook ─▶ process.called
//	                         └─ replication, before the reply leaves
type call struct {
	*process
	peer    *server.Peer
	session *session
	name    string
	args    []string
}

const (
	readonlyText    = "READONLY You can't write against a read only replica."
	fewReplicasText = "NOREPLICAS Not enough good replicas to write."
)

// words returns the whole command.
func (c *call) words() []string { return append([]string{c.name}, c.args...) }

// misused answers an unknown command or a wrong number of arguments.
func (c *call) misused() bool {
	words := c.words()
	if serverTable()[strings.ToLower(c.name)] == nil {
		words[0] = c.session.caller.written(c.name)
	}
	text, wrong := serverTable().misused(words, c.session.multi)
	switch {
	case !wrong:
		return false
	case c.session.multi && c.name != "EXEC":
		c.spoil(text)
		return true
	case c.session.multi:
		c.aside(c.peer, "DISCARD")
		c.session.multi, c.session.commands = false, nil
	}
	c.peer.WriteError(text)
	return true
}

// run executes the command and sends the changes to the replicas before the reply. The caller must hold exec.
func (c *call) run() {
	known, text, ok := checked(c.name, c.args)
	if !ok {
		c.refuse(c.name)
		return
	}
	if !c.session.control && c.node.cluster.unknownScript(c.name, c.args) {
		c.node.cluster.host.Fault("%s received a script that was never compared with a real server: %.120q; "+
			"add it to the file conformance.txt next to it (docs/contributing/lock.md), then run go test ./internal/virtual/simredis -run Conformance -args -update", c.node.Name, c.args)
		c.peer.WriteError("ERR the simulation does not know this script")
		return
	}
	if c.session.multi && !endsTransaction(c.name) {
		c.queue(known, text)
		return
	}
	switch {
	case text != "":
	case known.write && c.node.role.readonly.Load():
		text = readonlyText
	case known.write && !c.node.role.enoughReplicas():
		text = fewReplicasText
	}
	switch {
	case text != "":
		c.peer.WriteError(text)
	case known.answer != nil:
		known.answer(c)
	default:
		c.execute(known)
	}
}

// execute lets miniredis execute the command, or a shortcut, and sends the changes to the disk and the replicas. The caller
// must hold exec.
func (c *call) execute(known command) {
	c.keys.setClock()
	c.node.disk.flush(c.keys)
	c.dirty = c.dirty[:0]
	if c.name == "FLUSHALL" {
		c.dirty = append(c.dirty, c.keys.db().Keys()...)
	}
	if c.readers.asking != nil || !c.withoutLua() {
		c.scripts.learn(c.name, c.args)
		c.dispatch()
	}
	if known.write {
		c.dirty = append(c.dirty, known.keys(c.args)...)
	}
	c.transacted()
	switch {
	case len(c.dirty) > 0:
		c.node.disk.wrote(c.keys)
		c.session.wrote = c.node.role.replicate(c.keys.dump(c.dirty), nil)
	case c.name == "PUBLISH" && len(c.args) == 2:
		c.node.role.replicate(nil, c.args)
	}
}

// dispatch lets miniredis execute the command.
func (c *call) dispatch() {
	if isScript(c.name) {
		c.dispatchScript()
		return
	}
	c.session.inside = true
	c.keys.redis.Server().Dispatch(c.peer, c.words())
	c.session.inside = false
}

// refuse refuses a command that is not covered, and reports it; see [covered].
func (c *call) refuse(what string) { c.process.refuse(c.peer, what, c.args) }

// answerTTL answers TTL. A real server rounds to the nearest second.
func answerTTL(c *call) {
	ttl := c.keys.db().TTL(c.args[0])
	switch {
	case !c.keys.db().Exists(c.args[0]):
		c.peer.WriteInt(-2)
	case ttl <= 0:
		c.peer.WriteInt(-1)
	default:
		c.peer.WriteInt(int((ttl + time.Second/2) / time.Second))
	}
}

// answerListing answers COMMAND.
func answerListing(c *call) {
	if len(c.args) == 0 {
		c.peer.WriteRaw(listing(serverText, c.peer.Resp3))
		return
	}
	c.peer.WriteInt(len(serverTable())) // COUNT
}

func noCluster(c *call) {
	c.peer.WriteError("ERR This instance has cluster support disabled")
}

// answerGreeting answers a greeting that comes late or together with other commands.
func answerGreeting(c *call) {
	who := c.session.caller
	who.mu.Lock()
	reply, known := who.greet(c.node.standing(), c.words())
	c.peer.Resp3 = who.resp3
	who.mu.Unlock()
	c.readers.note(who)
	if !known {
		c.refuse(c.name)
		return
	}
	c.peer.WriteRaw(reply)
}

// refused ends the run: see [covered].
func (c *cluster) refused(server, what string) {
	c.host.Fault("%s received a command that was never compared with a real server: %.120q; run the lock on real servers, with --world local, "+
		"or add the command to the conformance file and to the covered commands of lockbench", server, what)
}

// refuse refuses a command that is not covered, and reports it; see [covered].
func (p *process) refuse(peer *server.Peer, name string, args []string) {
	p.node.cluster.refused(p.node.Name, strings.TrimSpace(name+" "+strings.Join(args[:min(len(args), 4)], " ")))
	peer.WriteError(fmt.Sprintf("ERR the simulation does not cover the command %s", name))
}
