package simredis

import (
	"bufio"
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/proto"
	"github.com/alicebob/miniredis/v2/server"
)

// This file executes the commands of a node. Before miniredis executes a command, the node checks whether the command is
// covered and may write. Afterwards it sends the changes to the replicas.
//
//	connection ─▶ hook ─▶ run ─▶ miniredis ─▶ hook (once more, lets it pass)
//	                       │         └─ script ─▶ hook ─▶ called
//	                       └─ replicate, before the reply leaves

// hook gets every command before the server executes it: commands of connections, and commands that scripts call. For the
// latter, the server's own lock is held, so hook must not call the server.
func (n *node) hook(p *server.Peer, name string, args ...string) (done bool) {
	s := n.session(p)
	switch {
	case s == nil && p.Ctx == nil: // the first command comes without miniredis's context
		n.introduce(p, args)
		return true
	case s == nil:
		return n.called(p, name, args)
	case s.inside:
		return false
	}
	if heard := n.cluster.heard; heard != nil {
		heard(name, args)
	}
	defer func() {
		if name != "CLIENT" && !s.multi {
			s.caller.commandDone()
		}
	}()
	if n.misused(p, s, name, args) {
		return true
	}
	if covered()[name].blocks && !s.multi {
		return n.wait(p, s, name, args)
	}
	n.exec.Lock()
	defer n.exec.Unlock()
	if n.cached.Load() {
		return n.runTracked(p, s, name, args)
	}
	return n.run(p, s, name, args)
}

// misused answers an unknown command or a wrong number of arguments.
func (n *node) misused(p *server.Peer, s *session, name string, args []string) bool {
	said := name
	if serverTable()[strings.ToLower(name)] == nil {
		said = s.caller.written(name)
	}
	text, wrong := serverTable().misused(append([]string{said}, args...), s.multi)
	if !wrong {
		return false
	}
	m := n.redis.Load()
	switch {
	case m == nil || !s.multi:
	case name == "EXEC":
		n.aside(m, p, []string{"DISCARD"})
		s.multi, s.commands = false, nil
	default:
		return n.spoil(m, p, text)
	}
	p.WriteError(text)
	return true
}

// spoil refuses a command, and makes the EXEC of its transaction fail by a command that miniredis refuses.
func (n *node) spoil(m *miniredis.Miniredis, p *server.Peer, text string) bool {
	n.aside(m, p, []string{"GET"})
	p.WriteError(text)
	return true
}

// aside lets the server execute a command for a peer and returns the answer.
func (n *node) aside(m *miniredis.Miniredis, p *server.Peer, command []string) string {
	return n.captured(p, func(aside *server.Peer) { m.Server().Dispatch(aside, command) })
}

// captured calls a function with a stand-in for a peer and returns the output.
func (n *node) captured(p *server.Peer, say func(aside *server.Peer)) string {
	var said bytes.Buffer
	buffered := bufio.NewWriter(&said)
	aside := server.NewPeer(buffered)
	aside.Ctx, aside.Resp3 = p.Ctx, p.Resp3
	n.peers.Store(aside, &session{inside: true})
	say(aside)
	n.peers.Delete(aside)
	p.Ctx = aside.Ctx
	_ = buffered.Flush() // into memory
	return said.String()
}

// session returns the session of a connection, or nil for its introduction and for a command of a script.
func (n *node) session(p *server.Peer) *session {
	s, _ := n.peers.Load(p)
	known, _ := s.(*session)
	return known
}

// called executes a command that a script calls. The goroutine of the script holds exec.
func (n *node) called(p *server.Peer, name string, args []string) (done bool) {
	if text := serverTable().misusedInScript(append([]string{name}, args...)); text != "" {
		p.WriteError(text)
		return true
	}
	known, text, ok := check(name, args)
	switch {
	case !ok:
		return n.refuse(p, name, args)
	case name == "TTL":
		return n.refuse(p, "TTL in a script", args) // it would round in another way
	case text == "" && known.write && n.readonly.Load():
		text = readonlyText
	}
	if text != "" {
		p.WriteError(text)
		return true
	}
	if known.write {
		n.dirty = append(n.dirty, known.keys(args)...)
	}
	if n.readers.asking != nil {
		return n.calledTracked(n.redis.Load(), p, name, args)
	}
	return false
}

const (
	readonlyText    = "READONLY You can't write against a read only replica."
	fewReplicasText = "NOREPLICAS Not enough good replicas to write."
)

// run executes a command of a connection and sends the changes to the replicas before the reply. The caller must hold exec.
func (n *node) run(p *server.Peer, s *session, name string, args []string) (done bool) {
	m := n.redis.Load()
	if m == nil {
		p.Close()
		return true
	}
	known, text, ok := check(name, args)
	if !ok {
		return n.refuse(p, name, args)
	}
	if !s.control && n.cluster.unknownScript(name, args) {
		n.cluster.host.Fault("%s received a script that was never compared with a real server: %.120q; "+
			"add it to the file conformance.txt next to it (docs/contributing/lock.md), then run go test ./internal/virtual/simredis -run Conformance -args -update", n.Name, args)
		p.WriteError("ERR the simulation does not know this script")
		return true
	}
	if s.multi && !endsTransaction(name) {
		return n.queue(m, p, s, name, args)
	}
	switch {
	case text != "":
	case known.write && n.readonly.Load():
		text = readonlyText
	case known.write && !n.enoughReplicas():
		text = fewReplicasText
	}
	if text != "" {
		p.WriteError(text)
		return true
	}
	if n.answer(m, p, s, name, args) {
		return true
	}
	n.setClock(m)
	n.flush(m)
	n.dirty = n.dirty[:0]
	if name == "FLUSHALL" {
		n.dirty = append(n.dirty, m.DB(0).Keys()...)
	}
	if n.readers.asking != nil || !n.withoutLua(m, p, name, args) {
		n.learn(name, args)
		n.dispatch(m, p, s, name, args)
	}
	switch {
	case name == "MULTI":
		s.multi, s.commands = true, nil
	case name == "EXEC":
		for _, c := range s.commands {
			if queued := covered()[c[0]]; queued.write {
				n.dirty = append(n.dirty, queued.keys(c[1:])...)
			}
		}
		s.multi, s.commands = false, nil
	case name == "DISCARD":
		s.multi, s.commands = false, nil
	case known.write:
		n.dirty = append(n.dirty, known.keys(args)...)
	}
	switch {
	case len(n.dirty) > 0:
		n.wrote(m)
		s.wrote = n.replicate(dump(m, n.dirty, n.clock.Now()), nil)
	case name == "PUBLISH" && len(args) == 2:
		n.replicate(nil, args)
	}
	return true
}

// endsTransaction reports whether a command is executed at once within a transaction.
func endsTransaction(name string) bool { return name == "EXEC" || name == "DISCARD" }

// queue adds a command to a transaction. The caller must hold exec.
func (n *node) queue(m *miniredis.Miniredis, p *server.Peer, s *session, name string, args []string) (done bool) {
	known, text, _ := check(name, args)
	switch {
	case name == "WATCH":
		p.WriteError("ERR WATCH inside MULTI is not allowed")
		return true
	case name == "MULTI":
		p.WriteError("ERR MULTI calls can not be nested")
		return true
	case known.write && n.readonly.Load():
		return n.spoil(m, p, readonlyText)
	case known.write && !n.enoughReplicas():
		return n.spoil(m, p, fewReplicasText)
	case known.blocks:
		return n.refuse(p, name+" in a transaction", args)
	}
	n.learn(name, args)
	// A real server checks the arguments when it executes the command, and executes the other commands even if this one
	// fails. miniredis checks them now and fails the transaction.
	said := n.aside(m, p, append([]string{name}, args...))
	if said != "+QUEUED\r\n" || text != "" || answered[name] {
		return n.refuse(p, name+" in a transaction", args)
	}
	s.commands = append(s.commands, append([]string{name}, args...))
	p.WriteRaw(said)
	return true
}

// answered are the commands that [node.answer] answers.
var answered = map[string]bool{"ASKING": true, "CLIENT": true, "CLUSTER": true, "COMMAND": true, "HELLO": true, "INFO": true,
	"READONLY": true, "READWRITE": true, "ROLE": true, "TTL": true}

// dispatch lets the server execute a command.
func (n *node) dispatch(m *miniredis.Miniredis, p *server.Peer, s *session, name string, args []string) {
	command := append([]string{name}, args...)
	if name != "EVAL" && name != "EVALSHA" {
		s.inside = true
		m.Server().Dispatch(p, command)
		s.inside = false
		return
	}
	// Libraries look at the first word of a script's error, which must be that of a real server.
	said := n.aside(m, p, command)
	failed := scriptFailed.FindStringSubmatch(said)
	if failed == nil {
		p.WriteRaw(said)
		return
	}
	if name == "EVAL" {
		// The server knows a script that was parsed, even if its execution failed.
		n.aside(m, p, []string{"SCRIPT", "LOAD", args[0]})
	}
	p.WriteRaw(scriptError(failed[1], failed[2], name, args))
}

var (
	scriptFailed = regexp.MustCompile(`^-ERR Error compiling script \(new function\): :(\d+): (.*?) stack traceback`)
	errorCode    = regexp.MustCompile(`^[A-Z]+ `)
)

// scriptError formats the error of a script, or of a command in it, like a real server.
func scriptError(line, text, name string, args []string) string {
	sha := args[0]
	if name == "EVAL" {
		sha = digest(args[0])
	}
	if !errorCode.MatchString(text) {
		text = fmt.Sprintf("ERR user_script:%s: %s", line, text)
	}
	return fmt.Sprintf("-%s script: %s, on @user_script:%s.\r\n", text, sha, line)
}

// answer answers commands that miniredis lacks or answers differently from a real server.
func (n *node) answer(m *miniredis.Miniredis, p *server.Peer, s *session, name string, args []string) bool {
	switch name {
	case "TTL":
		// A real server rounds to the nearest second.
		ttl := m.DB(0).TTL(args[0])
		switch {
		case !m.DB(0).Exists(args[0]):
			p.WriteInt(-2)
		case ttl <= 0:
			p.WriteInt(-1)
		default:
			p.WriteInt(int((ttl + time.Second/2) / time.Second))
		}
	case "ROLE":
		n.role(p)
	case "HELLO", "CLIENT":
		n.greets(p, s, name, args)
	case "COMMAND":
		if len(args) == 0 {
			p.WriteRaw(listing(serverText, p.Resp3))
			break
		}
		p.WriteInt(len(serverTable())) // COUNT
	case "CLUSTER", "READONLY", "READWRITE", "ASKING":
		p.WriteError("ERR This instance has cluster support disabled")
	case "INFO":
		p.WriteBulk(n.info())
	default:
		return false
	}
	return true
}

// greets answers a greeting that comes late or together with other commands.
func (n *node) greets(p *server.Peer, s *session, name string, args []string) {
	s.caller.mu.Lock()
	reply, known := s.caller.greet(n.standing(), append([]string{name}, args...))
	p.Resp3 = s.caller.resp3
	s.caller.mu.Unlock()
	n.note(s.caller)
	if !known {
		n.refuse(p, name, args)
		return
	}
	p.WriteRaw(reply)
}

// role answers ROLE.
func (n *node) role(p *server.Peer) {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.following == "" {
		var replicas []string
		for _, r := range c.data {
			if at, ok := n.replicas[r.Name]; ok {
				host, port, _ := strings.Cut(r.addr, ":")
				replicas = append(replicas, proto.Strings(host, port, fmt.Sprint(at.acked)))
			}
		}
		p.WriteRaw(proto.Array(proto.String("master"), proto.Int(int(n.offset)), proto.Array(replicas...)))
		return
	}
	state := "connect"
	master := c.node(n.following)
	if n.online && n.source == master.life {
		state = "connected"
	}
	host, _, _ := strings.Cut(master.addr, ":")
	p.WriteRaw(proto.Array(proto.String("slave"), proto.String(host), proto.Int(dataPort), proto.String(state), proto.Int(int(n.offset))))
}

// info returns the fields of INFO about replication that clients read.
func (n *node) info() string {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	role := "master"
	if n.following != "" {
		role = "slave"
	}
	return fmt.Sprintf("# Replication\r\nrole:%s\r\nconnected_slaves:%d\r\n", role, len(n.replicas))
}

// refuse refuses a command that is not covered, and reports it; see [covered].
func (n *node) refuse(p *server.Peer, name string, args []string) bool {
	n.cluster.refused(n.Name, strings.TrimSpace(name+" "+strings.Join(args[:min(len(args), 4)], " ")))
	p.WriteError(fmt.Sprintf("ERR the simulation does not cover the command %s", name))
	return true
}

// refused ends the run: see [covered].
func (c *cluster) refused(server, what string) {
	c.host.Fault("%s received a command that was never compared with a real server: %.120q; run the lock on real servers, with --world local, "+
		"or add the command to the conformance file and to the covered commands of lockbench", server, what)
}
